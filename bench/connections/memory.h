// Memory and descriptors of a process, and memory of the kernel.
#ifndef KAMINO_BENCH_CONNECTIONS_MEMORY_H_
#define KAMINO_BENCH_CONNECTIONS_MEMORY_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kamino::bench::connections {

// Bytes that are resident.
struct Memory {
  int64_t own = 0;     // anonymous and private: what the process has allocated
  int64_t shared = 0;  // of memory files, as rings and heaps on tmpfs are
};

// `status` is the text of /proc/PID/status.
absl::StatusOr<Memory> ParseMemory(absl::string_view status);
// kNotFound: it has ended.
absl::StatusOr<Memory> ReadMemory(pid_t pid);

// Bytes that the kernel uses for itself on behalf of all processes: sockets,
// descriptors, and more. `meminfo` is the text of /proc/meminfo.
absl::StatusOr<int64_t> ParseKernelMemory(absl::string_view meminfo);
absl::StatusOr<int64_t> ReadKernelMemory();

// How many descriptors the process may have, of the text of /proc/PID/limits.
absl::StatusOr<int64_t> ParseDescriptors(absl::string_view limits);
// Checks that `pid`, which is `role`, may have `wanted` descriptors; 0 is this
// process, which raises its soft limit. kFailedPrecondition: it may not; the
// message says what to do.
absl::Status CheckDescriptors(pid_t pid, const std::string& role,
                              int64_t wanted);

}  // namespace kamino::bench::connections

#endif  // KAMINO_BENCH_CONNECTIONS_MEMORY_H_
