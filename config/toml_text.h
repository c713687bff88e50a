// Formats text as TOML.
#ifndef KAMINO_CONFIG_TOML_TEXT_H_
#define KAMINO_CONFIG_TOML_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace kamino::config {

// Quotes `text`, which must be UTF-8, on one line.
std::string TomlText(absl::string_view text);

// The same for a key: quoted only if necessary.
std::string TomlKey(absl::string_view text);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_TOML_TEXT_H_
