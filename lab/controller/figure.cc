#include "lab/controller/figure.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/harness/table.h"

namespace kamino::bench::controller {
namespace {

// Four digits, and no exponent.
std::string Cell(double value) {
  if (value > 0 && value < 1e-3) return absl::StrFormat("%.8f", value);
  return value >= 1000 ? absl::StrFormat("%.0f", value)
                       : absl::StrFormat("%.4g", value);
}

Grid GridOf(const Table& table) {
  Grid grid(1, table.columns);
  for (const auto& [name, cells] : table.rows) {
    grid.push_back({name});
    for (double cell : cells) grid.back().push_back(Cell(cell));
  }
  return grid;
}

std::string JsonOf(const Table& table) {
  std::vector<std::string> columns, rows;
  for (const std::string& column : table.columns) {
    columns.push_back(Quote(column));
  }
  for (const auto& [name, cells] : table.rows) {
    std::vector<std::string> row = {Quote(name)};
    for (double cell : cells) row.push_back(Number(cell));
    rows.push_back(absl::StrCat("    [", absl::StrJoin(row, ", "), "]"));
  }
  return absl::StrCat("  {\"title\": ", Quote(table.title), ", \"columns\": [",
                      absl::StrJoin(columns, ", "), "], \"rows\": [\n",
                      absl::StrJoin(rows, ",\n"), "]}");
}

std::string JsonOf(const Mark& mark) {
  return absl::StrCat("  {\"name\": ", Quote(mark.what),
                      ", \"paper\": ", Quote(mark.paper),
                      ", \"here\": ", Quote(mark.ours),
                      ", \"holds\": ", mark.met ? "true" : "false", "}");
}

template <typename Each>
std::string JsonList(const std::vector<Each>& list) {
  std::vector<std::string> lines;
  for (const Each& each : list) lines.push_back(JsonOf(each));
  return absl::StrCat("[\n", absl::StrJoin(lines, ",\n"), "]");
}

std::string JsonOf(const Figure& figure) {
  return absl::StrCat("{\"figure\": ", Quote(figure.name),
                      ", \"title\": ", Quote(figure.title),
                      ",\n \"tables\": ", JsonList(figure.tables),
                      ",\n \"marks\": ", JsonList(figure.marks), "}");
}

}  // namespace

Line LineThrough(absl::Span<const double> x, absl::Span<const double> y) {
  const auto n = static_cast<double>(x.size());
  double sum_x = 0, sum_y = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    sum_x += x[i];
    sum_y += y[i];
  }
  double xx = 0, xy = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - sum_x / n) * (x[i] - sum_x / n);
    xy += (x[i] - sum_x / n) * (y[i] - sum_y / n);
    yy += (y[i] - sum_y / n) * (y[i] - sum_y / n);
  }
  if (xx == 0) return {};
  return {xy / xx, yy == 0 ? 1 : xy * xy / (xx * yy)};
}

Steps StepsOf(absl::Span<const double> values, size_t first, size_t every) {
  Steps steps;
  steps.least_step = std::numeric_limits<double>::infinity();
  for (size_t i = 1; i < values.size(); ++i) {
    const double rise = values[i] - values[i - 1];
    if (i >= first && (i - first) % every == 0) {
      steps.least_step = std::min(steps.least_step, rise);
    } else {
      steps.most_between = std::max(steps.most_between, rise);
    }
  }
  return steps;
}

std::string ToText(absl::Span<const Figure> figures) {
  std::string text;
  for (const Figure& figure : figures) {
    absl::StrAppend(&text, "\nFigure ", figure.name, ": ", figure.title, "\n");
    for (const Table& table : figure.tables) {
      absl::StrAppend(&text, "\n", table.title, "\n", Render(GridOf(table)));
    }
    for (const Mark& mark : figure.marks) {
      absl::StrAppend(&text, mark.met ? "\n[met]     " : "\n[not met] ",
                      mark.what, "\n          paper: ", mark.paper,
                      "\n          here:  ", mark.ours, "\n");
    }
  }
  return text;
}

std::string ToJson(const Facts& facts, absl::Span<const Figure> figures) {
  std::vector<std::string> parts;
  for (const Figure& figure : figures) parts.push_back(JsonOf(figure));
  return absl::StrCat(OpenResults("controller", facts), ", \"figures\": [\n",
                      absl::StrJoin(parts, ",\n"), "\n]}\n");
}

}  // namespace kamino::bench::controller
