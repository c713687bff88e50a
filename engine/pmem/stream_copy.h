// Copies past the cache: non-temporal stores, which need no write-back.
#ifndef KAMINO_ENGINE_PMEM_STREAM_COPY_H_
#define KAMINO_ENGINE_PMEM_STREAM_COPY_H_

#include <cstddef>

namespace kamino::engine {

// Copies [source, source + length) but for the bytes in front of the first and
// behind the last aligned word of 8 bytes of the destination. Returns how many
// bytes in front and behind were left out, each under 8; both are 0 and all is
// left to the caller where `copied` is false: no whole word.
//
// SSE2 stores of 16 bytes, which every x86-64 has, fill the processor's
// write-combining buffers as fast as AVX-512's of 64.
struct StreamCopied {
  bool copied = false;
  size_t front = 0;
  size_t behind = 0;
};
StreamCopied StreamCopy(void* destination, const void* source, size_t length);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_STREAM_COPY_H_
