#include "bench/engine/text.h"

#include "absl/strings/str_cat.h"

namespace kamino::bench {

std::string CellTitle(const Cell& cell) {
  std::string title = absl::StrCat(cell.workload, " ", cell.distribution);
  if (cell.value_size > 0) absl::StrAppend(&title, " ", cell.value_size, " B");
  absl::StrAppend(&title, " x", cell.threads);
  if (cell.drain_ns > 0) absl::StrAppend(&title, " +", cell.drain_ns, " ns");
  return title;
}

}  // namespace kamino::bench
