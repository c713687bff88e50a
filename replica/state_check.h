// What is wrong with the chain's state on a heap that nobody uses: the root
// object, the trees, and all that they lead to. Stores nothing.
#ifndef KAMINO_REPLICA_STATE_CHECK_H_
#define KAMINO_REPLICA_STATE_CHECK_H_

#include <cstdint>

#include "engine/heap/heap_check.h"
#include "engine/index/index_check.h"
#include "engine/transaction.h"

namespace kamino::replica {

struct CheckedState {
  bool formatted = false;
  bool restoring = false;
  engine::CheckedTree objects;
  engine::CheckedTree clients;
  engine::CheckedTree sessions;
};

// No object may be newer than `last_mutation`.
CheckedState CheckState(engine::CheckedBlocks* blocks, engine::ObjectId root,
                        uint64_t last_mutation, const engine::Finding& found);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_CHECK_H_
