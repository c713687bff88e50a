// A node's side of membership: registers with the leading manager, renews the
// lease by heartbeats, and brings new views.
#ifndef KAMINO_MEMBERSHIP_MEMBERSHIP_AGENT_H_
#define KAMINO_MEMBERSHIP_MEMBERSHIP_AGENT_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kamino/internal/v1/membership.grpc.pb.h"
#include "membership/lease_clock.h"
#include "membership/view_source.h"

namespace kamino::membership {

struct AgentOptions {
  std::string cluster_id;
  std::vector<std::string> managers;  // host:port each, at least one
  std::function<absl::Time()> clock = LeaseClockNow;  // any thread calls it
  // Of one call: a manager that hangs must not cost the lease.
  absl::Duration deadline = absl::Milliseconds(250);
  // How long another incarnation of this node may still be alive.
  absl::Duration takeover_timeout = absl::Seconds(5);
  absl::Duration retry = absl::Milliseconds(100);
};

class MembershipAgent final : public ViewSource {
 public:
  explicit MembershipAgent(AgentOptions options);
  ~MembershipAgent() override;  // Stop()

  absl::Status Start(const Member& self,
                     ViewSourceCallbacks callbacks) override;
  void Stop() override;
  bool LeaseValid(uint64_t view_id) const override;
  void RequestView() override;
  void SetCurrentView(uint64_t view_id) override;

 private:
  using Stub = kamino::internal::v1::MembershipService::Stub;

  void Run();
  // One round each; return how long to wait before the next.
  absl::Duration Register();
  absl::Duration Heartbeat();
  // Chooses whom to ask next after a call has failed.
  void OnFailure(const absl::Status& status, const std::string& details);
  // Goes to the leader that another manager named, if that helps.
  bool Follow(const std::string& leader);
  // Why no registration will succeed, if so.
  absl::Status Refusal(const absl::Status& status, bool not_leader);
  Stub* Current();
  void TakeLease(absl::Time sent, uint32_t lease_ms, uint64_t lease_view_id);
  void TakeView(const kamino::internal::v1::ViewRecord& record);
  bool Awake() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || requested_;
  }

  const AgentOptions options_;

  // Constant after Start.
  Member self_;
  ViewSourceCallbacks callbacks_;

  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool requested_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time lease_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  uint64_t lease_view_id_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t current_view_ ABSL_GUARDED_BY(mutex_) = 0;

  // The thread's own.
  std::vector<std::string> managers_;  // those given, and a leader named
  size_t current_ = 0;
  std::string connected_to_;
  std::unique_ptr<Stub> stub_;
  bool registered_ = false;
  bool refused_ = false;
  uint64_t last_view_ = 0;  // told to the callback
  absl::Duration interval_ = absl::Milliseconds(100);
  absl::Time takeover_until_ = absl::InfiniteFuture();
  absl::Time next_complaint_ = absl::InfinitePast();

  std::thread thread_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MEMBERSHIP_AGENT_H_
