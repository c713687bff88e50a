#include "bench/harness/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace kamino::bench {

std::string Render(const Grid& grid) {
  std::vector<size_t> widths;
  for (const auto& line : grid) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string text;
  for (const auto& line : grid) {
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string space(widths[i] - line[i].size(), ' ');
      absl::StrAppend(&text, i == 0 ? "" : "  ", i == 0 ? line[i] : space,
                      i == 0 ? space : line[i]);
    }
    text.push_back('\n');
  }
  return text;
}

}  // namespace kamino::bench
