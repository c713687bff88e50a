// The owner, the sizes and the kinds of a node's regions.
#ifndef KAMINO_NODE_STORAGE_STORAGE_OPTIONS_H_
#define KAMINO_NODE_STORAGE_STORAGE_OPTIONS_H_

#include <cstdint>
#include <string>

#include "base/chain_id.h"
#include "base/chain_mode.h"
#include "base/undo_copy_kind.h"

namespace kamino::node {

struct StorageOptions {
  std::string cluster_id;
  ChainId chain_id = kOnlyChain;
  // The chain's, fixed: files of another mode are refused.
  ChainMode mode = ChainMode::kKamino;
  std::string node_id;
  uint64_t heap_bytes = 0;
  uint64_t ring_bytes = 0;
  UndoCopyKind undo_copy = UndoCopyKind::kDynamic;
  double alpha = 0.25;  // kDynamic: the undo copy's part of heap_bytes
  // Allocates the undo copy at the start, so that becoming head neither waits
  // for space nor fails for lack of it.
  bool reserve_undo_copy = true;
  // A new heap's incarnation; not 0. A real node draws it at random.
  uint64_t first_incarnation = 1;
  // After so many consecutive unplanned ends soon after the start it is not
  // opened. 0: no limit.
  uint32_t restart_limit = 0;
  // The machine's boot id; 0: unknown. A process that ended with its machine
  // did not crash.
  uint64_t boot = 0;
  // Makes the stamp of this start unique. A real node draws it at random.
  uint64_t salt = 1;
  // For tests: smaller regions than a real node's, and a log area of that size.
  // 0: as the heap decides.
  uint64_t tiny_log_bytes = 0;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_STORAGE_OPTIONS_H_
