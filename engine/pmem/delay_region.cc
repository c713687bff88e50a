#include "engine/pmem/delay_region.h"

#include <algorithm>
#include <limits>

#include "absl/time/time.h"
#include "base/clock.h"

namespace kamino::engine {
namespace {

constexpr size_t kLine = 64;
constexpr int kLooks = 1000;

int64_t MonotonicNanos() { return absl::ToUnixNanos(MonotonicNow()); }

// The shortest of many measurements: the others were interrupted.
int64_t TimeOfLook(BusyWait::NanoClock clock) {
  int64_t shortest = std::numeric_limits<int64_t>::max();
  int64_t before = clock();
  for (int i = 0; i < kLooks; ++i) {
    const int64_t now = clock();
    shortest = std::min(shortest, now - before);
    before = now;
  }
  return shortest;
}

}  // namespace

BusyWait::BusyWait(NanoClock clock)
    : clock_(clock), look_ns_(TimeOfLook(clock)) {}

const BusyWait& BusyWait::Monotonic() {
  static const auto& wait = *new BusyWait(MonotonicNanos);
  return wait;
}

void BusyWait::operator()(uint64_t nanos) const {
  // The overhead of this call: half a clock read before the first time, and
  // half of one after the last.
  const int64_t end = clock_() + static_cast<int64_t>(nanos) - look_ns_;
  while (clock_() < end) {
  }
}

void DelayRegion::WaitForLines(const void* data, size_t length) const {
  if (length == 0 || line_ns_ == 0) return;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uint64_t lines = (begin + length - 1) / kLine - begin / kLine + 1;
  wait_(lines * line_ns_);
}

void DelayRegion::Flush(const void* data, size_t length) {
  below_->Flush(data, length);
  WaitForLines(data, length);
}

void DelayRegion::Drain() {
  below_->Drain();
  const uint64_t nanos = drain_ns_.load(std::memory_order_relaxed);
  if (nanos != 0) wait_(nanos);
}

void DelayRegion::CopyFlush(void* destination, const void* source,
                            size_t length) {
  below_->CopyFlush(destination, source, length);
  WaitForLines(destination, length);
}

}  // namespace kamino::engine
