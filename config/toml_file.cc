#include "config/toml_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::config {
namespace {

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

}  // namespace

absl::StatusOr<toml::table> ReadToml(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadBytes(path));
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
