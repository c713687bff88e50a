// Which images of the memory to check when a crash can leave too many to try
// all.
#ifndef KAMINO_TESTS_ENGINE_CRASH_IMAGE_PLAN_H_
#define KAMINO_TESTS_ENGINE_CRASH_IMAGE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace kamino::engine::crash {

// The outcome of each piece of memory at risk: 0, it keeps its durable content;
// n, its n-th outcome.
using Picks = std::vector<uint8_t>;

// `outcomes[i]` is the number of outcomes of piece i, without the durable one.
//
// Every combination when there are at most `exhaustive` of them. Otherwise,
// until there are `most`: none, all, each alone, all but one, pairs, and random
// subsets in which a piece changes with a probability of 0.1, 0.5 or 0.9. When
// there are more pieces than that has room for, chance chooses which are alone,
// left out or paired. No two plans are the same.
std::vector<Picks> PlanImages(const std::vector<uint8_t>& outcomes,
                              size_t exhaustive, size_t most,
                              std::mt19937_64* random);

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_IMAGE_PLAN_H_
