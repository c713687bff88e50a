// A number in one word of the medium, which is stored as a whole, so that a
// crash leaves the old one or the new; and one that is damaged is noticed.
//   bits 63..16  the number
//   bits 15..0   of XXH3 of it, seeded by where it is; all 0 for 0
#ifndef KAMINO_ENGINE_BASELINES_CHECKED_WORD_H_
#define KAMINO_ENGINE_BASELINES_CHECKED_WORD_H_

#include <xxhash.h>

#include <cstdint>
#include <optional>

namespace kamino::engine {

inline constexpr uint64_t kMostChecked = (uint64_t{1} << 48) - 1;

// Adds a check to 0, too.
inline uint64_t MakeCheckedAlways(uint64_t number, uint64_t seed) {
  const uint64_t check = XXH3_64bits_withSeed(&number, sizeof(number), seed);
  return number << 16 | (check & 0xffff);
}

inline uint64_t MakeChecked(uint64_t number, uint64_t seed) {
  return number == 0 ? 0 : MakeCheckedAlways(number, seed);
}

// The word must have passed its check.
inline uint64_t NumberIn(uint64_t word) { return word >> 16; }

// Nothing: damaged.
inline std::optional<uint64_t> ReadChecked(uint64_t word, uint64_t seed) {
  const uint64_t number = NumberIn(word);
  if (word != MakeChecked(number, seed)) return std::nullopt;
  return number;
}

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_CHECKED_WORD_H_
