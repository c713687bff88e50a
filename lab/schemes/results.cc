#include "lab/schemes/results.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/harness/statistics.h"

namespace kamino::bench::schemes {
namespace {

double Least(const std::vector<double>& rounds) {
  return rounds.empty() ? 0 : *std::min_element(rounds.begin(), rounds.end());
}

double Most(const std::vector<double>& rounds) {
  return rounds.empty() ? 0 : *std::max_element(rounds.begin(), rounds.end());
}

std::string ToJson(const Point& point) {
  return absl::StrCat(
      "{\"figure\": ", Quote(point.figure),
      ", \"series\": ", Quote(point.series),
      ", \"memory\": ", Quote(point.memory),
      ", \"measure\": ", Quote(point.measure), ", \"x\": ", point.x,
      absl::StrFormat(", \"value\": %.6g, \"low\": %.6g, \"high\": %.6g",
                      Median(point.rounds), Least(point.rounds),
                      Most(point.rounds)),
      ", \"rounds\": [", absl::StrJoin(point.rounds, ", "), "]}");
}

}  // namespace

std::string ToJson(const Facts& facts, const std::vector<Point>& points) {
  std::string text =
      absl::StrCat(OpenResults("scheme_points", facts), ",\n\"points\": [");
  for (size_t i = 0; i < points.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "\n" : ",\n", ToJson(points[i]));
  }
  absl::StrAppend(&text, "\n]\n}\n");
  return text;
}

std::string ToTable(const std::vector<Point>& points) {
  std::string text;
  for (const Point& point : points) {
    absl::StrAppendFormat(&text, "%-16s %-22s %-44s %8g  %12.6g %s\n",
                          point.figure, point.memory, point.series, point.x,
                          Median(point.rounds), point.measure);
  }
  return text;
}

}  // namespace kamino::bench::schemes
