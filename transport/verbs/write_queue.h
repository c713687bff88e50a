// The send queue of a pair: numbers and posts RDMA writes, and counts those
// that are not complete.
//
// Invariants:
//   1. Posted and incomplete writes never exceed the pair's limit, if callers
//      ask for room first; records never take the room of notices.
//   2. One write in kSignalEvery is signaled, so that the queue always becomes
//      free again by itself.
//
// Not thread-safe. The pair is not owned.
#ifndef KAMINO_TRANSPORT_VERBS_WRITE_QUEUE_H_
#define KAMINO_TRANSPORT_VERBS_WRITE_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "transport/verbs/device.h"
#include "transport/verbs/verbs_format.h"

namespace kamino::transport {

class WriteQueue {
 public:
  static constexpr size_t kRecordSlots = 2 * kTailSlots;
  static constexpr size_t kNoticeSlots = 32;
  static constexpr size_t kSlots = kRecordSlots + kNoticeSlots;
  static constexpr size_t kSignalEvery = 64;

  // `pair` has kSlots for writes, and outlives the queue's last Post.
  explicit WriteQueue(VerbsPair* pair) : pair_(pair) {}

  // Whether so many writes of records may be posted; whether a notice may be.
  bool HasRoom(size_t writes) const {
    return outstanding() + writes <= kRecordSlots;
  }
  bool CanNotify() const { return outstanding() < kSlots; }

  // Fills in ids and signals, and posts. Records before `position` have been
  // posted when these writes are. `signaled`: the last one is.
  absl::Status Post(absl::Span<RdmaWrite> writes, uint64_t position,
                    bool signaled);
  // A write has completed; so have all before it.
  void OnComplete(uint64_t id);
  bool all_complete() const { return outstanding() == 0; }

  // The positions of the newest signaled write that was posted, and of the
  // newest that has completed.
  uint64_t marked_position() const { return marked_position_; }
  uint64_t complete_position() const { return complete_position_; }

 private:
  struct Mark {
    uint64_t id;
    uint64_t position;
  };

  size_t outstanding() const {
    return static_cast<size_t>(posted_ - completed_);
  }

  VerbsPair* const pair_;
  uint64_t posted_ = 0;     // writes, ever; the id of the newest
  uint64_t completed_ = 0;  // the newest known to be complete
  uint64_t signaled_ = 0;   // the newest signaled one
  uint64_t marked_position_ = 0;
  uint64_t complete_position_ = 0;
  std::deque<Mark> marks_;  // signaled writes under way
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_WRITE_QUEUE_H_
