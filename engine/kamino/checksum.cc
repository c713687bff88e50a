#include "engine/kamino/checksum.h"

#include <immintrin.h>
#include <xxh_x86dispatch.h>

namespace kamino::engine {
namespace {

// Shorter ones the library hashes without vectors (XXH3's "mid-size" limit).
constexpr size_t kLongestWithoutVectors = 240;

bool HasAvx() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx");
}

const bool kHasAvx = HasAvx();

__attribute__((target("avx"))) void ClearUpperHalves() { _mm256_zeroupper(); }

}  // namespace

uint64_t Checksum(absl::Span<const std::byte> bytes) {
  const uint64_t hash = XXH3_64bits_dispatch(bytes.data(), bytes.size());
  // Debian's libxxhash 0.8.1 returns from its AVX2 and AVX-512 code without.
  if (bytes.size() > kLongestWithoutVectors && kHasAvx) ClearUpperHalves();
  return hash;
}

}  // namespace kamino::engine
