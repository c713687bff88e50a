// Of a range's bytes, for the commit record. Private to the store.
#ifndef KAMINO_ENGINE_KAMINO_CHECKSUM_H_
#define KAMINO_ENGINE_KAMINO_CHECKSUM_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace kamino::engine {

// XXH3-64, with the widest vectors that the processor has. The upper halves of
// the vector registers are clear afterwards: every SSE store that follows would
// have to merge with what they hold (Intel's optimization manual, "Mixing AVX
// code with SSE code").
uint64_t Checksum(absl::Span<const std::byte> bytes);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_CHECKSUM_H_
