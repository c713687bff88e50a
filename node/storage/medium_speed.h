// Measures a sync of a node's medium, and decides whether it is fast enough: a
// chain on disks is as fast as their syncs, and a node whose steps take long
// cannot keep its lease.
#ifndef KAMINO_NODE_STORAGE_MEDIUM_SPEED_H_
#define KAMINO_NODE_STORAGE_MEDIUM_SPEED_H_

#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/chain_mode.h"
#include "base/undo_copy_kind.h"
#include "engine/pmem/region.h"

namespace kamino::node {

// The number of consecutive syncs that a put of an existing key waits for.
// tests/node/driver/ordered_syncs_test.cc counts them.
struct OrderedSyncs {
  int head = 0;
  int replica = 0;  // at each of the others

  int InChain(int nodes) const { return head + (nodes - 1) * replica; }
};
OrderedSyncs OrderedSyncsOf(ChainMode mode, UndoCopyKind undo_copy);

// The median of a few syncs of one page, whose content stays as it is.
absl::Duration MeasureSync(engine::Region* region,
                           const std::function<absl::Time()>& clock);

// A line for the log.
std::string TellMedium(absl::Duration sync, const OrderedSyncs& ordered);

// kFailedPrecondition: the syncs of one commit take a half of a lease or more.
// A lease of zero length passes the check.
absl::Status CheckMedium(absl::Duration sync, const OrderedSyncs& ordered,
                         absl::Duration lease);

// CheckMedium with the best of several measurements: a medium may be slow for a
// moment, for example while a machine boots. Thread-safe.
class MediumCheck {
 public:
  // The most further measurements, the interval at which they begin, and the
  // time after which no more begin.
  static constexpr int kMostRounds = 30;
  static constexpr absl::Duration kSpacing = absl::Seconds(1);
  static constexpr absl::Duration kLongest = absl::Seconds(30);

  // `sync`: the first measurement. `measure` requests another one, which the
  // caller reports to Note, within the call or later. `clock` is monotonic.
  MediumCheck(absl::Duration sync, const OrderedSyncs& ordered,
              std::function<absl::Time()> clock, std::function<void()> measure);

  void Note(absl::Duration sync) ABSL_LOCKS_EXCLUDED(mutex_);

  // As CheckMedium. kUnavailable: the check has not decided yet; ask again
  // soon.
  absl::Status Check(absl::Duration lease) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Whether a measurement is due.
  bool BeginRound(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const OrderedSyncs ordered_;
  const std::function<absl::Time()> clock_;
  const std::function<void()> measure_;

  absl::Mutex mutex_;
  absl::Duration best_ ABSL_GUARDED_BY(mutex_);
  int rounds_ ABSL_GUARDED_BY(mutex_) = 0;  // further ones that have begun
  bool measuring_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time end_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time next_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_MEDIUM_SPEED_H_
