// Copies that bypass the cache: non-temporal stores, which need no write-back.
#ifndef KAMINO_ENGINE_PMEM_STREAM_COPY_H_
#define KAMINO_ENGINE_PMEM_STREAM_COPY_H_

#include <cstddef>
#include <vector>

namespace kamino::engine {

// Copies [source, source + length), which must not overlap the destination.
// Stores partly covered aligned words of 8 bytes whole, with the bytes beside:
// no other thread may store to them at the same time. Whole cache lines use the
// widest stores that the processor has.
void StreamCopy(void* destination, const void* source, size_t length);

// Copies whole lines to aligned memory, `bytes` being a multiple of 64.
using StreamLinesFn = void (*)(char* to, const char* from, size_t bytes);

// The functions that this processor can run, the narrowest first. (Wide stores
// take half the time of SSE2's for objects of 1 KiB and more.)
std::vector<StreamLinesFn> StreamLinesFns();

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_STREAM_COPY_H_
