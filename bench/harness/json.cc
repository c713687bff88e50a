#include "bench/harness/json.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace kamino::bench {

std::string Quote(absl::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(static_cast<unsigned char>(c) < ' ' ? ' ' : c);
  }
  quoted.push_back('"');
  return quoted;
}

std::string Number(const std::optional<double>& value) {
  return value.has_value() ? absl::StrFormat("%.6g", *value) : "null";
}

std::string ToJson(const Facts& facts) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : facts) {
    lines.push_back(absl::StrCat("  ", Quote(name), ": ", Quote(value)));
  }
  return absl::StrCat("{\n", absl::StrJoin(lines, ",\n"), "\n}");
}

std::string OpenResults(absl::string_view bench, const Facts& facts) {
  return absl::StrCat("{\"bench\": ", Quote(bench),
                      ",\n\"facts\": ", ToJson(facts));
}

}  // namespace kamino::bench
