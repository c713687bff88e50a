#include "config/example.h"

#include <vector>

#include "absl/flags/reflection.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/own_flags.h"
#include "config/toml_text.h"

namespace kamino::config {
namespace {

constexpr size_t kWidth = 78;

std::string Comment(const std::string& text) {
  std::string lines = "#";
  size_t width = lines.size();
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (width + 1 + word.size() > kWidth) {
      absl::StrAppend(&lines, "\n#");
      width = 1;
    }
    absl::StrAppend(&lines, " ", word);
    width += 1 + word.size();
  }
  return absl::StrCat(lines, "\n");
}

std::string ValueOf(const absl::CommandLineFlag& flag,
                    const std::string& text) {
  if (KindOf(flag) == ValueKind::kText) return TomlText(text);
  // TOML reads 0 as an integer, but a floating-point flag accepts it.
  return text;
}

}  // namespace

std::string ExampleSection(const std::string& program,
                           const std::map<std::string, std::string>& values) {
  std::string text = absl::StrCat("[", program, "]\n");
  const auto flags = OwnFlags();
  // Required settings come first.
  for (const bool given : {true, false}) {
    for (const auto& [name, flag] : flags) {
      const auto value = values.find(name);
      if ((value != values.end()) != given) continue;
      const std::string shown = given ? value->second : flag->DefaultValue();
      absl::StrAppend(&text, "\n", Comment(flag->Help()), given ? "" : "#",
                      name, " = ", ValueOf(*flag, shown), "\n");
    }
  }
  return text;
}

}  // namespace kamino::config
