// A region that looks how much of each cache line is new when it is written
// back (Archapt, section 2.2: the dirtiness of flushed lines). For passes that
// are not timed.
#ifndef KAMINO_BENCH_ENGINE_DIRTINESS_REGION_H_
#define KAMINO_BENCH_ENGINE_DIRTINESS_REGION_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "engine/pmem/region.h"

namespace kamino::bench {

struct Dirtiness {
  uint64_t lines = 0;  // that were written back
  uint64_t bytes = 0;  // of them, others than when they were the last time

  // Part of the written bytes that changed, in [0, 1]. 0: no lines were
  // written.
  double Average() const {
    return lines == 0
               ? 0
               : static_cast<double>(bytes) / (static_cast<double>(lines) * 64);
  }
};

// Thread-safe, as the region below, which must outlive it. Bytes that are
// stored with the value they had are not new: what it says is too little
// rather than too much.
class DirtinessRegion final : public engine::Region {
 public:
  explicit DirtinessRegion(engine::Region* below)
      : below_(below), written_(below->base(), below->base() + below->size()) {}

  // Lines before this byte do not count: of headers and logs.
  void CountFrom(size_t begin) {
    absl::MutexLock lock(&mutex_);
    begin_ = begin;
  }

  std::byte* base() const override { return below_->base(); }
  size_t size() const override { return below_->size(); }
  bool DrainsAll() const override { return below_->DrainsAll(); }

  void Flush(const void* data, size_t length) override {
    below_->Flush(data, length);
    Look(data, length);
  }
  void Drain() override { below_->Drain(); }
  void CopyFlush(void* destination, const void* source,
                 size_t length) override {
    below_->CopyFlush(destination, source, length);
    Look(destination, length);
  }

  Dirtiness dirtiness() const {
    absl::MutexLock lock(&mutex_);
    return dirtiness_;
  }

 private:
  static constexpr size_t kLine = 64;

  void Look(const void* data, size_t length) {
    if (length == 0) return;
    const size_t offset = static_cast<const std::byte*>(data) - base();
    absl::MutexLock lock(&mutex_);
    for (size_t at = offset / kLine * kLine; at < offset + length;
         at += kLine) {
      size_t changed = 0;
      for (size_t i = at; i < at + kLine; ++i) {
        if (written_[i] != base()[i]) ++changed;
        written_[i] = base()[i];
      }
      if (at < begin_) continue;
      ++dirtiness_.lines;
      dirtiness_.bytes += changed;
    }
  }

  engine::Region* const below_;
  mutable absl::Mutex mutex_;
  std::vector<std::byte> written_ ABSL_GUARDED_BY(mutex_);
  size_t begin_ ABSL_GUARDED_BY(mutex_) = 0;
  Dirtiness dirtiness_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_DIRTINESS_REGION_H_
