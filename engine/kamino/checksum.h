// Checksums of ranges, for the commit record, and to compare the results of
// transactions.
#ifndef KAMINO_ENGINE_KAMINO_CHECKSUM_H_
#define KAMINO_ENGINE_KAMINO_CHECKSUM_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "engine/transaction.h"

namespace kamino::engine {

// XXH3-64, with the widest vectors that the processor has. The upper halves of
// the vector registers are clear afterwards: otherwise every later SSE store
// would have to merge with them (Intel's optimization manual, "Mixing AVX code
// with SSE code").
uint64_t Checksum(absl::Span<const std::byte> bytes);

// Folds the hash of one more range into a record's checksum.
constexpr uint64_t FoldHash(uint64_t checksum, uint64_t hash) {
  checksum = (checksum ^ hash) * 0x9fb21c651e98df25ull;
  return checksum ^ checksum >> 35;
}

// AfterImage::hash of the current bytes; `filled` is as of AfterImage.
// `payload_of` returns an object's payload. A payload that is shorter than the
// write set says changes the hash, as do nonzero bytes after the filled ones.
uint64_t HashAfterImage(
    const WriteSet& write_set, absl::Span<const uint32_t> filled,
    absl::FunctionRef<absl::Span<const std::byte>(ObjectId)> payload_of);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_CHECKSUM_H_
