// A region that counts calls of another one: for reports, in passes that are
// not timed. Each call costs a locked addition.
#ifndef KAMINO_ENGINE_PMEM_COUNTING_REGION_H_
#define KAMINO_ENGINE_PMEM_COUNTING_REGION_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/pmem/background_work.h"
#include "engine/pmem/region.h"

namespace kamino::engine {

struct PmemCounts {
  uint64_t lines = 0;   // cache lines whose write-back was asked for
  uint64_t drains = 0;  // fences

  friend PmemCounts operator-(PmemCounts a, const PmemCounts& b) {
    a.lines -= b.lines;
    a.drains -= b.drains;
    return a;
  }
  PmemCounts& operator+=(const PmemCounts& other) {
    lines += other.lines;
    drains += other.drains;
    return *this;
  }
};

// Thread-safe, like the region below, which must outlive it. A line flushed
// twice counts twice, and a drain counts even if nothing was flushed.
class CountingRegion final : public Region {
 public:
  explicit CountingRegion(Region* below) : below_(below) {}

  std::byte* base() const override { return below_->base(); }
  size_t size() const override { return below_->size(); }
  bool DrainsAll() const override { return below_->DrainsAll(); }
  bool SyncsPages() const override { return below_->SyncsPages(); }

  void Flush(const void* data, size_t length) override {
    CountLines(data, length);
    below_->Flush(data, length);
  }

  void Drain() override {
    Slot& mine = Mine();
    mine.drains.fetch_add(1, std::memory_order_relaxed);
    if (BackgroundWork::Now()) {
      mine.background_drains.fetch_add(1, std::memory_order_relaxed);
    }
    below_->Drain();
  }

  void CopyFlush(void* destination, const void* source,
                 size_t length) override {
    CountLines(destination, length);
    below_->CopyFlush(destination, source, length);
  }

  // All threads. Exact while no thread is in a call.
  PmemCounts counts() const {
    PmemCounts sum;
    for (const Slot& slot : slots_) {
      sum.lines += slot.lines.load(std::memory_order_relaxed);
      sum.drains += slot.drains.load(std::memory_order_relaxed);
    }
    return sum;
  }
  // Counts within BackgroundWork; the others are the foreground's.
  PmemCounts background_counts() const {
    PmemCounts sum;
    for (const Slot& slot : slots_) {
      sum.lines += slot.background_lines.load(std::memory_order_relaxed);
      sum.drains += slot.background_drains.load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  static constexpr size_t kLine = 64;
  static constexpr size_t kSlots = 16;

  // Threads share a slot only if there are more threads than slots.
  struct alignas(kLine) Slot {
    std::atomic<uint64_t> lines{0};
    std::atomic<uint64_t> drains{0};
    // The part within BackgroundWork.
    std::atomic<uint64_t> background_lines{0};
    std::atomic<uint64_t> background_drains{0};
  };

  Slot& Mine() {
    static std::atomic<size_t> next{0};
    thread_local const size_t mine = next++ % kSlots;
    return slots_[mine];
  }

  void CountLines(const void* data, size_t length) {
    if (length == 0) return;
    const auto begin = reinterpret_cast<uintptr_t>(data);
    const uint64_t lines = (begin + length - 1) / kLine - begin / kLine + 1;
    Slot& mine = Mine();
    mine.lines.fetch_add(lines, std::memory_order_relaxed);
    if (BackgroundWork::Now()) {
      mine.background_lines.fetch_add(lines, std::memory_order_relaxed);
    }
  }

  Region* const below_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_COUNTING_REGION_H_
