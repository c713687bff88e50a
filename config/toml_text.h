// How a text is written in TOML.
#ifndef KAMINO_CONFIG_TOML_TEXT_H_
#define KAMINO_CONFIG_TOML_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace kamino::config {

// `text`, which is UTF-8, between quotes, on one line.
std::string TomlText(absl::string_view text);

// The same as a key: without quotes where it needs none.
std::string TomlKey(absl::string_view text);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_TOML_TEXT_H_
