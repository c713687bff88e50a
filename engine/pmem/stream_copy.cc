#include "engine/pmem/stream_copy.h"

#include <emmintrin.h>

#include <cstdint>
#include <cstring>

namespace kamino::engine {
namespace {

constexpr size_t kWord = 8;
constexpr size_t kVector = 16;

void StreamWord(char* to, const char* from) {
  long long word;
  std::memcpy(&word, from, sizeof(word));
  _mm_stream_si64(reinterpret_cast<long long*>(to), word);
}

void StreamVector(char* to, const char* from) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(to),
                   _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

}  // namespace

StreamCopied StreamCopy(void* destination, const void* source, size_t length) {
  char* to = static_cast<char*>(destination);
  const char* from = static_cast<const char*>(source);
  StreamCopied result;
  const size_t front = -reinterpret_cast<uintptr_t>(to) % kWord;
  if (length < front + kWord) return result;
  result.copied = true;
  result.front = front;
  to += front;
  from += front;
  size_t left = length - front;
  if (reinterpret_cast<uintptr_t>(to) % kVector != 0) {
    StreamWord(to, from);
    to += kWord;
    from += kWord;
    left -= kWord;
  }
  for (; left >= 4 * kVector; left -= 4 * kVector) {
    for (size_t i = 0; i < 4; ++i)
      StreamVector(to + i * kVector, from + i * kVector);
    to += 4 * kVector;
    from += 4 * kVector;
  }
  for (; left >= kVector; left -= kVector) {
    StreamVector(to, from);
    to += kVector;
    from += kVector;
  }
  if (left >= kWord) {
    StreamWord(to, from);
    left -= kWord;
  }
  result.behind = left;
  return result;
}

}  // namespace kamino::engine
