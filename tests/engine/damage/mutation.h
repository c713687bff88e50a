// Damage to the memory under a store, by seed.
#ifndef KAMINO_TESTS_ENGINE_DAMAGE_MUTATION_H_
#define KAMINO_TESTS_ENGINE_DAMAGE_MUTATION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/pmem/sim_region.h"

namespace kamino::engine::damage {

// One for each area of a scheme, the heap's first.
using Images = std::vector<SimRegion::Image>;

// Damages the images of a store in one of many ways: flipped bits, cleared and
// scribbled ranges, lines copied to where others were, words that look like
// ids and sizes, cut and grown memory; anywhere or aimed at what a reader
// trusts. A superblock's checksum is made right again mostly, so that it is
// not all that stands in the way. Returns what was done.
std::string Mutate(uint64_t seed, Images* images);

}  // namespace kamino::engine::damage

#endif  // KAMINO_TESTS_ENGINE_DAMAGE_MUTATION_H_
