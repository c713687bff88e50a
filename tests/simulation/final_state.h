// What must hold once faults have stopped and clients are done: the chain is at
// rest, nothing is left over, and every heap is what the model says.
#ifndef KAMINO_TESTS_SIMULATION_FINAL_STATE_H_
#define KAMINO_TESTS_SIMULATION_FINAL_STATE_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "tests/simulation/cluster.h"
#include "tests/simulation/model.h"

namespace kamino::simulation {

// The chain's nodes are up, in one view, with nothing on its way.
absl::Status CheckAtRest(Cluster* cluster);

// Whether all nodes of the chain hold the same.
absl::Status CheckAlike(Cluster* cluster);

// The heaps of the chain's nodes hold what the model does, no more, in the same
// number of bytes. `except`: keys of which they hold all the same, be it
// another value than the model's.
absl::Status CheckHeaps(Cluster* cluster, const Model& model,
                        const std::vector<std::string>& except = {});

// The objects of the chain's nodes are the same, byte for byte: those of
// indexes, and what nobody reads, as well.
absl::Status CheckBytes(Cluster* cluster);

// What the tail's heap holds under these keys.
std::map<std::string, std::string> ReadFinal(
    Cluster* cluster, const std::vector<std::string>& keys);

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_FINAL_STATE_H_
