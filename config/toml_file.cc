#include "config/toml_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::config {
namespace {

constexpr size_t kMaxDots = 32;  // of one line

absl::StatusOr<std::string> ReadBytes(const std::string& path) {
  const auto bad = [&path](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
  };
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    return bad(absl::StrCat("the configuration file cannot be read: ",
                            strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) {
    return bad("is a folder, not a configuration file");
  }
  // A pipe would be waited on, perhaps for ever, and is empty at the next read.
  if (!S_ISREG(info.st_mode)) return bad("is no regular file");
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kMaxConfigBytes + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.is_open() || file.bad()) {
    return bad("the configuration file cannot be read");
  }
  bytes.resize(static_cast<size_t>(file.gcount()));
  if (bytes.size() > kMaxConfigBytes) {
    return bad(absl::StrCat("has over ", kMaxConfigBytes,
                            " bytes, which no configuration file needs"));
  }
  return bytes;
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

absl::StatusOr<toml::table> ReadToml(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadBytes(path));
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
