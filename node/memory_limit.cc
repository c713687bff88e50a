#include "node/memory_limit.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "engine/kamino/undo_copy.h"
#include "node/storage/file_media.h"
#include "node/storage/media.h"
#include "replica/state/local_undo.h"
#include "server/server_program.h"

namespace kamino::node {
namespace {

constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();
// Version 1 writes "no limit" as the largest number of whole pages.
constexpr uint64_t kLeastNone = uint64_t{1} << 62;
// A node's memory for threads and program data, without clients.
constexpr uint64_t kProcessBytes = 32u << 20;
constexpr uint64_t kTenths = 10;
constexpr uint64_t kTenthsWithoutWarning = 9;

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// kNone: "max", a number that stands for it, or an unreadable file.
uint64_t ReadBytes(const std::string& path) {
  uint64_t bytes = 0;
  if (!absl::SimpleAtoi(ReadText(path), &bytes)) return kNone;
  return bytes >= kLeastNone ? kNone : bytes;
}

uint64_t SwapTotal(const std::string& root) {
  for (absl::string_view line :
       absl::StrSplit(ReadText(absl::StrCat(root, "proc/meminfo")), '\n')) {
    uint64_t kib = 0;
    if (absl::ConsumePrefix(&line, "SwapTotal:") &&
        absl::ConsumeSuffix(&line, "kB") && absl::SimpleAtoi(line, &kib)) {
      return kib << 10;
    }
  }
  return 0;
}

// "/a/b" gives "/a/b", "/a" and "". Some of these may not exist: a container
// may see only its own cgroup, as the root, while /proc names the path on the
// machine.
std::vector<std::string> WithAncestors(std::string path) {
  std::vector<std::string> all;
  while (!path.empty() && path != "/") {
    all.push_back(path);
    path.resize(path.rfind('/'));
  }
  all.emplace_back();
  return all;
}

struct Hierarchy {
  std::string path;  // of the process's cgroup
  bool first_version;
};

// Lines of /proc/self/cgroup: "number:controllers:path"; version 2 names no
// controllers.
std::vector<Hierarchy> Hierarchies(const std::string& root) {
  std::vector<Hierarchy> found;
  for (absl::string_view line :
       absl::StrSplit(ReadText(absl::StrCat(root, "proc/self/cgroup")), '\n')) {
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || !absl::StartsWith(parts[2], "/")) continue;
    if (parts[1].empty()) {
      found.push_back({parts[2], false});
    } else if (absl::StrContains(absl::StrCat(",", parts[1], ","),
                                 ",memory,")) {
      found.push_back({parts[2], true});
    }
  }
  return found;
}

uint64_t Sum(uint64_t a, uint64_t b) { return a > kNone - b ? kNone : a + b; }

// The number in the line "name number" of a file. kNone: there is no such line.
uint64_t ReadStat(const std::string& path, absl::string_view name) {
  const std::string text = ReadText(path);
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    uint64_t bytes = 0;
    if (absl::ConsumePrefix(&line, name) && absl::ConsumePrefix(&line, " ") &&
        absl::SimpleAtoi(line, &bytes)) {
      return bytes;
    }
  }
  return kNone;
}

MemoryLimit OfCgroup(const std::string& folder, bool first_version,
                     uint64_t swap) {
  MemoryLimit limit;
  if (first_version) {
    limit.file = absl::StrCat(folder, "/memory.limit_in_bytes");
    limit.bytes = std::min(
        Sum(ReadBytes(limit.file), swap),
        ReadBytes(absl::StrCat(folder, "/memory.memsw.limit_in_bytes")));
    const std::string stat = absl::StrCat(folder, "/memory.stat");
    limit.charged =
        Sum(ReadStat(stat, "total_shmem"), ReadStat(stat, "total_swap"));
  } else {
    limit.file = absl::StrCat(folder, "/memory.max");
    limit.bytes = Sum(
        ReadBytes(limit.file),
        std::min(swap, ReadBytes(absl::StrCat(folder, "/memory.swap.max"))));
    const uint64_t swapped =
        swap == 0 ? 0 : ReadBytes(absl::StrCat(folder, "/memory.swap.current"));
    limit.charged =
        Sum(ReadStat(absl::StrCat(folder, "/memory.stat"), "shmem"), swapped);
  }
  return limit;
}

// Whether the folder, or its nearest existing ancestor, is on such a file
// system.
bool IsInMemory(const std::string& folder) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(folder, error);
  struct statfs status = {};
  while (statfs(path.c_str(), &status) != 0) {
    if (!path.has_relative_path()) return false;
    path = path.parent_path();
  }
  const auto type = static_cast<uint64_t>(status.f_type);
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
}

// The value that Storage::undo_copy_bytes returns in a running node.
uint64_t UndoCopyBytes(const StorageOptions& options) {
  switch (options.undo_copy) {
    case UndoCopyKind::kSimple:
      return engine::SimpleUndoCopyBytes(options.heap_bytes);
    case UndoCopyKind::kDynamic:
      return engine::DynamicUndoCopyBytes(options.heap_bytes, options.alpha);
    case UndoCopyKind::kLog:
      return engine::LogUndoCopyBytes(
          replica::UndoLogBytes(options.ring_bytes));
  }
  return 0;
}

