// Invariants once faults have stopped and clients are done: the chain is at
// rest, nothing is left over, and every heap matches the model.
#ifndef KAMINO_TESTS_SIMULATION_FINAL_STATE_H_
#define KAMINO_TESTS_SIMULATION_FINAL_STATE_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "tests/simulation/cluster.h"
#include "tests/simulation/model.h"

namespace kamino::simulation {

// The chain's nodes are up, in one view, with no message in flight.
absl::Status CheckAtRest(Cluster* cluster);

// Whether all nodes of the chain hold the same data.
absl::Status CheckAlike(Cluster* cluster);

// The heaps of the chain's nodes hold the model's data and no other, in the
// same number of bytes. `except`: keys whose values must agree among the nodes,
// and may differ from the model's.
absl::Status CheckHeaps(Cluster* cluster, const Model& model,
                        const std::vector<std::string>& except = {});

// The objects of the chain's nodes are the same, byte for byte, including those
// of indexes and those that no client reads.
absl::Status CheckBytes(Cluster* cluster);

// The values of these keys in the tail's heap.
std::map<std::string, std::string> ReadFinal(
    Cluster* cluster, const std::vector<std::string>& keys);

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_FINAL_STATE_H_
