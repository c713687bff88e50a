// Peer leases (membership/agent/peer_leases.h) over gRPC.
#ifndef KAMINO_MEMBERSHIP_AGENT_PEER_LEASE_CALLS_H_
#define KAMINO_MEMBERSHIP_AGENT_PEER_LEASE_CALLS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"
#include "kamino/internal/v1/membership.grpc.pb.h"
#include "membership/agent/peer_leases.h"
#include "rpc/credentials.h"

namespace kamino::membership {

// Makes the calls, each on its own.
class PeerLeaseCalls {
 public:
  using Done =
      std::function<void(const PeerLeases::Call&, const PeerLeases::Answer&)>;

  // `done` receives each call's answer, on any thread, while others are
  // outstanding. `credentials`: null: no TLS.
  explicit PeerLeaseCalls(
      Done done, std::shared_ptr<const rpc::Credentials> credentials = nullptr)
      : done_(std::move(done)), credentials_(std::move(credentials)) {}
  // Waits for outstanding calls.
  ~PeerLeaseCalls();

  // Keeps connections to these addresses only, from now on. Call it regularly,
  // from the thread that calls Begin.
  void KeepConnected(const std::vector<std::string>& addresses);
  // Does not wait. The call ends by `deadline`, which bounds the number of
  // outstanding calls. Call it from one thread.
  void Begin(PeerLeases::Call call, absl::Duration deadline);

 private:
  using Stub = kamino::internal::v1::VouchService::Stub;
  struct Outstanding;
  struct Peer {
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<Stub> stub;
  };

  const Peer& At(const std::string& address);
  bool Idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return outstanding_ == 0;
  }

  const Done done_;
  const std::shared_ptr<const rpc::Credentials> credentials_;
  std::map<std::string, Peer> peers_;  // by address
  absl::Mutex mutex_;
  int outstanding_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Answers the calls of other members. Thread-safe.
class PeerLeaseGrantor {
 public:
  virtual ~PeerLeaseGrantor() = default;
  virtual PeerLeases::Answer GrantPeerLease(
      const kamino::internal::v1::VouchRequest& request) = 0;
};

class PeerLeaseServer final
    : public kamino::internal::v1::VouchService::CallbackService {
 public:
  // `peer_lease_grantor` must outlive it.
  explicit PeerLeaseServer(PeerLeaseGrantor* peer_lease_grantor)
      : peer_lease_grantor_(peer_lease_grantor) {}

  grpc::ServerUnaryReactor* Vouch(
      grpc::CallbackServerContext* context,
      const kamino::internal::v1::VouchRequest* request,
      kamino::internal::v1::VouchResponse* response) override;

 private:
  PeerLeaseGrantor* const peer_lease_grantor_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGENT_PEER_LEASE_CALLS_H_
