#include "bench/engine/results.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/engine/statistics.h"

namespace kamino::bench {
namespace {

// What ratios are given against, where it took part.
constexpr const char* kReferences[] = {"kamino-simple", "undo-object"};

// Ours, without what JSON would not take as it is.
std::string Quote(absl::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(static_cast<unsigned char>(c) < ' ' ? ' ' : c);
  }
  quoted.push_back('"');
  return quoted;
}

std::string Number(const absl::optional<double>& value) {
  return value.has_value() ? absl::StrFormat("%.6g", *value) : "null";
}

std::string RowJson(const Row& row, const std::vector<Row>& rows) {
  std::vector<std::string> kinds;
  for (const KindLatency& kind : row.kinds) {
    kinds.push_back(absl::StrFormat("%s: {\"p50_ns\": %.1f, \"p99_ns\": %.1f}",
                                    Quote(kind.kind), kind.p50_ns,
                                    kind.p99_ns));
  }
  std::vector<std::string> ratios;
  for (const char* reference : kReferences) {
    ratios.push_back(absl::StrCat(Quote(reference), ": ",
                                  Number(RatioTo(row, reference, rows))));
  }
  const std::vector<std::string> fields = {
      absl::StrCat("\"suite\": ", Quote(row.suite)),
      absl::StrCat("\"scheme\": ", Quote(row.store.scheme)),
      absl::StrCat("\"alpha\": ", Number(row.store.alpha)),
      absl::StrCat("\"workload\": ", Quote(row.cell.workload)),
      absl::StrCat("\"distribution\": ", Quote(row.cell.distribution)),
      absl::StrCat("\"threads\": ", row.cell.threads),
      absl::StrCat("\"value_size\": ", row.cell.value_size),
      absl::StrFormat("\"ops_per_s\": %.1f", Throughput(row)),
      absl::StrFormat("\"p50_ns\": %.1f", row.p50_ns),
      absl::StrFormat("\"p99_ns\": %.1f", row.p99_ns),
      absl::StrCat("\"fences_per_tx\": ", Number(row.fences_per_tx)),
      absl::StrCat("\"lines_flushed_per_tx\": ", Number(row.lines_per_tx)),
      absl::StrCat("\"bytes_storage\": ", row.bytes_storage),
      absl::StrCat("\"hit_rate\": ", Number(row.hit_rate)),
      absl::StrCat("\"retries_per_tx\": ", Number(row.retries_per_tx)),
      absl::StrFormat("\"spread\": %.4f", Spread(row.rounds)),
      absl::StrCat("\"rounds\": [",
                   absl::StrJoin(row.rounds, ", ",
                                 [](std::string* out, double round) {
                                   absl::StrAppendFormat(out, "%.1f", round);
                                 }),
                   "]"),
      absl::StrCat("\"ratio_to\": {", absl::StrJoin(ratios, ", "), "}"),
      absl::StrCat("\"kinds\": {", absl::StrJoin(kinds, ", "), "}"),
  };
  return absl::StrCat("{", absl::StrJoin(fields, ", "), "}");
}

// A table as lines of text; the first row is the head.
using Grid = std::vector<std::vector<std::string>>;

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
      // Names to the left, numbers to the right.
      absl::StrAppend(&text, i == 0 ? "" : "  ", i == 0 ? line[i] : space,
                      i == 0 ? space : line[i]);
    }
    text.push_back('\n');
  }
  return text;
}

std::string CellTitle(const Cell& cell) {
  std::string title = absl::StrCat(cell.workload, " ", cell.distribution);
  if (cell.value_size > 0) absl::StrAppend(&title, " ", cell.value_size, " B");
  return absl::StrCat(title, " x", cell.threads);
}

std::string Thousands(const Row& row) {
  return absl::StrFormat("%.1f ~%.0f%%", Throughput(row) / 1000,
                         100 * Spread(row.rounds));
}

std::string Latency(const Row& row) {
  return absl::StrFormat("%.0f/%.0f", row.p50_ns, row.p99_ns);
}

std::string Flushes(const Row& row) {
  if (!row.fences_per_tx.has_value()) return "-";
  return absl::StrFormat("%.2f/%.1f", *row.fences_per_tx, *row.lines_per_tx);
}

