// Checks the chain's state on a heap that is not in use: the root object, the
// trees, and all that they lead to. Stores nothing.
#ifndef KAMINO_REPLICA_STATE_STATE_CHECK_H_
#define KAMINO_REPLICA_STATE_STATE_CHECK_H_

#include <cstdint>
#include <functional>

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

// Calls `visit` for each of the clients' objects.
CheckedState CheckState(
    engine::CheckedBlocks* blocks, engine::ObjectId root,
    const engine::Finding& found,
    const std::function<void(const engine::CheckedRecord&)>& visit);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_STATE_CHECK_H_
