// Reads a configuration file as a TOML table.
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

// kInvalidArgument, with the file's name, and the line if known: the file does
// not exist; is not a regular file (a pipe can be read only once, and a program
// reads its configuration again); is too large; or is not TOML.
absl::StatusOr<toml::table> ReadToml(const std::string& path);

// kInvalidArgument, "path:line: why", with the line of `where`.
absl::Status BadValue(const std::string& path, const toml::source_region& where,
                      absl::string_view why);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_TOML_FILE_H_
