#include "bench/connections/memory.h"

#include <sys/resource.h>

#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace kamino::bench::connections {
namespace {

constexpr size_t kSoftLimit = 3;  // "Max open files 1024 4096 files"

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) {
    return absl::NotFoundError(absl::StrCat("cannot read ", path));
  }
  return text.str();
}

// The words of the line that begins so; empty: there is none.
std::vector<absl::string_view> WordsOf(absl::string_view text,
                                       absl::string_view begin) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, begin)) continue;
    return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  }
  return {};
}

// "Name:  12 kB", as bytes.
absl::StatusOr<int64_t> BytesOf(absl::string_view text,
                                absl::string_view name) {
  const auto words = WordsOf(text, name);
  int64_t kilobytes;
  if (words.size() != 3 || words[2] != "kB" ||
      !absl::SimpleAtoi(words[1], &kilobytes)) {
    return absl::InternalError(absl::StrCat("/proc has no ", name));
  }
  return kilobytes << 10;
}

}  // namespace

absl::StatusOr<Memory> ParseMemory(absl::string_view status) {
  Memory memory;
  ASSIGN_OR_RETURN(memory.own, BytesOf(status, "RssAnon:"));
  ASSIGN_OR_RETURN(memory.shared, BytesOf(status, "RssShmem:"));
  return memory;
}

absl::StatusOr<Memory> ReadMemory(pid_t pid) {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadFile(absl::StrCat("/proc/", pid, "/status")));
  return ParseMemory(text);
}

absl::StatusOr<int64_t> ParseKernelMemory(absl::string_view meminfo) {
  return BytesOf(meminfo, "Slab:");
}

absl::StatusOr<int64_t> ReadKernelMemory() {
  ASSIGN_OR_RETURN(const std::string text, ReadFile("/proc/meminfo"));
  return ParseKernelMemory(text);
}

absl::StatusOr<int64_t> ParseDescriptors(absl::string_view limits) {
  const auto words = WordsOf(limits, "Max open files");
  int64_t limit;
  if (words.size() <= kSoftLimit) {
    return absl::InternalError("/proc tells no limit of open files");
  }
  if (words[kSoftLimit] == "unlimited") {
    return std::numeric_limits<int64_t>::max();
  }
  if (!absl::SimpleAtoi(words[kSoftLimit], &limit)) {
    return absl::InternalError("/proc tells no limit of open files");
  }
  return limit;
}

absl::Status CheckDescriptors(pid_t pid, const std::string& role,
                              int64_t wanted) {
  if (pid == 0) {
    rlimit limit = {};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  const std::string who = pid == 0 ? "self" : absl::StrCat(pid);
  ASSIGN_OR_RETURN(const std::string text,
                   ReadFile(absl::StrCat("/proc/", who, "/limits")));
  ASSIGN_OR_RETURN(const int64_t limit, ParseDescriptors(text));
  if (limit >= wanted) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      role, " may have ", limit, " descriptors open, and ", wanted,
      " are needed; allow more (ulimit -Hn, systemd: LimitNOFILE=), or ask "
      "for fewer connections"));
}

}  // namespace kamino::bench::connections
