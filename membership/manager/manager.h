// A manager process: a ManagerLoop with its thread, its clock and its
// connection to etcd.
#ifndef KAMINO_MEMBERSHIP_MANAGER_MANAGER_H_
#define KAMINO_MEMBERSHIP_MANAGER_MANAGER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kamino/internal/v1/membership.pb.h"
#include "kamino/v1/admin.pb.h"
#include "membership/etcd/etcd.h"
#include "membership/manager/etcd_health.h"
#include "membership/manager/manager_loop.h"
#include "membership/manager/recovery_plan.h"
#include "membership/manager/thread_liveness.h"
#include "rpc/cluster_identity.h"

namespace kamino::membership {

// Thread-safe.
class Manager {
 public:
  using Options = ManagerLoop::Options;

  // Starts to campaign. Retries an unreachable etcd forever. `clock`:
  // LeaseClockNow, or one that a test moves; any thread may call it. `on_turn`
  // is called repeatedly on the manager's thread, which waits only for etcd
  // between two calls; may be null.
  Manager(Options options, std::unique_ptr<Etcd> etcd,
          std::function<absl::Time()> clock,
          std::function<void()> on_turn = nullptr);
  // Resigns the leadership.
  ~Manager();

  // As ManagerLoop.
  absl::Status Register(const kamino::internal::v1::RegisterRequest& request,
                        kamino::internal::v1::RegisterResponse* response,
                        absl::string_view caller = "");
  absl::Status Heartbeat(const kamino::internal::v1::HeartbeatRequest& request,
                         kamino::internal::v1::HeartbeatResponse* response,
                         absl::string_view caller = "");
  // While etcd does not answer, a manager that does not lead says so.
  absl::Status Administer(
      absl::FunctionRef<absl::Status(ManagerCore*, absl::Time)> request);

  // An operator's recovery. `done` is called once the view is stored, or is
  // known not to be, or after some seconds, with kAborted; or at once if
  // ManagerLoop refuses. It must not call this manager.
  using OnRecovered = std::function<void(const absl::StatusOr<RecoveryPlan>&)>;
  void Recover(bool force, OnRecovered done);

  // The events of the chain while this manager led, oldest first.
  struct Event {
    uint64_t number = 0;  // from 1
    absl::Duration ago;
    std::string text;
  };
  std::vector<Event> Events();

  // This manager's own state.
  void Describe(kamino::v1::GetManagerResponse* response);

  const std::string& name() const { return name_; }
  // Its cluster; the uuid is known once the stored view was read.
  const rpc::ClusterIdentity& cluster() const { return cluster_; }

  // --- Monitoring; docs/operate/metrics.md.

  struct Standing {
    uint64_t leaderships = 0;  // times that it has become the leader
    bool etcd_reachable = false;
  };
  Standing standing();
  // Not OK: its thread has stood still for ThreadLiveness::kStuck, other than
  // in a call to etcd, which has a deadline.
  absl::Status CheckLive();
  // Not OK: it neither leads nor could, because etcd does not answer.
  absl::Status CheckReady();

 private:
  void Run();
  // Calls etcd without holding a lock.
  void CarryOutAndTell(const EtcdCall& call);
  // Answers the waiting recoveries.
  void TellWhetherRecovered();
  bool IsDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || hurries_;
  }

  struct Recovery {
    RecoveryPlan recovery;
    absl::Time until;  // then `done` is called in any case
    OnRecovered done;
  };

  const std::string name_;
  rpc::ClusterIdentity cluster_;
  const std::function<absl::Time()> clock_;
  const std::function<void()> on_turn_;

  absl::Mutex mutex_;
  ManagerLoop loop_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // A member has surrendered its lease, so a view may be due.
  bool hurries_ ABSL_GUARDED_BY(mutex_) = false;
  EtcdHealth etcd_health_ ABSL_GUARDED_BY(mutex_);
  ThreadLiveness liveness_ ABSL_GUARDED_BY(mutex_);
  std::optional<Recovery> recovery_ ABSL_GUARDED_BY(mutex_);
  bool led_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t leaderships_ ABSL_GUARDED_BY(mutex_) = 0;

  // Used by the thread only.
  const std::unique_ptr<Etcd> etcd_;
  std::thread thread_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_MANAGER_H_
