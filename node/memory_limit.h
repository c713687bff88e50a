// Checks whether the memory that a node needs fits the limit of its cgroup: the
// kernel kills a process beyond it, at each start, without a line of its log.
#ifndef KAMINO_NODE_MEMORY_LIMIT_H_
#define KAMINO_NODE_MEMORY_LIMIT_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "node/node_flags.h"

namespace kamino::node {

// Memory that the kernel cannot reclaim.
struct MemoryNeed {
  // Heap, ring and undo copy, if they are files in memory (tmpfs). 0: they are
  // on a disk or a device.
  uint64_t files = 0;
  // The part of `files` that is allocated already. The kernel charges a page of
  // a file in memory to the cgroup of the process that touched it first, which
  // may be another one: a former container's, or an operator's shell.
  uint64_t allocated = 0;
  uint64_t process = 0;
  // Additional memory for open snapshots.
  uint64_t snapshots = 0;
};

// The limit of one cgroup, as the kernel's files have it.
struct MemoryLimit {
  static constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();

  uint64_t bytes = 0;  // of memory and swap space together
  std::string file;    // the file that states it
  // Bytes charged to the cgroup and those below it for files in memory, of any
  // process, and for swap space. Allocated files of the node count against the
  // limit only up to this amount, since only these may be charged here; the
  // rest is charged to other cgroups.
  uint64_t charged = kUnknown;
};

// The bytes of `need` that count against this limit, without snapshots.
uint64_t CountedAgainst(const MemoryLimit& limit, const MemoryNeed& need);

// The limit that leaves the least room for `need`, among those of this
// process's cgroup and of the cgroups above it, versions 1 and 2. nullopt:
// there is none, or its file cannot be read. `root`: a test's folder, or /.
std::optional<MemoryLimit> ReadMemoryLimit(const MemoryNeed& need,
                                           const std::string& root = "/");

// Looks at the files of --data_dir for MemoryNeed::allocated.
MemoryNeed NeedOf(const NodeFlags& flags);
// `in_memory`: whether --data_dir is on a file system in memory.
MemoryNeed NeedOf(const NodeFlags& flags, bool in_memory);

// kInvalidArgument, "--flag why": the kernel would kill a node with this need.
absl::Status CheckMemory(const NodeFlags& flags, const MemoryNeed& need,
                         const std::optional<MemoryLimit>& limit);

// A warning if more than nine tenths of the limit may be needed; else "".
std::string MemoryWarning(const MemoryNeed& need,
                          const std::optional<MemoryLimit>& limit);

}  // namespace kamino::node

#endif  // KAMINO_NODE_MEMORY_LIMIT_H_
