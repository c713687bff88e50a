// Damage to messages in flight that no checksum of a link would notice.
#ifndef KAMINO_TESTS_SIMULATION_DAMAGE_H_
#define KAMINO_TESTS_SIMULATION_DAMAGE_H_

#include <cstdint>

#include "tests/simulation/timed_network.h"
#include "tests/simulation/world.h"

namespace kamino::simulation {

// Damages one in that many chunks of a state transfer, and of log entries. 0:
// none.
TimedNetwork::Filter DamagesMessages(World* world, uint64_t chunks_one_in,
                                     uint64_t entries_one_in);

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_DAMAGE_H_
