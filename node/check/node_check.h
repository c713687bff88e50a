// Checks a node's regions while no node uses them.
#ifndef KAMINO_NODE_CHECK_NODE_CHECK_H_
#define KAMINO_NODE_CHECK_NODE_CHECK_H_

#include <cstdint>
#include <functional>
#include <string>

#include "node/check/check_media.h"

namespace kamino::node {

struct CheckFinding {
  std::string region;   // as CheckMedia names it
  uint64_t offset = 0;  // in it
  std::string what;
};

struct CheckReport {
  uint64_t findings = 0;
  // Entries that the node was executing when it ended; it repairs them or rolls
  // them back when it starts.
  uint64_t interrupted = 0;

  std::string label;  // of the heap: "cluster/chain/node"
  bool formatted = false;
  bool restoring = false;
  uint64_t objects = 0;  // of clients
  uint64_t clients = 0;  // with a stored outcome
  uint64_t sessions = 0;
  uint64_t pages = 0;   // of all indexes
  uint64_t blocks = 0;  // allocated
  uint64_t block_bytes = 0;
  uint64_t received = 0;  // cursors of the ring
  uint64_t applied = 0;
  uint64_t cleaned = 0;
};

// `found` receives each finding at once.
CheckReport CheckNode(const CheckMedia& media,
                      const std::function<void(const CheckFinding&)>& found);

}  // namespace kamino::node

#endif  // KAMINO_NODE_CHECK_NODE_CHECK_H_
