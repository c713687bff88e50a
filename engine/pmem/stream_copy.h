// Copies past the cache: non-temporal stores, which need no write-back.
#ifndef KAMINO_ENGINE_PMEM_STREAM_COPY_H_
#define KAMINO_ENGINE_PMEM_STREAM_COPY_H_

#include <cstddef>

namespace kamino::engine {

// Copies [source, source + length), which must not overlap the destination.
// Aligned words of 8 bytes that it covers in part are stored whole, with what
// stands beside: nobody else may store to them at the same time.
//
// SSE2 stores of 16 bytes, which every x86-64 has, fill the processor's
// write-combining buffers as fast as AVX-512's of 64.
void StreamCopy(void* destination, const void* source, size_t length);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_STREAM_COPY_H_
