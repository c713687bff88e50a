// Opens connections of sessions to one node, many at a time, by one carrier.
// docs/formats/session.md is what is spoken there.
#ifndef KAMINO_BENCH_CONNECTIONS_DIALER_H_
#define KAMINO_BENCH_CONNECTIONS_DIALER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/session/carriers.h"
#include "client/session/connection.h"
#include "google/protobuf/message_lite.h"
#include "kamino/v1/session.grpc.pb.h"
#include "proto/session_frame.h"

namespace kamino::bench::connections {

using ConnectionPtr = std::shared_ptr<client::Connection>;

// The result of one hello. Not OK: the node refused, or could not be reached.
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

  // Waits until they are gone, which are all that this one has opened, and ends
  // their channels.
  void Close(std::vector<ConnectionPtr>* connections);

  // A call by a channel of its own, as a new client's first one is: how long it
  // took, or why the node did not take it.
  absl::StatusOr<absl::Duration> FirstCall();

 private:
  using Stub = kamino::v1::SessionService::Stub;

  Dialer(const std::string& carrier, const std::string& address, int streams);
  // One that shares no connection with those made before.
  std::shared_ptr<Stub> NewStub();
  absl::Status AskForCarriers(Stub* stub,
                              kamino::v1::GetCarriersResponse* node) const;
  // The next connection's.
  client::WireMaker NextWay();

  const std::string carrier_;
  const std::string address_;
  const size_t streams_;
  kamino::v1::GetCarriersResponse node_;
  int channels_ = 0;  // so far
  const std::shared_ptr<Stub> asking_;
  std::vector<std::shared_ptr<Stub>> stubs_;  // of "grpc"
  size_t dialed_ = 0;                         // since the last Close
  client::Carriers carriers_;
};

}  // namespace kamino::bench::connections

#endif  // KAMINO_BENCH_CONNECTIONS_DIALER_H_
