#include "engine/kamino/checksum.h"

#include <immintrin.h>
#include <xxh_x86dispatch.h>

#include <algorithm>
#include <cstring>

#include "absl/container/flat_hash_set.h"

namespace kamino::engine {
namespace {

// The library hashes shorter ranges without vectors (XXH3's "mid-size" limit).
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
  // Debian's libxxhash 0.8.1 returns from its AVX2 and AVX-512 code without
  // VZEROUPPER.
  if (bytes.size() > kLongestWithoutVectors && kHasAvx) ClearUpperHalves();
  return hash;
}

namespace {

bool IsZero(absl::Span<const std::byte> bytes) {
  return bytes.empty() ||
         (bytes[0] == std::byte{} &&
          std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// The part of the range that exists.
absl::Span<const std::byte> Part(absl::Span<const std::byte> payload,
                                 size_t offset, size_t length) {
  return payload.subspan(std::min(offset, payload.size()), length);
}

}  // namespace

uint64_t HashAfterImage(
    const WriteSet& write_set, absl::Span<const uint32_t> filled,
    absl::FunctionRef<absl::Span<const std::byte>(ObjectId)> payload_of) {
  absl::flat_hash_set<ObjectId> freed;
  for (const Intent& intent : write_set) {
    if (intent.kind == IntentKind::kFree) freed.insert(intent.object);
  }
  uint64_t hash = 0;
  size_t allocations = 0;
  for (const Intent& intent : write_set) {
    const bool is_new = intent.kind == IntentKind::kAlloc;
    const size_t place = is_new ? allocations++ : 0;
    if (freed.contains(intent.object)) continue;
    const absl::Span<const std::byte> payload = payload_of(intent.object);
    if (!is_new) {
      const auto part = Part(payload, intent.offset, intent.length);
      hash = FoldHash(hash, Checksum(part));
      continue;
    }
    const size_t length = place < filled.size() ? filled[place] : 0;
    hash = FoldHash(hash, Checksum(Part(payload, 0, length)));
    const auto rest = Part(payload, length, intent.length);
    if (!IsZero(rest)) hash = FoldHash(hash, Checksum(rest));
  }
  return hash;
}

}  // namespace kamino::engine
