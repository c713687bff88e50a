// How a node executes what has come down the chain. The core calls it; in a
// node it is a HeapExecutor, in tests of the protocol a list.
#ifndef KAMINO_REPLICA_EXECUTOR_H_
#define KAMINO_REPLICA_EXECUTOR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kamino::replica {

class Executor {
 public:
  virtual ~Executor() = default;

  // Executes operation `sequence` (a serialized ChainOperation) in place and
  // makes its effects durable. An error means that the node must stop.
  virtual absl::Status Execute(uint64_t sequence,
                               absl::string_view operation) = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_EXECUTOR_H_
