// Opens connections of sessions to one node, many at a time, by one carrier.
// docs/session_format.md is what is spoken there.
#ifndef KAMINO_BENCH_CONNECTIONS_DIALER_H_
#define KAMINO_BENCH_CONNECTIONS_DIALER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/session/carriers.h"
#include "client/session/connection.h"
#include "google/protobuf/message_lite.h"
#include "kamino/v1/session.grpc.pb.h"
#include "proto/session_frame.h"

namespace kamino::bench::connections {

using ConnectionPtr = std::shared_ptr<client::Connection>;

// What came of one hello. Not OK: the node, or the way to it, has refused.
struct Dialed {
  absl::Status status;
  ConnectionPtr connection;  // if it is OK; then the welcome is there as well
};

// Not thread-safe. Ends after all connections that it opened.
class Dialer {
 public:
  // `carrier`: "shm", "verbs", "tcp" or "grpc"; `address`: the node's, for
  // calls. `streams`: of "grpc", how many share a channel. kUnimplemented:
  // there is no such way from here to the node.
  static absl::StatusOr<std::unique_ptr<Dialer>> Make(
      const std::string& carrier, const std::string& address, int streams);

  // One connection for each hello, all at once; waits until each is open or
  // refused. Hellos need no version.
  std::vector<Dialed> Open(std::vector<kamino::v1::SessionHello> hellos);

  // Asks the same by each, all at once, and waits for the answers. `number`: of
  // a mutation; else 0.
  static std::vector<absl::Status> Ask(
      const std::vector<ConnectionPtr>& connections, session::Method method,
      uint64_t number, const google::protobuf::MessageLite& body);

  // Waits until they are gone.
  static void Close(const std::vector<ConnectionPtr>& connections);

 private:
  using Stub = kamino::v1::SessionService::Stub;

  Dialer(const std::string& carrier, const std::string& address, int streams);
  // The next connection's.
  client::WireMaker NextWay();

  const std::string carrier_;
  const std::string address_;
  const size_t streams_;
  kamino::v1::GetCarriersResponse node_;
  std::vector<std::shared_ptr<Stub>> stubs_;  // the last channel is its last
  size_t dialed_ = 0;
  client::Carriers carriers_;
};

}  // namespace kamino::bench::connections

#endif  // KAMINO_BENCH_CONNECTIONS_DIALER_H_
