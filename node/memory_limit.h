// Whether the memory that a node cannot do without fits the limit of its
// cgroup: a process beyond it is killed by the kernel, at each start, without a
// line of its log.
#ifndef KAMINO_NODE_MEMORY_LIMIT_H_
#define KAMINO_NODE_MEMORY_LIMIT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "node/node_flags.h"

namespace kamino::node {

// Of the kernel's files, below a folder: a test's, or /.
struct MemoryLimit {
  uint64_t bytes = 0;  // of memory and swap space together
  std::string file;    // that has it
};

// The lowest limit of this process's cgroup and of those above it, versions 1
// and 2. nullopt: there is none, or its file cannot be read.
std::optional<MemoryLimit> ReadMemoryLimit(const std::string& root = "/");

// Memory that the kernel cannot reclaim.
struct MemoryNeed {
  // Heap, ring and undo copy, where they are files in memory (tmpfs). 0: they
  // are on a disk or a device.
  uint64_t files = 0;
  uint64_t process = 0;
  // What open snapshots may take on top.
  uint64_t snapshots = 0;
};

MemoryNeed NeedOf(const NodeFlags& flags);
// `in_memory`: whether --data_dir is on a file system in memory.
MemoryNeed NeedOf(const NodeFlags& flags, bool in_memory);

// kInvalidArgument, "--flag why": a node of this need dies by the limit.
absl::Status CheckMemory(const NodeFlags& flags, const MemoryNeed& need,
                         const std::optional<MemoryLimit>& limit);

// A warning where more than nine tenths of the limit may be needed; else "".
std::string MemoryWarning(const MemoryNeed& need,
                          const std::optional<MemoryLimit>& limit);

}  // namespace kamino::node

#endif  // KAMINO_NODE_MEMORY_LIMIT_H_
