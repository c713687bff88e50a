// Numbers that threads count in, each in its own memory: a count costs some ten
// instructions, no lock, and no cache line that another thread writes. Whoever
// reads adds up what the threads have, under a lock.
//
// A thread takes 2 KiB for each 256 cells that it counts in. What a thread has
// counted is kept when it ends.
#ifndef KAMINO_METRICS_CELLS_H_
#define KAMINO_METRICS_CELLS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace kamino::metrics {

// Of the process. Thread-safe.
class Cells {
 public:
  static constexpr size_t kMaxCells = size_t{1} << 16;

  // So many new ones, next to each other, at 0; for good, since threads do not
  // agree on when a cell is not used any more. At most kMaxCells in all: who
  // makes them is to bound them.
  static size_t Reserve(size_t count);

  static void Add(size_t cell, uint64_t n) {
    Block* const block = own_;
    Chunk* const chunk = block == nullptr ? nullptr : block->Get(cell);
    if (chunk == nullptr) return AddSlowly(cell, n);
    std::atomic<uint64_t>& own = chunk->cells[cell % kChunkCells];
    // Nobody else writes it.
    own.store(own.load(std::memory_order_relaxed) + n,
              std::memory_order_relaxed);
  }

  // Of all threads, also those that have ended: of `cell`, and of so many from
  // `first` on, which costs one lock. Never goes back.
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
