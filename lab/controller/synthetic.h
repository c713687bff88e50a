// Traces that are made up, as section 5.3 of the paper describes them. The same
// arguments give the same trace.
#ifndef KAMINO_LAB_CONTROLLER_SYNTHETIC_H_
#define KAMINO_LAB_CONTROLLER_SYNTHETIC_H_

#include <cstdint>

#include "lab/controller/simulation.h"
#include "lab/controller/trace.h"

namespace kamino::bench::controller {

// "An 8 MB array (so that it can fit easily into the cache hierarchy)".
inline constexpr uint64_t kArrayBytes = 8u << 20;

// All of it, which the experiments begin with.
inline WarmBytes WarmArray() { return {0, kArrayBytes}; }

// Each thread: so many pieces of work, each a wrap that stores to so many words
// of the array at random.
Trace ArrayUpdates(int threads, int pieces, int stores, uint64_t seed);

// "Each group has 50 writes, with a varying percentage of transactional and
// non-transactional traffic": a wrap of the former, if there are any, then the
// latter. They have half of the array each, as no line may have both.
inline constexpr int kGroupStores = 50;
Trace MixedGroups(int groups, int transactional, uint64_t seed);

// For tests. Threads store to words of their own in lines that all share, load
// any, compute, and between wraps store to lines that no wrap stores to, and
// flush those. Wraps have up to `most_stores` stores.
Trace RandomTrace(int threads, int wraps, int most_stores, int lines,
                  uint64_t seed);

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_SYNTHETIC_H_