std::string Storage(const Row& row) {
  std::string text =
      absl::StrFormat("%.1f", static_cast<double>(row.bytes_storage) / 1048576);
  if (row.hit_rate.has_value()) {
    absl::StrAppendFormat(&text, " %.2f%%", 100 * *row.hit_rate);
  }
  return text;
}

struct View {
  const char* title;
  std::string (*show)(const Row&);
  bool ratios;
};

constexpr View kViews[] = {
    {"thousand transactions per second, ~spread of the rounds", Thousands,
     true},
    {"latency in ns, p50/p99", Latency, false},
    {"fences/lines flushed per transaction", Flushes, false},
    {"storage in MiB, and the hit rate of the backup", Storage, false},
};

const Row* FindRow(const std::vector<const Row*>& rows, const std::string& cell,
                   const std::string& store) {
  for (const Row* row : rows) {
    if (row->cell.Name() == cell && row->store.Name() == store) return row;
  }
  return nullptr;
}

Grid MakeGrid(const View& view, const std::vector<const Row*>& suite,
              const std::vector<Row>& rows) {
  std::vector<std::string> stores, cells;
  std::vector<const Cell*> firsts;
  for (const Row* row : suite) {
    const std::string store = row->store.Name(), cell = row->cell.Name();
    if (std::find(stores.begin(), stores.end(), store) == stores.end()) {
      stores.push_back(store);
    }
    if (std::find(cells.begin(), cells.end(), cell) == cells.end()) {
      cells.push_back(cell);
      firsts.push_back(&row->cell);
    }
  }
  Grid grid(1, {""});
  grid[0].insert(grid[0].end(), stores.begin(), stores.end());
  const bool compare = view.ratios && stores.size() > 1;
  if (compare) grid[0].push_back("kamino-simple / undo-object");
  for (size_t i = 0; i < cells.size(); ++i) {
    grid.push_back({CellTitle(*firsts[i])});
    for (const std::string& store : stores) {
      const Row* row = FindRow(suite, cells[i], store);
      grid.back().push_back(row == nullptr ? "-" : view.show(*row));
    }
    if (!compare) continue;
    const Row* ours = FindRow(suite, cells[i], "kamino-simple");
    const auto ratio =
        ours == nullptr ? absl::nullopt : RatioTo(*ours, "undo-object", rows);
    grid.back().push_back(ratio.has_value() ? absl::StrFormat("%.2f", *ratio)
                                            : "-");
  }
  return grid;
}

}  // namespace

double Throughput(const Row& row) { return Median(row.rounds); }

absl::optional<double> RatioTo(const Row& row, const std::string& scheme,
                               const std::vector<Row>& rows) {
  for (const Row& other : rows) {
    if (other.suite != row.suite || other.store.Name() != scheme ||
        other.cell.Name() != row.cell.Name() || Throughput(other) == 0) {
      continue;
    }
    return Throughput(row) / Throughput(other);
  }
  return absl::nullopt;
}

std::string ToJson(const Facts& facts, const std::vector<Row>& rows) {
  std::vector<std::string> fact_lines, row_lines;
  for (const auto& [name, value] : facts) {
    fact_lines.push_back(absl::StrCat("  ", Quote(name), ": ", Quote(value)));
  }
  for (const Row& row : rows) {
    row_lines.push_back(absl::StrCat("  ", RowJson(row, rows)));
  }
  return absl::StrCat("{\"facts\": {\n", absl::StrJoin(fact_lines, ",\n"),
                      "\n}, \"measurements\": [\n",
                      absl::StrJoin(row_lines, ",\n"), "\n]}\n");
}

std::string ToTables(const std::vector<Row>& rows) {
  std::vector<std::string> suites;
  for (const Row& row : rows) {
    if (std::find(suites.begin(), suites.end(), row.suite) == suites.end()) {
      suites.push_back(row.suite);
    }
  }
  std::string text;
  for (const std::string& name : suites) {
    std::vector<const Row*> suite;
    for (const Row& row : rows) {
      if (row.suite == name) suite.push_back(&row);
    }
    for (const View& view : kViews) {
      absl::StrAppend(&text, "\n", name, ": ", view.title, "\n",
                      Render(MakeGrid(view, suite, rows)));
    }
  }
  return text;
}

}  // namespace kamino::bench
