// The processor's best way to write cache lines back.
#ifndef KAMINO_ENGINE_PMEM_CACHE_FLUSH_H_
#define KAMINO_ENGINE_PMEM_CACHE_FLUSH_H_

#include <cstddef>

namespace kamino::engine {

inline constexpr size_t kCacheLineBytes = 64;

// Starts writing back every line that [data, data + length) touches.
using CacheFlushFn = void (*)(const void* data, size_t length);
CacheFlushFn BestCacheFlush();

// Orders this thread's flushes before its later stores.
void StoreFence();

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_CACHE_FLUSH_H_
