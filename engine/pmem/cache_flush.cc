#include "engine/pmem/cache_flush.h"

#include <cpuid.h>
#include <immintrin.h>

#include <cstdint>

namespace kamino::engine {
namespace {

constexpr uintptr_t kLineMask = kCacheLineBytes - 1;

__attribute__((target("clwb"))) void FlushClwb(const void* data,
                                               size_t length) {
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + length;
  for (uintptr_t line = reinterpret_cast<uintptr_t>(data) & ~kLineMask;
       line < end; line += kCacheLineBytes) {
    _mm_clwb(reinterpret_cast<void*>(line));
  }
}

__attribute__((target("clflushopt"))) void FlushClflushopt(const void* data,
                                                           size_t length) {
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + length;
  for (uintptr_t line = reinterpret_cast<uintptr_t>(data) & ~kLineMask;
       line < end; line += kCacheLineBytes) {
    _mm_clflushopt(reinterpret_cast<void*>(line));
  }
}

void FlushClflush(const void* data, size_t length) {
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + length;
  for (uintptr_t line = reinterpret_cast<uintptr_t>(data) & ~kLineMask;
       line < end; line += kCacheLineBytes) {
    _mm_clflush(reinterpret_cast<const void*>(line));
  }
}

}  // namespace

CacheFlushFn BestCacheFlush() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  // Intel SDM, CPUID leaf 7: EBX bit 24 is CLWB, bit 23 is CLFLUSHOPT.
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return FlushClflush;
  if (b & 1u << 24) return FlushClwb;
  if (b & 1u << 23) return FlushClflushopt;
  return FlushClflush;
}

void StoreFence() { _mm_sfence(); }

}  // namespace kamino::engine
