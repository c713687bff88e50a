// Detects that a manager's thread stands still. A call to etcd does not count:
// it has a deadline.
//
// Not thread-safe: the manager's mutex guards it.
#ifndef KAMINO_MEMBERSHIP_MANAGER_THREAD_LIVENESS_H_
#define KAMINO_MEMBERSHIP_MANAGER_THREAD_LIVENESS_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace kamino::membership {

// `now` is monotonic.
class ThreadLiveness {
 public:
  static constexpr absl::Duration kStuck = absl::Seconds(30);

  explicit ThreadLiveness(absl::Time now) : moved_at_(now) {}

  // The thread begins a step. `calls`: the step calls etcd.
  void OnStep(bool calls, absl::Time now) {
    calling_ = calls;
    moved_at_ = now;
  }
  // The call has ended.
  void OnAnswer(absl::Time now) { OnStep(false, now); }

  // Not OK: the thread has stood still for kStuck.
  absl::Status Check(absl::Time now) const {
    const absl::Duration still = now - moved_at_;
    if (calling_ || still < kStuck) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat(
        "the manager has stood still for ",
        absl::FormatDuration(absl::Trunc(still, absl::Seconds(1)))));
  }

 private:
  bool calling_ = false;  // the thread is in a call to etcd
  absl::Time moved_at_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_THREAD_LIVENESS_H_
