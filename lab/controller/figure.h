// The program's output: tables to compare with the paper's figures, and marks,
// which say of a figure whether the model shows what the paper does.
#ifndef KAMINO_LAB_CONTROLLER_FIGURE_H_
#define KAMINO_LAB_CONTROLLER_FIGURE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "bench/harness/json.h"

namespace kamino::bench::controller {

struct Mark {
  std::string what;   // is asked for
  std::string paper;  // what it says, or shows
  std::string ours;
  bool met = false;
};

struct Table {
  std::string title;  // with the unit of the cells
  std::vector<std::string> columns;
  std::vector<std::pair<std::string, std::vector<double>>> rows = {};

  void Add(const std::string& row, std::vector<double> cells) {
    rows.emplace_back(row, std::move(cells));
  }
};

struct Figure {
  std::string name;  // "5", as the paper numbers them
  std::string title;
  std::vector<Table> tables = {};
  std::vector<Mark> marks = {};
};

// The straight line that fits the points best.
struct Line {
  double slope = 0;
  double fit = 0;  // R squared
};
Line LineThrough(absl::Span<const double> x, absl::Span<const double> y);

// Rises of `values`, from each to the next: the least of those into an index
// that is `first` plus a multiple of `every`, and the most of the others.
struct Steps {
  double least_step = 0;
  double most_between = 0;
};
Steps StepsOf(absl::Span<const double> values, size_t first, size_t every);

// For people, and as one object: "facts", "figures".
std::string ToText(absl::Span<const Figure> figures);
std::string ToJson(const Facts& facts, absl::Span<const Figure> figures);

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_FIGURE_H_
