#include "lab/crash_model/cached_region.h"

#include <cstring>

#include "bench/engine/distribution.h"
#include "glog/logging.h"

namespace kamino::bench::crash_model {

CachedRegion::CachedRegion(size_t size, const CacheSize& cache)
    : live_(size), durable_(size), cache_(cache.bytes, cache.ways) {
  CHECK_EQ(size % kLineBytes, 0u);
  std::memset(live_.base(), 0, size);
  std::memset(durable_.base(), 0, size);
}

void CachedRegion::PickUp(const void* data, size_t length) {
  if (length == 0) return;
  const size_t begin = static_cast<const std::byte*>(data) - base();
  CHECK(begin < size() && length <= size() - begin)
      << "flush outside the region";
  for (size_t line = begin / kLineBytes; line * kLineBytes < begin + length;
       ++line) {
    std::memcpy(flushed_[line].data(), base() + line * kLineBytes, kLineBytes);
  }
}

void CachedRegion::Flush(const void* data, size_t length) {
  if (hook_) hook_();
  PickUp(data, length);
}

void CachedRegion::CopyFlush(void* destination, const void* source,
                             size_t length) {
  if (hook_) hook_();
  std::memcpy(destination, source, length);
  PickUp(destination, length);
}

void CachedRegion::Drain() {
  if (hook_) hook_();
  for (const auto& [line, bytes] : flushed_) {
    std::memcpy(durable_.base() + line * kLineBytes, bytes.data(), kLineBytes);
  }
  flushed_.clear();
}

void CachedRegion::Touch(const void* data, size_t length) {
  const size_t begin = static_cast<const std::byte*>(data) - base();
  for (size_t line = begin / kLineBytes; line * kLineBytes < begin + length;
       ++line) {
    const auto evicted = cache_.Use(line);
    if (!evicted.has_value()) continue;
    const size_t at = *evicted * kLineBytes;
    std::memcpy(durable_.base() + at, base() + at, kLineBytes);
    // The evicted bytes are newer than those of an earlier flush.
    flushed_.erase(*evicted);
  }
}

void CachedRegion::Crash(uint64_t seed, std::byte* image) const {
  std::memcpy(image, durable_.base(), size());
  for (const auto& [line, bytes] : flushed_) {
    // A number of its own for each, whatever the order.
    const uint64_t random = Random(seed ^ FnvHash(line)).Next();
    for (size_t word = 0; word < kLineBytes / kWordBytes; ++word) {
      // Nothing of it, all of it, or some words.
      const bool torn = (random & 2) != 0;
      if ((random >> (torn ? 8 + word : 0) & 1) == 0) continue;
      std::memcpy(image + line * kLineBytes + word * kWordBytes,
                  bytes.data() + word * kWordBytes, kWordBytes);
    }
  }
}

}  // namespace kamino::bench::crash_model
