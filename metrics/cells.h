// Counters in per-thread memory: an increment costs about ten instructions, no
// lock, and no cache line that another thread writes. A reader adds up the
// threads' counts under a lock.
//
// A thread uses 2 KiB for each 256 cells that it counts in. Its counts remain
// after it ends.
#ifndef KAMINO_METRICS_CELLS_H_
#define KAMINO_METRICS_CELLS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace kamino::metrics {

// The process's cells. Thread-safe.
class Cells {
 public:
  static constexpr size_t kMaxCells = size_t{1} << 16;

  // Reserves `count` new adjacent cells at 0, permanently: threads do not agree
  // on when a cell falls out of use. At most kMaxCells in all, which callers
  // must respect.
  static size_t Reserve(size_t count);

  static void Add(size_t cell, uint64_t n) {
    Block* const block = own_;
    Chunk* const chunk = block == nullptr ? nullptr : block->Get(cell);
    if (chunk == nullptr) return AddSlowly(cell, n);
    std::atomic<uint64_t>& own = chunk->cells[cell % kChunkCells];
    // Only this thread writes it.
    own.store(own.load(std::memory_order_relaxed) + n,
              std::memory_order_relaxed);
  }

  // Sums over all threads, including ended ones: of `cell`, or of many cells
  // from `first` on, which takes one lock. A sum never decreases.
  static uint64_t Sum(size_t cell);
  static void Sum(size_t first, absl::Span<uint64_t> sums);

 private:
  static constexpr size_t kChunkCells = 256;
  struct Chunk {
    std::array<std::atomic<uint64_t>, kChunkCells> cells{};
  };
  struct Block {
    Chunk* Get(size_t cell) const {
      return chunks[cell / kChunkCells].load(std::memory_order_acquire);
    }
    std::array<std::atomic<Chunk*>, kMaxCells / kChunkCells> chunks{};
  };
  class Owner;
  struct Shared;

  static Shared& GetShared();
  static Chunk* OwnChunk(Block* block, size_t cell);
  static void AddSlowly(size_t cell, uint64_t n);

  static inline constinit thread_local Block* own_ = nullptr;
};

}  // namespace kamino::metrics

#endif  // KAMINO_METRICS_CELLS_H_
