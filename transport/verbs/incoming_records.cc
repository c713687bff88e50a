#include "transport/verbs/incoming_records.h"

namespace kamino::transport {

void IncomingRecords::OnTail(uint32_t immediate) {
  published_ = PositionAfter(published_, immediate);
  tails_.push_back(published_);
}

std::optional<Notice> IncomingRecords::Consume(uint64_t head, bool may_wake,
                                               size_t ring_bytes) {
  while (!tails_.empty() && tails_.front() <= head) {
    tails_.pop_front();
    ++tails_untold_;
  }
  const bool answer = wanted_ && may_wake;
  if (!answer && head - told_ < ring_bytes / 8 &&
      tails_untold_ < kTailsPerHead) {
    return std::nullopt;
  }
  told_ = head;
  tails_untold_ = 0;
  if (!answer) return Notice::kHead;
  wanted_ = false;
  return Notice::kAnswer;
}

}  // namespace kamino::transport
