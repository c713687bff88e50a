// The core workloads A to F of the Yahoo! Cloud Serving Benchmark (Cooper et
// al., SoCC '10) over the B+tree.
#ifndef KAMINO_BENCH_ENGINE_YCSB_H_
#define KAMINO_BENCH_ENGINE_YCSB_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/engine/workload.h"

namespace kamino::bench {

inline constexpr uint32_t kYcsbFields = 10;
inline constexpr uint32_t kYcsbFieldBytes = 100;
inline constexpr uint32_t kYcsbRecordBytes = kYcsbFields * kYcsbFieldBytes;
inline constexpr uint64_t kYcsbMaxScan = 100;

// Kinds of transactions, in the order of Suite::kinds().
enum YcsbKind {
  kYcsbRead,
  kYcsbUpdate,
  kYcsbInsert,
  kYcsbScan,
  kYcsbReadModifyWrite,
  kYcsbKinds,
};

// In percent, by kind.
using YcsbMix = std::array<int, kYcsbKinds>;

// 'a' to 'f'.
YcsbMix MixOf(char workload);
YcsbKind DrawKind(const YcsbMix& mix, Random& random);

// The size of a directory (engine/index/directory.h) for so many records.
uint64_t DirectoryBytes(uint64_t records);

// The key of record `number`: "user" and a hash, so that records that follow
// each other are not neighbours.
std::string YcsbKey(uint64_t number);

// How many records there are while threads insert: a record counts once all
// before it are committed too, so that readers of the latest find it.
class RecordCount {
 public:
  explicit RecordCount(uint64_t count) : next_(count), visible_(count) {}

  uint64_t Take() { return next_.fetch_add(1); }
  // Record `number` of Take is committed.
  void Commit(uint64_t number);
  uint64_t visible() const { return visible_.load(); }
  uint64_t taken() const { return next_.load(); }

  // No thread may be in a call.
  void Reset(uint64_t count);

 private:
  // How far one may be ahead of the count.
  static constexpr uint64_t kWindow = 4096;

  std::atomic<uint64_t> next_;
  std::atomic<uint64_t> visible_;
  std::array<std::atomic<uint64_t>, kWindow> committed_{};
};

// How workers find existing records. A directory hashes keys with a random
// secret, so two runs of one seed read different pages.
enum class Lookups { kByDirectory, kByTree };

// A to F with zipfian and uniform requests, on 1, 2 and 4 threads.
std::unique_ptr<Suite> MakeYcsbSuite(Scale scale,
                                     Lookups lookups = Lookups::kByDirectory);

// A, B, C, D and F, zipfian, on 2 threads, in a heap that fits the data
// closely: the undo copy's alpha is of the heap.
std::unique_ptr<Suite> MakeAlphaSuite(Scale scale);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_YCSB_H_
