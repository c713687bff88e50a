// A membership manager process: takes part in the election at etcd, and while
// it leads, answers nodes and writes views.
#ifndef KAMINO_MEMBERSHIP_MANAGER_H_
#define KAMINO_MEMBERSHIP_MANAGER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "kamino/internal/v1/membership.pb.h"
#include "membership/etcd/etcd.h"
#include "membership/manager_core.h"

namespace kamino::membership {

// Thread-safe.
class Manager {
 public:
  struct Options {
    ManagerOptions core;
    std::string name;  // where nodes reach this manager: host:port
    std::string etcd_prefix = "/kamino";
    int64_t leader_ttl_seconds = 3;  // etcd's lease on the leader key
    absl::Duration poll_interval = absl::Milliseconds(20);
  };

  // Starts taking part. An etcd that cannot be reached is tried again for ever.
  // `clock`: LeaseClockNow, or one that a test moves; any thread may call it.
  Manager(Options options, std::unique_ptr<Etcd> etcd,
          std::function<absl::Time()> clock);
  // Gives the leadership up.
  ~Manager();

  // The three fail with kFailedPrecondition and set *leader to where the leader
  // is, or to "" when nobody knows, while this one does not lead; else as
  // ManagerCore. *leader stays untouched in all other cases.
  absl::Status Register(const kamino::internal::v1::RegisterRequest& request,
                        kamino::internal::v1::RegisterResponse* response,
                        absl::optional<std::string>* leader);
  absl::Status Heartbeat(const kamino::internal::v1::HeartbeatRequest& request,
                         kamino::internal::v1::HeartbeatResponse* response,
                         absl::optional<std::string>* leader);
  absl::Status Describe(
      const kamino::internal::v1::GetMembershipRequest& request,
      kamino::internal::v1::GetMembershipResponse* response,
      absl::optional<std::string>* leader);

 private:
  void Run();
  // One round each; return how long to wait before the next.
  absl::Duration Campaign();
  absl::Duration Lead();
  // Have, or go on having, a lease of etcd's.
  absl::Status TakeLease();
  absl::Status RenewLease();
  // Starts the leadership that was won, unless the stored view is unreadable.
  absl::Status StartLeading(const Etcd::Election& election);
  void WriteView(const View& view);
  void StepDown(const absl::Status& why);
  void Resign();
  // Logs an etcd error once a while.
  void Complain(const absl::Status& error);
  std::string Key(const char* name) const;
  bool CheckLeading(absl::Time now, absl::optional<std::string>* leader) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const std::function<absl::Time()> clock_;

  mutable absl::Mutex mutex_;
  ManagerCore core_ ABSL_GUARDED_BY(mutex_);
  std::string leader_ ABSL_GUARDED_BY(mutex_);  // last seen
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  // The thread's own.
  const std::unique_ptr<Etcd> etcd_;
  bool leading_ = false;
  int64_t lease_ = 0;  // of etcd's, on the leader key; 0: none
  absl::Time lease_until_ = absl::InfinitePast();
  int64_t leader_revision_ = 0;
  int64_t view_revision_ = 0;
  absl::Time next_complaint_ = absl::InfinitePast();

  std::thread thread_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_H_
