// Wraps in the order of their closes: which of them have drawn a sequence, are
// durable, and have retired.
//
// Invariant: retired <= durable <= the last sequence drawn. Every close up to
// `durable` is durable and handed over.
#ifndef KAMINO_LAB_WRAP_CLOSE_QUEUE_H_
#define KAMINO_LAB_WRAP_CLOSE_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "lab/wrap/wrap.h"

namespace kamino::engine {

// Not thread-safe.
class CloseQueue {
 public:
  // All closes up to `retired` have retired; `last_commit` is the largest
  // commit_sequence of those.
  CloseQueue(uint64_t retired, uint64_t last_commit);

  // Draws the wrap's sequence. `commit_sequence` 0: the next one; none: the
  // wrap is anonymous.
  void Draw(Wrap* wrap, std::optional<uint64_t> commit_sequence);
  // The wrap has closed durably.
  void HandOver(Wrap wrap);
  // Takes out up to `most` wraps, in order, as far as closes are durable.
  std::vector<Wrap> TakeDurable(size_t most);
  // Those taken up to here have retired.
  void SetRetired(uint64_t sequence) { retired_ = sequence; }

  // Wraps that have drawn a sequence and are not taken out.
  size_t size() const { return queue_.size(); }
  // Whether wraps have drawn a sequence and not retired.
  bool retiring() const { return retired_ + 1 != first_ + queue_.size(); }
  uint64_t durable() const { return durable_; }
  // The largest sequence of those handed over.
  uint64_t handed_over() const { return handed_over_; }
  uint64_t retired() const { return retired_; }

 private:
  // Those that have not been handed over have sequence 0.
  std::deque<Wrap> queue_;
  uint64_t first_;    // sequence of the first
  uint64_t durable_;  // all closes up to here are
  uint64_t handed_over_;
  uint64_t retired_;
  uint64_t last_commit_;  // largest commit_sequence
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_WRAP_CLOSE_QUEUE_H_
