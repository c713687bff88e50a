// The load that calls put on a node, and the time that they take.
#ifndef KAMINO_NODE_DRIVER_NODE_METERS_H_
#define KAMINO_NODE_DRIVER_NODE_METERS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/time/time.h"
#include "node/driver/call_load.h"
#include "node/driver/core_activity.h"
#include "node/driver/slow_operations.h"
#include "node/driver/stage_times.h"

namespace kamino::node {

// Counts the backups that clients save from a node. Thread-safe.
class SavedBackups {
 public:
  // At `now`, of the node's clock, a backup of so many bytes of records was
  // saved.
  void Note(uint64_t bytes, absl::Time now) {
    last_ = absl::ToUnixNanos(now);
    bytes_ += bytes;
    ++count_;
  }

  uint64_t count() const { return count_; }
  uint64_t bytes() const { return bytes_; }
  // Since the last one; infinite if there was none.
  absl::Duration Age(absl::Time now) const {
    return count_ == 0 ? absl::InfiniteDuration()
                       : now - absl::FromUnixNanos(last_);
  }

 private:
  std::atomic<uint64_t> count_{0};
  std::atomic<uint64_t> bytes_{0};
  // On the node's clock, in nanoseconds since its epoch.
  std::atomic<int64_t> last_{0};
};

// The fields have their own rules for threads.
struct NodeMeters {
  NodeMeters(const CallLoadOptions& reads, const CallLoadOptions& results,
             std::function<absl::Time()> clock)
      : reads(reads), results(results), stages(std::move(clock)) {}

  // Reports operations slower than this from now on; zero: none. Any thread.
  void TellSlowerThan(absl::Duration threshold) {
    slow.SetThreshold(threshold);
    stages.TimeAll(slow.on());
  }

  // The load of reads, and that of mutations that have a result.
  CallLoad reads;
  CallLoad results;
  // The core thread's current activity.
  CoreActivity activity;
  StageTimes stages;
  SlowOperations slow;
  SavedBackups backups;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_NODE_METERS_H_
