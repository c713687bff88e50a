// A node's connections to managers; the node asks one manager at a time.
//
// A call lasts a fraction of a second, and a lookup of the manager's name may
// take longer. So a connection that is still being made when its call ends is
// kept until the node asks that manager again: with a new lookup for each call
// no lookup would end in time. So is one that has brought an answer, as from a
// manager that does not lead: some name servers answer lookups one by
// one, and the lookup of the leader's name would wait for the others.
#ifndef KAMINO_MEMBERSHIP_MANAGER_CONNECTIONS_H_
#define KAMINO_MEMBERSHIP_MANAGER_CONNECTIONS_H_

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

  // Keeps `most` at a time, at least 1: the most recently used ones.
  ManagerConnections(Connect connect, size_t most,
                     std::function<absl::Time()> clock = MonotonicNow);

  // The stub for a call to `manager`; valid until the next call of To or End.
  // When `manager` is another one than before, the former connection is closed
  // unless it is still being made, or its last call was answered.
  Stub* To(const std::string& manager);

  // Whether there is a connection to the manager of the last stub.
  bool connected() const;

  // Whether the call by the last stub was answered, be it with an error.
  void NoteEnd(bool answered);

  // Closes the connection to `manager`: the next call to it opens a new one.
  void End(const std::string& manager);

  // A manager of another cluster has answered at that address: as End, unless
  // the connection is younger than kRenewAfter. A new connection looks the
  // manager's name up, which may have moved.
  void Renew(const std::string& manager);

  static constexpr absl::Duration kRenewAfter = absl::Seconds(1);

 private:
  struct Connection {
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<Stub> stub;
    bool answers = false;  // the last call over it was answered
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

#endif  // KAMINO_MEMBERSHIP_MANAGER_CONNECTIONS_H_
