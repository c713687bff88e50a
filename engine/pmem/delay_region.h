// A region that is slower than the one below: it models slower memory. It adds
// given delays by drain and by cache line, and waits by polling the clock: the
// thread does not sleep, as it would not in a fence.
#ifndef KAMINO_ENGINE_PMEM_DELAY_REGION_H_
#define KAMINO_ENGINE_PMEM_DELAY_REGION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "engine/pmem/region.h"

namespace kamino::engine {

// Nanoseconds added to the medium's own.
struct PmemDelays {
  uint64_t drain_ns = 0;  // for each Drain, even if nothing was flushed
  uint64_t line_ns = 0;   // for each cache line that a flush or copy touches

  bool any() const { return drain_ns != 0 || line_ns != 0; }
};

// Waits by polling a clock. Thread-safe, if the clock is.
class BusyWait {
 public:
  using NanoClock = int64_t (*)();

  // Measures the time of one clock read, and subtracts it from each wait, which
  // begins and ends with one.
  explicit BusyWait(NanoClock clock);

  void operator()(uint64_t nanos) const;

  int64_t look_ns() const { return look_ns_; }

  // With base/clock.h, measured once.
  static const BusyWait& Monotonic();

 private:
  const NanoClock clock_;
  const int64_t look_ns_;
};

// Thread-safe, as the region below.
class DelayRegion final : public Region {
 public:
  // Called with the nanoseconds that one call takes longer; not with 0.
  using Wait = std::function<void(uint64_t nanos)>;

  DelayRegion(std::shared_ptr<Region> below, const PmemDelays& delays,
              Wait wait = std::cref(BusyWait::Monotonic()))
      : below_(std::move(below)),
        drain_ns_(delays.drain_ns),
        line_ns_(delays.line_ns),
        wait_(std::move(wait)) {}

  // Sets the delay of drains that begin from now on. May be called while other
  // threads drain.
  void SetDrain(uint64_t nanos) { drain_ns_ = nanos; }

  std::byte* base() const override { return below_->base(); }
  size_t size() const override { return below_->size(); }
  bool DrainsAll() const override { return below_->DrainsAll(); }
  bool SyncsPages() const override { return below_->SyncsPages(); }

  void Flush(const void* data, size_t length) override;
  void Drain() override;
  void CopyFlush(void* destination, const void* source, size_t length) override;

 private:
  void WaitForLines(const void* data, size_t length) const;

  const std::shared_ptr<Region> below_;
  std::atomic<uint64_t> drain_ns_;
  const uint64_t line_ns_;
  const Wait wait_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_DELAY_REGION_H_
