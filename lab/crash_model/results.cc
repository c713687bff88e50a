#include "lab/crash_model/results.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace kamino::bench::crash_model {
namespace {

using Fields = std::vector<std::pair<const char*, uint64_t>>;

Fields FieldsOf(const CrashRow& row) {
  const CrashCounts& counts = row.counts;
  return {
      {"crashes", row.crashes},
      {"transactions", row.transactions},
      {"matrices", row.matrices},
      {"skipped_lines", row.crashes == 0 ? 0 : row.skipped_lines / row.crashes},
      {"inconsistent", counts.inconsistent},
      {"found", counts.found},
      {"repaired", counts.repaired},
      {"lost", counts.lost},
      {"lost_needlessly", counts.lost_needlessly},
      {"wrong", counts.wrong},
      {"repaired_lines", counts.repaired_lines}};
}

}  // namespace

std::string ToJson(const Facts& facts, const std::vector<QueueRow>& rows) {
  std::string text =
      absl::StrCat(OpenResults("crash_model", facts), ",\n\"rows\": [");
  for (size_t i = 0; i < rows.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "\n" : ",\n",
                    "{\"workload\": ", Quote(rows[i].row.workload),
                    ", \"queue\": ", rows[i].queue);
    for (const auto& [name, value] : FieldsOf(rows[i].row)) {
      absl::StrAppend(&text, ", \"", name, "\": ", value);
    }
    absl::StrAppend(&text, "}");
  }
  absl::StrAppend(&text, "\n]\n}\n");
  return text;
}

std::string ToTable(const std::vector<QueueRow>& rows) {
  if (rows.empty()) return "";
  std::string text = absl::StrFormat("%-8s %6s", "", "queue");
  for (const auto& [name, unused] : FieldsOf(rows[0].row)) {
    absl::StrAppendFormat(&text, " %15s", name);
  }
  absl::StrAppend(&text, "\n");
  for (const QueueRow& row : rows) {
    absl::StrAppendFormat(&text, "%-8s %6g", row.row.workload, row.queue);
    for (const auto& [unused, value] : FieldsOf(row.row)) {
      absl::StrAppendFormat(&text, " %15d", value);
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace kamino::bench::crash_model
