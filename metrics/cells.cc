#include "metrics/cells.h"

#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "glog/logging.h"

namespace kamino::metrics {

struct Cells::Shared {
  absl::Mutex mutex;
  size_t reserved ABSL_GUARDED_BY(mutex) = 0;
  std::set<const Block*> blocks ABSL_GUARDED_BY(mutex);  // of running threads
  Block of_ended ABSL_GUARDED_BY(mutex);                 // of ended threads
};

Cells::Shared& Cells::GetShared() {
  static auto* const shared = new Shared;
  return *shared;
}

// A thread's block while the thread runs.
class Cells::Owner {
 public:
  Owner() {
    Shared& shared = GetShared();
    absl::MutexLock lock(&shared.mutex);
    shared.blocks.insert(&block_);
    own_ = &block_;
  }

  ~Owner() {
    Shared& shared = GetShared();
    absl::MutexLock lock(&shared.mutex);
    own_ = nullptr;
    ended_ = true;
    shared.blocks.erase(&block_);
    for (size_t i = 0; i < block_.chunks.size(); ++i) {
      Chunk* const chunk = block_.chunks[i].load(std::memory_order_relaxed);
      if (chunk == nullptr) continue;
      Chunk* const kept = OwnChunk(&shared.of_ended, i * kChunkCells);
      for (size_t k = 0; k < kChunkCells; ++k) {
        kept->cells[k].fetch_add(
            chunk->cells[k].load(std::memory_order_relaxed),
            std::memory_order_relaxed);
      }
      delete chunk;
    }
  }

  // Counts that the thread makes after that are lost.
  static bool ended() { return ended_; }

 private:
  static inline constinit thread_local bool ended_ = false;
  Block block_;
};

size_t Cells::Reserve(size_t count) {
  Shared& shared = GetShared();
  absl::MutexLock lock(&shared.mutex);
  CHECK_LE(shared.reserved + count, kMaxCells) << "metrics without a bound";
  const size_t first = shared.reserved;
  shared.reserved += count;
  return first;
}

Cells::Chunk* Cells::OwnChunk(Block* block, size_t cell) {
  std::atomic<Chunk*>& place = block->chunks[cell / kChunkCells];
  Chunk* chunk = place.load(std::memory_order_relaxed);
  if (chunk == nullptr) {
    chunk = new Chunk;
    place.store(chunk, std::memory_order_release);
  }
  return chunk;
}

void Cells::AddSlowly(size_t cell, uint64_t n) {
  if (Owner::ended()) {
    Shared& shared = GetShared();
    absl::MutexLock lock(&shared.mutex);
    OwnChunk(&shared.of_ended, cell)
        ->cells[cell % kChunkCells]
        .fetch_add(n, std::memory_order_relaxed);
    return;
  }
  static thread_local Owner owner;
  OwnChunk(own_, cell);
  Add(cell, n);
}

uint64_t Cells::Sum(size_t cell) {
  uint64_t sum = 0;
  Sum(cell, absl::MakeSpan(&sum, 1));
  return sum;
}

void Cells::Sum(size_t first, absl::Span<uint64_t> sums) {
  Shared& shared = GetShared();
  absl::MutexLock lock(&shared.mutex);
  const auto of = [](const Block& block, size_t cell) {
    const Chunk* const chunk = block.Get(cell);
    return chunk == nullptr ? 0
                            : chunk->cells[cell % kChunkCells].load(
                                  std::memory_order_relaxed);
  };
  for (size_t i = 0; i < sums.size(); ++i) {
    sums[i] = of(shared.of_ended, first + i);
    for (const Block* block : shared.blocks) sums[i] += of(*block, first + i);
  }
}

}  // namespace kamino::metrics
