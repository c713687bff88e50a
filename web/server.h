// The one HTTP listener of a process: metrics, probes, pages. With certificates
// it speaks TLS, and who shows none gets probes alone; what others may see is
// in the table of access (security/access_table.h).
//
// What strangers can take of it is bounded: one request a connection, some KiB
// of it, some seconds in all, a few threads, and not many connections besides:
// where all threads are taken the oldest connection is cut off for a new one,
// so that a probe, which takes a millisecond, comes through among many that
// come and stay silent.
#ifndef KAMINO_WEB_SERVER_H_
#define KAMINO_WEB_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "security/access.h"
#include "security/certificates.h"

namespace kamino::web {

struct Answer {
  int status = 200;  // of HTTP
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

struct Route {
  std::string path;  // "/metrics"; nothing below it
  // Called on a thread of the server's, several at a time; takes no longer than
  // a second.
  std::function<Answer()> answer;
  // Also for who shows no certificate: probes.
  bool for_everybody = false;
};

struct ServerOptions {
  std::string listen;  // host:port; port 0 picks one
  size_t threads = 8;
  size_t max_waiting = 8;  // connections without a thread
  size_t max_request_bytes = 16 << 10;
  // From when a thread takes the connection until its answer has left.
  absl::Duration max_time = absl::Seconds(5);
  // Both, or neither: then all is in the clear, and for everybody.
  std::shared_ptr<security::Certificates> certificates;
  std::shared_ptr<security::Access> access;
};

// The process ignores SIGPIPE where there are certificates.
class Server {
 public:
  // kUnavailable: the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const ServerOptions& options, std::vector<Route> routes);
  // Waits for answers that are being made up; cuts off who is slow to ask.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const { return port_; }

 private:
  class Listener;
  Server();

  std::unique_ptr<Listener> listener_;
  int port_ = 0;
  std::thread accepts_;
};

}  // namespace kamino::web

#endif  // KAMINO_WEB_SERVER_H_
