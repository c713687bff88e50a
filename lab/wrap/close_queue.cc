#include "lab/wrap/close_queue.h"

#include <algorithm>
#include <utility>

#include "lab/explore.h"
#include "lab/wrap/wrap_format.h"

namespace kamino::engine {

CloseQueue::CloseQueue(uint64_t retired, uint64_t last_commit)
    : first_(retired + 1),
      durable_(retired),
      handed_over_(retired),
      retired_(retired),
      last_commit_(last_commit) {}

void CloseQueue::Draw(Wrap* wrap, std::optional<uint64_t> commit_sequence) {
  wrap->sequence = first_ + queue_.size();
  queue_.emplace_back();
  if (!commit_sequence.has_value()) return;
  wrap->commit_sequence =
      *commit_sequence != 0
          ? *commit_sequence
          : std::min(last_commit_ + 1, wrap_format::kSequenceMask);
  last_commit_ = std::max(last_commit_, wrap->commit_sequence);
}

void CloseQueue::HandOver(Wrap wrap) {
  const uint64_t sequence = wrap.sequence;
  handed_over_ = std::max(handed_over_, sequence);
  queue_[sequence - first_] = std::move(wrap);
  if (sequence != durable_ + 1) {
    Reached(LabBranch::kWrapOvertakes);
    return;
  }
  while (durable_ + 1 - first_ < queue_.size() &&
         queue_[durable_ + 1 - first_].sequence != 0) {
    ++durable_;
  }
}

std::vector<Wrap> CloseQueue::TakeDurable(size_t most) {
  std::vector<Wrap> wraps;
  for (; wraps.size() < most && first_ <= durable_; ++first_) {
    wraps.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return wraps;
}

}  // namespace kamino::engine