// How many bytes of the file are allocated; 0 if its size is not `bytes`, since
// the node then replaces it.
uint64_t Allocated(const NodeFlags& flags, Media::Part part, uint64_t bytes) {
  struct stat status = {};
  const std::string path =
      absl::StrCat(flags.data_dir, "/", FileMedia::FileName(part));
  if (stat(path.c_str(), &status) != 0) return 0;
  if (static_cast<uint64_t>(status.st_size) != bytes) return 0;
  constexpr uint64_t kBlock = 512;  // of st_blocks, on any file system
  return std::min(bytes, static_cast<uint64_t>(status.st_blocks) * kBlock);
}

std::string Mib(uint64_t bytes) {
  return absl::StrCat((bytes + (1u << 20) - 1) >> 20, " MiB");
}

std::string Told(const MemoryNeed& need, const MemoryLimit& limit) {
  if (need.files == 0) {
    return absl::StrCat("the process needs ", Mib(need.process));
  }
  const uint64_t counted = CountedAgainst(limit, need) - need.process;
  return absl::StrCat(
      "heap, ring and undo copy need ", Mib(counted),
      counted < need.files
          ? absl::StrCat(" beyond ", Mib(need.files - counted),
                         " that another cgroup is charged with")
          : "",
      ", since --data_dir is on a file system in memory, and the process ",
      Mib(need.process));
}

}  // namespace

uint64_t CountedAgainst(const MemoryLimit& limit, const MemoryNeed& need) {
  return need.process + need.files - need.allocated +
         std::min(need.allocated, limit.charged);
}

std::optional<MemoryLimit> ReadMemoryLimit(const MemoryNeed& need,
                                           const std::string& root) {
  std::optional<MemoryLimit> tightest;
  // By how much a need exceeds the limit, or stays below it.
  const auto excess = [&need](const MemoryLimit& limit) {
    return static_cast<double>(CountedAgainst(limit, need)) -
           static_cast<double>(limit.bytes);
  };
  const uint64_t swap = SwapTotal(root);
  for (const Hierarchy& hierarchy : Hierarchies(root)) {
    const std::string mounted = absl::StrCat(
        root, "sys/fs/cgroup", hierarchy.first_version ? "/memory" : "");
    for (const std::string& path : WithAncestors(hierarchy.path)) {
      MemoryLimit limit =
          OfCgroup(absl::StrCat(mounted, path), hierarchy.first_version, swap);
      if (limit.bytes == kNone) continue;
      if (!tightest.has_value() || excess(limit) > excess(*tightest)) {
        tightest = std::move(limit);
      }
    }
  }
  return tightest;
}

MemoryNeed NeedOf(const NodeFlags& flags, bool in_memory) {
  MemoryNeed need;
  need.process = kProcessBytes;
  need.snapshots = flags.snapshot_mb << 20;
  if (!in_memory || !flags.device.empty()) return need;
  const std::pair<Media::Part, uint64_t> parts[] = {
      {Media::Part::kHeap, flags.storage.heap_bytes},
      {Media::Part::kRing, flags.storage.ring_bytes},
      {Media::Part::kUndoCopy, UndoCopyBytes(flags.storage)},
  };
  for (const auto& [part, bytes] : parts) {
    need.files += bytes;
    need.allocated += Allocated(flags, part, bytes);
  }
  return need;
}

MemoryNeed NeedOf(const NodeFlags& flags) {
  return NeedOf(flags, IsInMemory(flags.data_dir));
}

absl::Status CheckMemory(const NodeFlags& flags, const MemoryNeed& need,
                         const std::optional<MemoryLimit>& limit) {
  if (!limit.has_value()) return absl::OkStatus();
  const uint64_t bytes = CountedAgainst(*limit, need);
  if (bytes <= limit->bytes) return absl::OkStatus();
  const uint64_t enough =
      (bytes + need.snapshots) / kTenthsWithoutWarning * kTenths;
  const std::string remedy =
      absl::StrCat("raise the limit to at least ", Mib(enough));
  if (need.files == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the memory limit of this process, ", Mib(limit->bytes), " (",
        limit->file, "), is too low: ", Told(need, *limit), "; ", remedy));
  }
  return server::BadFlag(
      "heap_mb",
      absl::StrCat("is ", flags.storage.heap_bytes >> 20,
                   " and does not fit the memory limit of this process, ",
                   Mib(limit->bytes), " (", limit->file,
                   "): ", Told(need, *limit), "; ", remedy,
                   ", lower --heap_mb, --ring_mb or --alpha, or put "
                   "--data_dir on a disk"));
}

std::string MemoryWarning(const MemoryNeed& need,
                          const std::optional<MemoryLimit>& limit) {
  if (!limit.has_value()) return "";
  const uint64_t bytes = CountedAgainst(*limit, need) + need.snapshots;
  if (bytes <= limit->bytes / kTenths * kTenthsWithoutWarning) return "";
  return absl::StrCat(
      "this node may need more than nine tenths of the memory limit of its "
      "process, ",
      Mib(limit->bytes), " (", limit->file, "): ", Told(need, *limit),
      ", and open snapshots up to ", Mib(need.snapshots),
      "; the kernel kills a process beyond the limit: raise it to at least ",
      Mib(bytes / kTenthsWithoutWarning * kTenths), " or lower --snapshot_mb");
}

}  // namespace kamino::node
