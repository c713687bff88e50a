// A configuration file as a table, for those who know its keys.
#ifndef KAMINO_CONFIG_TOML_FILE_H_
#define KAMINO_CONFIG_TOML_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "toml++/toml.h"

namespace kamino::config {

inline constexpr size_t kMaxConfigBytes = 1u << 20;

// kInvalidArgument, with the file's name, and the line where there is one: the
// file is not there, is no regular file (a pipe has its bytes once, and a
// program reads its file again), is too large or is no TOML.
absl::StatusOr<toml::table> ReadToml(const std::string& path);

// kInvalidArgument: "path:line: why", of where `node` stands.
absl::Status BadValue(const std::string& path, const toml::source_region& where,
                      absl::string_view why);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_TOML_FILE_H_
