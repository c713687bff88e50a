// Memory behind a cache that decides what a crash leaves: the bytes that were
// flushed and drained, and the lines that the cache evicted. The contents of
// the cache are lost.
//
// The cache learns of loads and stores by Touch only. A line with a store that
// was not told by Touch stays as it was on the medium, as if the cache held it,
// until it is flushed, or touched and evicted. Flush writes lines back and
// leaves them in the cache; CopyFlush stores past the cache.
#ifndef KAMINO_LAB_CRASH_MODEL_CACHED_REGION_H_
#define KAMINO_LAB_CRASH_MODEL_CACHED_REGION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "engine/pmem/cache_model.h"
#include "engine/pmem/plain_region.h"
#include "engine/pmem/region.h"

namespace kamino::bench::crash_model {

struct CacheSize {
  uint64_t bytes = 19712u << 10;
  size_t ways = 11;
};

// Not thread-safe.
class CachedRegion final : public engine::Region {
 public:
  static constexpr size_t kLineBytes = engine::CacheModel::kLineBytes;
  static constexpr size_t kWordBytes = 8;

  // Zeroed; a multiple of kLineBytes.
  CachedRegion(size_t size, const CacheSize& cache);

  std::byte* base() const override { return live_.base(); }
  size_t size() const override { return live_.size(); }
  void Flush(const void* data, size_t length) override;
  void Drain() override;
  void CopyFlush(void* destination, const void* source, size_t length) override;

  // Bytes of the region are loaded, or have been stored to.
  void Touch(const void* data, size_t length);

  // Copies what a crash now would leave, size() bytes. The seed decides about
  // lines that are flushed and not drained yet.
  void Crash(uint64_t seed, std::byte* image) const;

  // Called at the beginning of every Flush, CopyFlush and Drain: a crash could
  // be there.
  void SetHook(std::function<void()> hook) { hook_ = std::move(hook); }

 private:
  using Line = std::array<std::byte, kLineBytes>;

  void PickUp(const void* data, size_t length);

  engine::PlainRegion live_;
  engine::PlainRegion durable_;
  engine::CacheModel cache_;
  absl::flat_hash_map<uint64_t, Line> flushed_;  // by number, not drained
  std::function<void()> hook_;
};

}  // namespace kamino::bench::crash_model

#endif  // KAMINO_LAB_CRASH_MODEL_CACHED_REGION_H_
