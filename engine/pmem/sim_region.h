// The crash simulator: a region that tracks which of its content is durable.
//
// It keeps the durable bytes beside the live ones. Flush takes lines as they
// are at that moment; Drain makes the lines that the same thread took durable.
// At a crash every stored line that is not durable survives or not, as it is
// now or as it was at one of its flushes, and within a line every aligned word
// of 8 bytes independently (Region's invariants 1 and 2).
//
// It finds stores by comparing live with durable bytes, so a store without a
// flush stays at risk forever.
//
// With SyncPages it models a file on a disk (FlushKind::kPage): Flush marks
// pages, and Drain makes the current content of all marked pages durable,
// including stores after the Flush and pages that other threads marked. The
// kernel may have written any page back at any time before: whole, or torn.
#ifndef KAMINO_ENGINE_PMEM_SIM_REGION_H_
#define KAMINO_ENGINE_PMEM_SIM_REGION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/pmem/region.h"

namespace kamino::engine {

// Not thread-safe. A test that simulates several threads sets the acting one.
class SimRegion final : public Region {
 public:
  static constexpr size_t kLineBytes = 64;
  static constexpr size_t kWordBytes = 8;
  static constexpr size_t kPageBytes = 4096;

  using Image = std::vector<std::byte>;

  explicit SimRegion(size_t size);  // zeroed, a multiple of 64
  explicit SimRegion(const Image& image);
  ~SimRegion() override;
  SimRegion(const SimRegion&) = delete;
  SimRegion& operator=(const SimRegion&) = delete;

  std::byte* base() const override { return live_; }
  size_t size() const override { return size_; }
  void Flush(const void* data, size_t length) override;
  void Drain() override;
  void CopyFlush(void* destination, const void* source, size_t length) override;

  // Models a file on a disk from now on, as above. All stores must be durable.
  void SyncPages() { pages_ = true; }
  // Drains that had pages to sync.
  uint64_t syncs() const { return syncs_; }

  // Starts again from `content`, size() bytes, all durable.
  void Reset(const std::byte* content);

  // The thread of later flushes and drains; initially 0.
  void ActAs(int thread) { thread_ = thread; }

  // A line with more than one possible state after a crash now.
  struct AtRisk {
    size_t offset = 0;
    // Its possible states, besides durable(): first the live bytes, then those
    // of its flushes that differ. kLineBytes each, valid until the next call of
    // a non-const method.
    std::vector<const std::byte*> outcomes;
    // Whether it was flushed without a drain; else it was not flushed.
    bool flushed = false;
  };
  std::vector<AtRisk> LinesAtRisk() const;

  const std::byte* durable() const { return durable_.data(); }

  // The cache evicts the line at that offset: its current content becomes
  // durable.
  void WriteBack(size_t line);
  // With SyncPages: the kernel writes the page at that offset back.
  void WritePageBack(size_t page);

  // The content after a crash now; the seed decides each line.
  Image CrashImage(uint64_t seed) const;

  // Called at the start of every Drain, before anything becomes durable: the
  // moment with the most data at risk.
  void SetDrainHook(std::function<void()> hook) {
    drain_hook_ = std::move(hook);
  }
  // Called at the start of every Flush: there were stores since the last one.
  void SetFlushHook(std::function<void()> hook) {
    flush_hook_ = std::move(hook);
  }

  uint64_t drains() const { return drains_; }

 private:
  struct Flushed {
    int thread;
    std::array<std::byte, kLineBytes> bytes;
  };

  bool Stored(size_t line) const;
  Image CrashImageOfPages(uint64_t seed) const;

  const size_t size_;
  std::byte* const live_;
  Image durable_;
  // By line offset; oldest first, at most one per thread.
  std::map<size_t, std::vector<Flushed>> flushed_;
  bool pages_ = false;
  std::set<size_t> flushed_pages_;  // by offset, with pages_
  uint64_t syncs_ = 0;
  int thread_ = 0;
  std::function<void()> drain_hook_;
  std::function<void()> flush_hook_;
  uint64_t drains_ = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_SIM_REGION_H_
