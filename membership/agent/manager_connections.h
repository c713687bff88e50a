// A node's connections to managers. The node calls one manager at a time.
//
// A call lasts a fraction of a second, while a lookup of the manager's name may
// take longer. A connection that is not established when its call ends is
// therefore kept until the node calls that manager again: if each call began a
// new lookup, no lookup would end in time. An answered connection is kept as
// well, for example to a standby: some name servers answer lookups one by one,
// so that its next lookup would delay the leader's.
#ifndef KAMINO_MEMBERSHIP_AGENT_MANAGER_CONNECTIONS_H_
#define KAMINO_MEMBERSHIP_AGENT_MANAGER_CONNECTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"
#include "grpcpp/channel.h"
#include "kamino/internal/v1/membership.grpc.pb.h"

namespace kamino::membership {

// Not thread-safe.
class ManagerConnections {
 public:
  using Stub = kamino::internal::v1::MembershipService::Stub;
  using Connect =
      std::function<std::shared_ptr<grpc::Channel>(const std::string& address)>;

  // Keeps the `most` recently used connections, at least 1.
  ManagerConnections(Connect connect, size_t most,
                     std::function<absl::Time()> clock = MonotonicNow);

  // The stub for a call to `manager`, valid until the next To or End. If
  // `manager` has changed, the former connection is closed unless it is still
  // being established or its last call was answered.
  Stub* To(const std::string& manager);

  // Whether there is a connection to the manager of the last stub.
  bool connected() const;

  // Whether the last call was answered, possibly with an error.
  void NoteEnd(bool answered);

  // Closes the connection to `manager`: the next call opens a new one.
  void End(const std::string& manager);

  // A manager of another cluster has answered at that address: as End, unless
  // the connection is younger than kRenewAfter. A new connection resolves the
  // manager's name again.
  void Renew(const std::string& manager);

  static constexpr absl::Duration kRenewAfter = absl::Seconds(1);

 private:
  struct Connection {
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<Stub> stub;
    bool answers = false;  // its last call was answered
    uint64_t last_use = 0;
    absl::Time made;
  };

  void Leave();
  void CloseLeastRecentlyUsed();

  const Connect connect_;
  const size_t most_;
  const std::function<absl::Time()> clock_;
  uint64_t uses_ = 0;
  std::string current_;
  std::map<std::string, Connection> connections_;  // by address
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGENT_MANAGER_CONNECTIONS_H_
