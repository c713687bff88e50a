#include "lab/rewind/sequence_mark.h"

#include "base/status_macros.h"

namespace kamino::engine {
namespace {

constexpr int kLowBits = 48;

}  // namespace

absl::StatusOr<uint64_t> SequenceMark::Read() const {
  ASSIGN_OR_RETURN(const uint64_t low, words_.Read(low_));
  if (high_ == nullptr) return low;
  ASSIGN_OR_RETURN(const uint64_t high, words_.Read(high_));
  return high << kLowBits | low;
}

uint64_t SequenceMark::Get() const {
  const uint64_t low = words_.Get(low_);
  return high_ == nullptr ? low : words_.Get(high_) << kLowBits | low;
}

void SequenceMark::Store(uint64_t sequence) const {
  uint64_t low = sequence;
  if (high_ != nullptr) {
    low &= kMostChecked;
    const uint64_t high = sequence >> kLowBits;
    if (high != words_.Get(high_)) {
      // A new half must not be combined with the old other half.
      words_.Persist(low_, 0);
      words_.Persist(high_, high);
    }
  }
  words_.Store(low_, low);
  words_.Flush(low_);
}

}  // namespace kamino::engine
