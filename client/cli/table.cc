#include "client/cli/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace kamino::client {

std::string FormatTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&line, row[i]);
      if (i + 1 < row.size()) line.append(widths[i] + 2 - row[i].size(), ' ');
    }
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string FormatBytes(uint64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  if (bytes < 1024 * 1024) return absl::StrFormat("%.1f KiB", bytes / 1024.0);
  if (bytes < uint64_t{1} << 30) {
    return absl::StrFormat("%.1f MiB", bytes / 1048576.0);
  }
  return absl::StrFormat("%.1f GiB", bytes / 1073741824.0);
}

std::string DivergenceOf(const std::string& node_id, uint64_t disputed) {
  if (disputed == 0) return "";
  return absl::StrCat(
      "the result of mutation ", disputed, " at ", node_id,
      " differs from the head's; if that lasts, see docs/design/recovery.md, "
      "Divergence\n");
}

}  // namespace kamino::client
