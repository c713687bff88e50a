// A configuration file as a table, for those who know its keys.
#ifndef KAMINO_CONFIG_TOML_FILE_H_
#define KAMINO_CONFIG_TOML_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "toml++/toml.h"

namespace kamino::config {

inline constexpr size_t kMaxConfigBytes = 1u << 20;

// What becomes of a path that is no regular file: a pipe (FIFO, /dev/fd/N) or a
// character device.
enum class Pipes {
  // It is an error. For those who read their file again: a pipe has it once.
  kAreRefused,
  // The first call reads it to its end, and later ones get the same again, for
  // as long as the process runs. A pipe that is not written and closed in time
  // is an error.
  kAreReadOnce,
};
inline constexpr absl::Duration kPipePatience = absl::Minutes(1);

// kInvalidArgument, with the file's name, and the line where there is one: it
// is not there, is no regular file and may not be another one, is too large or
// is no TOML.
absl::StatusOr<toml::table> ReadToml(const std::string& path,
                                     Pipes pipes = Pipes::kAreRefused,
                                     absl::Duration patience = kPipePatience);

// kInvalidArgument: "path:line: why", of where `node` stands.
absl::Status BadValue(const std::string& path, const toml::source_region& where,
                      absl::string_view why);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_TOML_FILE_H_
