// A membership manager process: a ManagerLoop with its thread, its clock and
// its connection to etcd.
#ifndef KAMINO_MEMBERSHIP_MANAGER_H_
#define KAMINO_MEMBERSHIP_MANAGER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "kamino/internal/v1/membership.pb.h"
#include "membership/etcd/etcd.h"
#include "membership/manager_loop.h"

namespace kamino::membership {

// In what another manager, which leads, was started otherwise than this one, as
// a line; "": in nothing that renewals tell.
std::string SettingsDiffer(const kamino::internal::v1::RenewalRecord& own,
                           const kamino::internal::v1::RenewalRecord& theirs);

// Thread-safe.
class Manager {
 public:
  using Options = ManagerLoop::Options;

  // Starts taking part. An etcd that cannot be reached is tried again for ever.
  // `clock`: LeaseClockNow, or one that a test moves; any thread may call it.
  Manager(Options options, std::unique_ptr<Etcd> etcd,
          std::function<absl::Time()> clock);
  // Gives the leadership up.
  ~Manager();

  // As ManagerLoop.
  absl::Status Register(const kamino::internal::v1::RegisterRequest& request,
                        kamino::internal::v1::RegisterResponse* response);
  absl::Status Heartbeat(const kamino::internal::v1::HeartbeatRequest& request,
                         kamino::internal::v1::HeartbeatResponse* response);
  // While etcd does not answer, who does not lead says so.
  absl::Status Administer(
      absl::FunctionRef<absl::Status(ManagerCore*, absl::Time)> request);

  const std::string& name() const { return name_; }

 private:
  void Run();
  // Calls etcd, with no lock held.
  void CarryOutAndTell(const EtcdCall& call);
  // Once for each that differs, of a manager that looks on.
  void CompareSettings(const std::string& renewal);

  const std::string name_;
  const std::function<absl::Time()> clock_;

  absl::Mutex mutex_;
  ManagerLoop loop_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status etcd_failure_ ABSL_GUARDED_BY(mutex_);  // of the last call

  // The thread's own.
  const std::unique_ptr<Etcd> etcd_;
  const kamino::internal::v1::RenewalRecord own_settings_;
  std::string told_;  // of settings that differ
  std::thread thread_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_H_
