#include "engine/pmem/stream_copy.h"

#include <emmintrin.h>

#include <algorithm>
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

// Bytes [begin, begin + length) of the word at `to`.
void StreamPart(char* to, size_t begin, const char* from, size_t length) {
  char word[kWord];
  std::memcpy(word, to, kWord);
  std::memcpy(word + begin, from, length);
  StreamWord(to, word);
}

}  // namespace

void StreamCopy(void* destination, const void* source, size_t length) {
  char* to = static_cast<char*>(destination);
  const char* from = static_cast<const char*>(source);
  if (const size_t begin = reinterpret_cast<uintptr_t>(to) % kWord; begin > 0) {
    const size_t part = std::min(length, kWord - begin);
    StreamPart(to - begin, begin, from, part);
    to += part;
    from += part;
    length -= part;
  }
  if (length >= kWord && reinterpret_cast<uintptr_t>(to) % kVector != 0) {
    StreamWord(to, from);
    to += kWord;
    from += kWord;
    length -= kWord;
  }
  for (; length >= 4 * kVector; length -= 4 * kVector) {
    for (size_t i = 0; i < 4; ++i) {
      StreamVector(to + i * kVector, from + i * kVector);
    }
    to += 4 * kVector;
    from += 4 * kVector;
  }
  for (; length >= kVector; length -= kVector) {
    StreamVector(to, from);
    to += kVector;
    from += kVector;
  }
  if (length >= kWord) {
    StreamWord(to, from);
    to += kWord;
    from += kWord;
    length -= kWord;
  }
  if (length > 0) StreamPart(to, 0, from, length);
}

}  // namespace kamino::engine
