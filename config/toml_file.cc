#include "config/toml_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::config {
namespace {

constexpr size_t kMaxDots = 32;  // in one line

absl::Status Bad(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
}

absl::Status CannotRead(const std::string& path) {
  return Bad(path, absl::StrCat("the configuration file cannot be read: ",
                                strerror(errno)));
}

absl::StatusOr<std::string> ReadToEnd(int file, const std::string& path) {
  std::string bytes(kMaxConfigBytes + 1, '\0');
  size_t length = 0;
  while (length < bytes.size()) {
    const ssize_t got =
        read(file, bytes.data() + length, bytes.size() - length);
    if (got == 0) break;
    if (got < 0 && errno != EINTR) return CannotRead(path);
    if (got > 0) length += static_cast<size_t>(got);
  }
  if (length > kMaxConfigBytes) {
    return Bad(path, absl::StrCat("has over ", kMaxConfigBytes,
                                  " bytes, which no configuration file needs"));
  }
  bytes.resize(length);
  return bytes;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  // O_NONBLOCK: does not block if a pipe has replaced the file meanwhile.
  const int file =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file < 0) return CannotRead(path);
  auto bytes = ReadToEnd(file, path);
  close(file);
  return bytes;
}

absl::StatusOr<std::string> ReadRegularFile(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return CannotRead(path);
  if (S_ISDIR(info.st_mode)) {
    return Bad(path, "is a folder, not a configuration file");
  }
  if (S_ISREG(info.st_mode)) return ReadFile(path);
  return Bad(path, "is no regular file");
}

// The end of a TOML string that begins with a quote at `at`.
size_t EndOfText(absl::string_view bytes, size_t at) {
  const char quote = bytes[at];
  const std::string three(3, quote);
  if (absl::StartsWith(bytes.substr(at), three)) {
    for (size_t i = at + 3; i < bytes.size(); ++i) {
      if (quote == '"' && bytes[i] == '\\') {
        ++i;
      } else if (absl::StartsWith(bytes.substr(i), three)) {
        // It may itself end with one or two quotes.
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

// toml++ recurses for each part of a.b.c, without a limit. Returns the first
// line, from 1, with more dots than any key needs, outside of strings and
// comments;
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

absl::StatusOr<toml::table> ReadToml(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadRegularFile(path));
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
// none.
