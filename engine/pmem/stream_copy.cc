#include "engine/pmem/stream_copy.h"

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace kamino::engine {
namespace {

constexpr size_t kWord = 8;
constexpr size_t kVector = 16;
constexpr size_t kLine = 64;

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

// --- Whole lines.

void StreamLinesSse2(char* to, const char* from, size_t bytes) {
  for (; bytes > 0; bytes -= kLine, to += kLine, from += kLine) {
    for (size_t i = 0; i < kLine; i += kVector) StreamVector(to + i, from + i);
  }
}

__attribute__((target("avx2"))) void StreamLinesAvx2(char* to, const char* from,
                                                     size_t bytes) {
  for (; bytes > 0; bytes -= kLine, to += kLine, from += kLine) {
    const __m256i low =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i high =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + kLine / 2));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + kLine / 2), high);
  }
  _mm256_zeroupper();  // compilers do that only where they optimise enough
}

__attribute__((target("avx512f"))) void StreamLinesAvx512(char* to,
                                                          const char* from,
                                                          size_t bytes) {
  for (; bytes > 0; bytes -= kLine, to += kLine, from += kLine) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to),
                        _mm512_loadu_si512(from));
  }
  _mm256_zeroupper();
}

const StreamLinesFn kStreamLines = StreamLinesFns().back();

}  // namespace

std::vector<StreamLinesFn> StreamLinesFns() {
  __builtin_cpu_init();
  std::vector<StreamLinesFn> functions = {StreamLinesSse2};
  if (__builtin_cpu_supports("avx2")) functions.push_back(StreamLinesAvx2);
  if (__builtin_cpu_supports("avx512f")) {
    functions.push_back(StreamLinesAvx512);
  }
  return functions;
}

void StreamCopy(void* destination, const void* source, size_t length) {
  char* to = static_cast<char*>(destination);
  const char* from = static_cast<const char*>(source);
  const auto advance = [&](size_t by) {
    to += by;
    from += by;
    length -= by;
  };
  if (const size_t begin = reinterpret_cast<uintptr_t>(to) % kWord; begin > 0) {
    const size_t part = std::min(length, kWord - begin);
    StreamPart(to - begin, begin, from, part);
    advance(part);
  }
  const auto misaligned = [&](size_t to_what) {
    return reinterpret_cast<uintptr_t>(to) % to_what != 0;
  };
  if (length >= kWord && misaligned(kVector)) {
    StreamWord(to, from);
    advance(kWord);
  }
  while (length >= kVector && misaligned(kLine)) {
    StreamVector(to, from);
    advance(kVector);
  }
  if (const size_t lines = length / kLine * kLine; lines > 0) {
    kStreamLines(to, from, lines);
    advance(lines);
  }
  while (length >= kVector) {
    StreamVector(to, from);
    advance(kVector);
  }
  if (length >= kWord) {
    StreamWord(to, from);
    advance(kWord);
  }
  if (length > 0) StreamPart(to, 0, from, length);
}

}  // namespace kamino::engine
