#include "config/toml_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace kamino::config {
namespace {

constexpr size_t kMaxDots = 32;  // of one line

absl::Status Bad(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
}

absl::Status CannotRead(const std::string& path) {
  return Bad(path, absl::StrCat("the configuration file cannot be read: ",
                                strerror(errno)));
}

// Until there is something to read, or the last writer has closed its end; a
// pipe that was not opened by a writer yet has neither.
absl::Status AwaitWriter(int file, const std::string& path, absl::Time end) {
  for (;;) {
    const absl::Duration left = end - MonotonicNow();
    if (left <= absl::ZeroDuration()) {
      return Bad(path, "was not written and closed in time");
    }
    pollfd wait = {file, POLLIN, 0};
    const int ready =
        poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return CannotRead(path);
  }
}

absl::StatusOr<std::string> ReadToEnd(int file, const std::string& path,
                                      bool is_pipe, absl::Duration patience) {
  const absl::Time end = MonotonicNow() + patience;
  std::string bytes(kMaxConfigBytes + 1, '\0');
  size_t length = 0;
  while (length < bytes.size()) {
    if (is_pipe) RETURN_IF_ERROR(AwaitWriter(file, path, end));
    const ssize_t got =
        read(file, bytes.data() + length, bytes.size() - length);
    if (got == 0) break;
    if (got < 0 && errno != EINTR && errno != EAGAIN) return CannotRead(path);
    if (got > 0) length += static_cast<size_t>(got);
  }
  if (length > kMaxConfigBytes) {
    return Bad(path, absl::StrCat("has over ", kMaxConfigBytes,
                                  " bytes, which no configuration file needs"));
  }
  bytes.resize(length);
  return bytes;
}

absl::StatusOr<std::string> ReadFile(const std::string& path, bool is_pipe,
                                     absl::Duration patience) {
  // A pipe without a writer would not be opened until there is one.
  const int file =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file < 0) return CannotRead(path);
  auto bytes = ReadToEnd(file, path, is_pipe, patience);
  close(file);
  return bytes;
}

// By path; never freed.
absl::StatusOr<std::string> ReadPipeOnce(const std::string& path,
                                         absl::Duration patience) {
  static auto* mutex = new absl::Mutex;
  static auto* read = new std::map<std::string, std::string>;
  absl::MutexLock lock(mutex);
  if (const auto found = read->find(path); found != read->end()) {
    return found->second;
  }
  ASSIGN_OR_RETURN(std::string bytes,
                   ReadFile(path, /*is_pipe=*/true, patience));
  (*read)[path] = bytes;
  return bytes;
}

absl::StatusOr<std::string> ReadBytes(const std::string& path, Pipes pipes,
                                      absl::Duration patience) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return CannotRead(path);
  if (S_ISDIR(info.st_mode)) {
    return Bad(path, "is a folder, not a configuration file");
  }
  if (S_ISREG(info.st_mode)) {
    return ReadFile(path, /*is_pipe=*/false, patience);
  }
  if (pipes == Pipes::kAreReadOnce &&
      (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode))) {
    return ReadPipeOnce(path, patience);
  }
  return Bad(path, "is no regular file");
}

// Where a text of TOML ends that begins at `at`, with a quote.
size_t EndOfText(absl::string_view bytes, size_t at) {
  const char quote = bytes[at];
  const std::string three(3, quote);
  if (absl::StartsWith(bytes.substr(at), three)) {
    for (size_t i = at + 3; i < bytes.size(); ++i) {
      if (quote == '"' && bytes[i] == '\\') {
        ++i;
      } else if (absl::StartsWith(bytes.substr(i), three)) {
        // It may itself end with one or two.
        size_t end = i + 3;
        while (end < std::min(i + 5, bytes.size()) && bytes[end] == quote) {
          ++end;
        }
        return end;
      }
    }
    return bytes.size();
  }
  for (size_t i = at + 1; i < bytes.size() && bytes[i] != '\n'; ++i) {
    if (quote == '"' && bytes[i] == '\\') {
      ++i;
    } else if (bytes[i] == quote) {
      return i + 1;
    }
  }
  return std::min(bytes.find('\n', at), bytes.size());
}

// Each part of a.b.c is a table in a table, and toml++ calls itself for each of
// them, however many there are. Returns the first line, from 1, that has more
// dots than any key needs, outside of texts and comments; 0: none has.
size_t LineOfDots(absl::string_view bytes) {
  size_t line = 1;
  size_t dots = 0;
  for (size_t i = 0; i < bytes.size();) {
    const char c = bytes[i];
    if (c == '"' || c == '\'') {
      const size_t end = EndOfText(bytes, i);
      line += std::count(bytes.begin() + i, bytes.begin() + end, '\n');
      i = end;
      continue;
    }
    if (c == '#') {
      i = std::min(bytes.find('\n', i), bytes.size());
      continue;
    }
    if (c == '.' && ++dots > kMaxDots) return line;
    if (c == '\n') {
      ++line;
      dots = 0;
    }
    ++i;
  }
  return 0;
}

}  // namespace

absl::StatusOr<toml::table> ReadToml(const std::string& path, Pipes pipes,
                                     absl::Duration patience) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadBytes(path, pipes, patience));
  if (const size_t line = LineOfDots(bytes); line > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", line, ": has more than ", kMaxDots,
                     " dots outside of texts; no key has that many parts"));
  }
  try {
    return toml::parse(bytes);
  } catch (const toml::parse_error& error) {
    return BadValue(path, error.source(), std::string(error.description()));
  }
}

absl::Status BadValue(const std::string& path, const toml::source_region& where,
                      absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ":", uint64_t{where.begin.line}, ": ", why));
}

}  // namespace kamino::config
