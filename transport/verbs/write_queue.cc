#include "transport/verbs/write_queue.h"

#include <algorithm>

namespace kamino::transport {

absl::Status WriteQueue::Post(absl::Span<RdmaWrite> writes, uint64_t position,
                              bool signaled) {
  for (RdmaWrite& write : writes) write.id = ++posted_;
  if (signaled || posted_ - signaled_ >= kSignalEvery) {
    writes.back().signaled = true;
    signaled_ = posted_;
    marked_position_ = position;
    marks_.push_back({posted_, position});
  }
  return pair_->PostWrites(writes);
}

void WriteQueue::OnComplete(uint64_t id) {
  completed_ = std::max(completed_, id);
  while (!marks_.empty() && marks_.front().id <= completed_) {
    complete_position_ = marks_.front().position;
    marks_.pop_front();
  }
}

}  // namespace kamino::transport
