// The HTTP listener of a process: metrics, probes, pages. With certificates it
// uses TLS, and a client without a certificate may use probes only; the access
// table (security/access_table.h) decides about the others.
//
// The resources of unknown clients are limited: one request per connection, a
// few KiB, a few seconds, a few threads, and not many connections besides. If
// all threads are busy, a new connection replaces the oldest one, so that a
// probe, which takes a millisecond, succeeds even among many silent
// connections.
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
  std::string path;  // "/metrics"; exact match
  // Called on the server's threads, concurrently; must take at most a second.
  std::function<Answer()> answer;
  // True: also for clients without a certificate, such as probes.
  bool for_everybody = false;
};

struct ServerOptions {
  std::string listen;  // host:port; port 0 picks one
  size_t threads = 8;
  size_t max_waiting = 8;  // connections without a thread
  size_t max_request_bytes = 16 << 10;
  // From when a thread takes the connection until its answer was sent.
  absl::Duration max_time = absl::Seconds(5);
  // Both or neither. Neither: no TLS, and no restrictions.
  std::shared_ptr<security::Certificates> certificates;
  std::shared_ptr<security::Access> access;
};

// With certificates the process ignores SIGPIPE.
class Server {
 public:
  // kUnavailable: the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const ServerOptions& options, std::vector<Route> routes);
  // Waits for answers that are being made; cuts off slow clients.
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
