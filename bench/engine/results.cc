#include "bench/engine/results.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/engine/text.h"
#include "bench/harness/statistics.h"

namespace kamino::bench {
namespace {

// Ratios are given against these stores, where they took part.
constexpr const char* kReferences[] = {"kamino-simple", "undo-object"};

bool SameCell(const Cell& a, const Cell& b) {
  return a.Name() == b.Name() && a.drain_ns == b.drain_ns;
}

const Row* FindRow(const std::vector<Row>& rows, const std::string& suite,
                   const Cell& cell, const std::string& store) {
  for (const Row& row : rows) {
    if (row.suite == suite && row.store.Name() == store &&
        SameCell(row.cell, cell)) {
      return &row;
    }
  }
  return nullptr;
}

// The fields that identify a measurement and its store, common to rows of both
// kinds.
template <typename AnyRow>
std::string SubjectFields(const AnyRow& row) {
  return absl::StrCat("\"suite\": ", Quote(row.suite),
                      ", \"scheme\": ", Quote(row.store.scheme),
                      ", \"alpha\": ", Number(row.store.alpha),
                      ", \"workload\": ", Quote(row.cell.workload),
                      ", \"distribution\": ", Quote(row.cell.distribution),
                      ", \"threads\": ", row.cell.threads,
                      ", \"value_size\": ", row.cell.value_size);
}

std::string RowJson(const Row& row, const std::vector<Row>& rows) {
  std::vector<std::string> kinds;
  for (const KindLatency& kind : row.kinds) {
    kinds.push_back(absl::StrFormat("%s: {\"p50_ns\": %.1f, \"p99_ns\": %.1f}",
                                    Quote(kind.kind), kind.p50_ns,
                                    kind.p99_ns));
  }
  std::vector<std::string> ratios, ranges;
  for (const char* reference : kReferences) {
    ratios.push_back(absl::StrCat(Quote(reference), ": ",
                                  Number(RatioTo(row, reference, rows))));
    const auto range = RatioRange(row, reference, rows);
    ranges.push_back(absl::StrCat(
        Quote(reference), ": ",
        range.has_value()
            ? absl::StrFormat("[%.4g, %.4g]", range->first, range->second)
            : "null"));
  }
  const std::vector<std::string> fields = {
      SubjectFields(row),
      absl::StrCat("\"drain_ns\": ", row.cell.drain_ns),
      absl::StrFormat("\"ops_per_s\": %.1f", Throughput(row)),
      absl::StrFormat("\"p50_ns\": %.1f", row.p50_ns),
      absl::StrFormat("\"p99_ns\": %.1f", row.p99_ns),
      absl::StrCat("\"fences_per_tx\": ", Number(row.fences_per_tx)),
      absl::StrCat("\"lines_flushed_per_tx\": ", Number(row.lines_per_tx)),
      absl::StrCat("\"background_fences_per_tx\": ",
                   Number(row.background_fences_per_tx)),
      absl::StrCat("\"background_lines_flushed_per_tx\": ",
                   Number(row.background_lines_per_tx)),
      absl::StrCat("\"bytes_storage\": ", row.bytes_storage),
      absl::StrCat("\"bytes_log\": ", Number(row.bytes_log)),
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
      absl::StrCat("\"ratio_range\": {", absl::StrJoin(ranges, ", "), "}"),
      absl::StrCat("\"kinds\": {", absl::StrJoin(kinds, ", "), "}"),
  };
  return absl::StrCat("{", absl::StrJoin(fields, ", "), "}");
}

std::string PartsJson(const BreakdownRow& row) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < kStages.size(); ++i) {
    parts.push_back(
        absl::StrCat(Quote(StageName(kStages[i])), ": ", Number(row.nanos[i])));
  }
  const std::vector<std::string> fields = {
      SubjectFields(row),
      absl::StrCat("\"total_ns\": ", Number(row.total())),
      absl::StrCat("\"parts_ns\": {", absl::StrJoin(parts, ", "), "}"),
  };
  return absl::StrCat("{", absl::StrJoin(fields, ", "), "}");
}

using Rows = std::vector<Row>;

std::string Thousands(const Row& row, const Rows&) {
  return absl::StrFormat("%.1f ~%.0f%%", Throughput(row) / 1000,
                         100 * Spread(row.rounds));
}

std::string Ratio(const Row& row, const std::string& reference,
                  const Rows& rows) {
  const auto ratio = RatioTo(row, reference, rows);
  const auto range = RatioRange(row, reference, rows);
  if (!ratio.has_value() || !range.has_value()) return "-";
  return absl::StrFormat("%.2f [%.2f %.2f]", *ratio, range->first,
                         range->second);
}

std::string RatioToSimple(const Row& row, const Rows& rows) {
  return Ratio(row, kReferences[0], rows);
}

std::string RatioToUndo(const Row& row, const Rows& rows) {
  return Ratio(row, kReferences[1], rows);
}

std::string Latency(const Row& row, const Rows&) {
  return absl::StrFormat("%.0f/%.0f", row.p50_ns, row.p99_ns);
}

std::string Flushes(const Row& row, const Rows&) {
  if (!row.fences_per_tx.has_value()) return "-";
  return absl::StrFormat("%.2f/%.1f", *row.fences_per_tx, *row.lines_per_tx);
}

std::string Storage(const Row& row, const Rows&) {
  std::string text =
      absl::StrFormat("%.1f", static_cast<double>(row.bytes_storage) / 1048576);
  if (row.hit_rate.has_value()) {
    absl::StrAppendFormat(&text, " %.2f%%", 100 * *row.hit_rate);
  }
  return text;
}

