// When the leader drops etcd's old history, which grows with its renewals: each
// hour, the history older than an hour.
#ifndef KAMINO_MEMBERSHIP_MANAGER_HISTORY_COMPACTION_H_
#define KAMINO_MEMBERSHIP_MANAGER_HISTORY_COMPACTION_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/time/time.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic. Revisions are etcd's.
class HistoryCompaction {
 public:
  // A leadership begins.
  void Begin(int64_t revision, absl::Time now) {
    latest_ = revision;
    next_ = revision;
    due_ = now + kEvery;
  }
  void OnRenewed(int64_t revision) { latest_ = revision; }
  // The revision to compact now, if any. The caller makes the call.
  std::optional<int64_t> Due(absl::Time now) {
    if (now < due_) return std::nullopt;
    due_ = now + kEvery;
    return std::exchange(next_, latest_);
  }

 private:
  static constexpr absl::Duration kEvery = absl::Hours(1);

  absl::Time due_ = absl::InfinitePast();
  int64_t next_ = 0;    // the latest one at the previous compaction
  int64_t latest_ = 0;  // last seen
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_HISTORY_COMPACTION_H_
