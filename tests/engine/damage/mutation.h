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
// scribbled ranges, lines copied over others, words that look like ids and
// sizes, cut and grown memory; anywhere or aimed at fields that a reader
// trusts. Mostly corrects the superblock's checksum, so that it is not the only
// obstacle. Returns a description of the damage.
std::string Mutate(uint64_t seed, Images* images);

}  // namespace kamino::engine::damage

#endif  // KAMINO_TESTS_ENGINE_DAMAGE_MUTATION_H_
