// Traces of real stores at work: inserts into containers that are written over
// transactions, and a graph that is built and searched (WrAP, sections 5.4 and
// 5.5). The same arguments give the same trace, where the store gives the same
// places.
#ifndef KAMINO_LAB_CONTROLLER_RECORDING_H_
#define KAMINO_LAB_CONTROLLER_RECORDING_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/transactional_store.h"
#include "lab/controller/trace.h"

namespace kamino::bench::controller {

enum class Container {
  kBTree,  // engine/index
  kAvl,    // avl_tree.h: five words to a node
  kHash,   // open addressing, in arrays of 64 KiB
};
inline constexpr Container kContainers[] = {Container::kBTree, Container::kAvl,
                                            Container::kHash};
absl::string_view ContainerName(Container container);

struct Inserts {
  int wraps = 100;
  int inserts = 20;   // in each
  int before = 1000;  // that are there already, and not in the trace
  uint64_t seed = 1;
};
// New keys at random. `store` is empty; errors are its.
absl::StatusOr<Trace> RecordInserts(Container container, const Inserts& inserts,
                                    engine::TransactionalStore* store);

// Graph 500: 2^scale vertices, 16 edges to each, by its Kronecker generator.
struct GraphOptions {
  int scale = 10;
  int stores_per_wrap = 20;  // the paper does not say where wraps begin
  int searches = 4;          // Graph 500 makes 64
  uint64_t seed = 1;
};
struct GraphTraces {
  Trace generate;  // the list of edges, in order
  Trace build;     // adjacency lists, all over
  Trace search;    // breadth first, each with a tree of parents
};
// `store` is empty, and has room for GraphBytes.
absl::StatusOr<GraphTraces> RecordGraph(const GraphOptions& options,
                                        engine::TransactionalStore* store);
uint64_t GraphBytes(const GraphOptions& options);

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_RECORDING_H_