struct View {
  const char* title;
  std::string (*show)(const Row&, const Rows&);
  const char* reference;  // that has to be there; null: none
};

constexpr View kViews[] = {
    {"thousand transactions per second ~spread", Thousands, nullptr},
    {"throughput / kamino-simple's [least, largest of a round]", RatioToSimple,
     kReferences[0]},
    {"throughput / undo-object's [least, largest of a round]", RatioToUndo,
     kReferences[1]},
    {"latency in ns, p50/p99", Latency, nullptr},
    {"fences/lines flushed per transaction", Flushes, nullptr},
    {"storage in MiB, and the hit rate of the undo copy", Storage, nullptr},
};

// The names of a suite's cells and stores, in the order they came.
struct Outline {
  std::vector<const Row*> cells;  // the first row of each
  std::vector<std::string> stores;

  bool Has(const std::string& store) const {
    return std::find(stores.begin(), stores.end(), store) != stores.end();
  }
};

Outline OutlineOf(const std::string& suite, const Rows& rows) {
  Outline outline;
  for (const Row& row : rows) {
    if (row.suite != suite) continue;
    if (!outline.Has(row.store.Name())) {
      outline.stores.push_back(row.store.Name());
    }
    if (outline.cells.empty() ||
        !SameCell(outline.cells.back()->cell, row.cell)) {
      outline.cells.push_back(&row);
    }
  }
  return outline;
}

Grid MakeGrid(const View& view, const Outline& outline, const Rows& rows) {
  Grid grid(1, {""});
  grid[0].insert(grid[0].end(), outline.stores.begin(), outline.stores.end());
  for (const Row* first : outline.cells) {
    grid.push_back({CellTitle(first->cell)});
    for (const std::string& store : outline.stores) {
      const Row* const row = FindRow(rows, first->suite, first->cell, store);
      grid.back().push_back(row == nullptr ? "-" : view.show(*row, rows));
    }
  }
  return grid;
}

std::vector<std::string> PartsLine(const BreakdownRow& row) {
  std::vector<std::string> line = {
      absl::StrCat(CellTitle(row.cell), ", ", row.store.Name())};
  for (const auto& part : row.nanos) {
    line.push_back(part.has_value() ? absl::StrFormat("%.0f", *part) : "-");
  }
  line.push_back(absl::StrFormat("%.0f", row.total()));
  return line;
}

}  // namespace

double Throughput(const Row& row) { return Median(row.rounds); }

std::optional<double> RatioTo(const Row& row, const std::string& scheme,
                              const std::vector<Row>& rows) {
  const Row* const other = FindRow(rows, row.suite, row.cell, scheme);
  if (other == nullptr || Throughput(*other) == 0) return std::nullopt;
  return Throughput(row) / Throughput(*other);
}

std::optional<std::pair<double, double>> RatioRange(
    const Row& row, const std::string& scheme, const std::vector<Row>& rows) {
  const Row* const other = FindRow(rows, row.suite, row.cell, scheme);
  if (other == nullptr) return std::nullopt;
  std::optional<std::pair<double, double>> range;
  const size_t rounds = std::min(row.rounds.size(), other->rounds.size());
  for (size_t i = 0; i < rounds; ++i) {
    if (other->rounds[i] == 0) return std::nullopt;
    const double ratio = row.rounds[i] / other->rounds[i];
    if (!range.has_value()) range = {ratio, ratio};
    range->first = std::min(range->first, ratio);
    range->second = std::max(range->second, ratio);
  }
  return range;
}

std::string ToJson(const std::string& bench, const Facts& facts,
                   const std::vector<Row>& rows,
                   const std::vector<BreakdownRow>& breakdown) {
  std::vector<std::string> row_lines, parts;
  for (const Row& row : rows) {
    row_lines.push_back(absl::StrCat("  ", RowJson(row, rows)));
  }
  for (const BreakdownRow& row : breakdown) {
    parts.push_back(absl::StrCat("  ", PartsJson(row)));
  }
  return absl::StrCat(OpenResults(bench, facts), ",\n\"measurements\": [\n",
                      absl::StrJoin(row_lines, ",\n"),
                      "\n], \"breakdown\": [\n", absl::StrJoin(parts, ",\n"),
                      "\n]}\n");
}

std::string ToTables(const std::vector<Row>& rows) {
  std::vector<std::string> suites;
  for (const Row& row : rows) {
    if (std::find(suites.begin(), suites.end(), row.suite) == suites.end()) {
      suites.push_back(row.suite);
    }
  }
  std::string text;
  for (const std::string& suite : suites) {
    const Outline outline = OutlineOf(suite, rows);
    for (const View& view : kViews) {
      if (view.reference != nullptr && !outline.Has(view.reference)) continue;
      absl::StrAppend(&text, "\n", suite, ": ", view.title, "\n",
                      Render(MakeGrid(view, outline, rows)));
    }
  }
  return text;
}

std::string ToTable(const std::vector<BreakdownRow>& rows) {
  if (rows.empty()) return "";
  Grid grid(1, {""});
  for (Stage stage : kStages) grid[0].push_back(StageName(stage));
  grid[0].push_back("together");
  for (const BreakdownRow& row : rows) grid.push_back(PartsLine(row));
  return absl::StrCat("\nwhere the nanoseconds of a transaction go\n",
                      Render(grid));
}

}  // namespace kamino::bench
