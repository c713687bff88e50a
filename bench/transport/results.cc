#include "bench/transport/results.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/harness/statistics.h"

namespace kamino::bench {
namespace {

constexpr char kReference[] = "bare-epoll";
constexpr size_t kSmallest = 64;

std::string RowJson(const Row& row, const std::vector<Row>& rows) {
  const auto ratio = RatioTo(row, kReference, rows);
  std::vector<std::string> fields = {
      absl::StrCat("\"link\": ", Quote(row.subject)),
      absl::StrCat("\"bytes\": ", row.bytes)};
  const std::pair<const char*, const std::vector<double>*> figures[] = {
      {"round_trip_p50_ns", &row.round_trip_p50},
      {"round_trip_p99_ns", &row.round_trip_p99},
      {"one_way_p50_ns", &row.one_way_p50},
      {"one_way_p99_ns", &row.one_way_p99},
      {"messages_per_s", &row.messages_per_s}};
  for (const auto& [name, rounds] : figures) {
    fields.push_back(absl::StrCat(
        Quote(name), ": ",
        rounds->empty() ? "null" : absl::StrFormat("%.1f", Median(*rounds))));
  }
  fields.push_back(
      absl::StrFormat("\"spread\": %.4f", Spread(row.round_trip_p50)));
  fields.push_back(absl::StrCat(
      "\"round_trip_to_bare_epoll\": ",
      ratio.has_value() ? absl::StrFormat("%.4f", *ratio) : "null"));
  return absl::StrCat("{", absl::StrJoin(fields, ", "), "}");
}

std::string Micros(const std::vector<double>& nanos) {
  return absl::StrFormat("%9.2f", Median(nanos) / 1000);
}

}  // namespace

std::optional<double> RatioTo(const Row& row, const std::string& reference,
                              const std::vector<Row>& rows) {
  for (const Row& other : rows) {
    if (other.subject != reference || other.bytes != row.bytes) continue;
    std::vector<double> ratios;
    const size_t rounds =
        std::min(row.round_trip_p50.size(), other.round_trip_p50.size());
    for (size_t i = 0; i < rounds; ++i) {
      ratios.push_back(row.round_trip_p50[i] / other.round_trip_p50[i]);
    }
    return Median(ratios);
  }
  return std::nullopt;
}

std::vector<Target> Targets(const std::vector<Row>& rows,
                            const std::vector<IdleRow>& idle) {
  std::vector<Target> targets;
  for (const Row& row : rows) {
    if (row.bytes != kSmallest) continue;
    if (row.subject == "shm") {
      targets.push_back({"shm round trip of 64 B, us", 1.5,
                         Median(row.round_trip_p50) / 1000, true});
      targets.push_back({"shm messages of 64 B one way, million/s", 3,
                         Median(row.messages_per_s) / 1e6, false});
    }
    if (row.subject == "tcp") {
      if (const auto ratio = RatioTo(row, kReference, rows)) {
        targets.push_back(
            {"tcp round trip of 64 B over bare epoll", 1.3, *ratio, true});
      }
    }
  }
  for (const IdleRow& row : idle) {
    targets.push_back({absl::StrCat(row.subject, " idle, % of a processor"), 1,
                       row.cpu_fraction * 100, true});
  }
  return targets;
}

std::string ToJson(const Facts& facts, const std::vector<Row>& rows,
                   const std::vector<IdleRow>& idle) {
  std::vector<std::string> measured, rested, wanted;
  for (const Row& row : rows) measured.push_back(RowJson(row, rows));
  for (const IdleRow& row : idle) {
    rested.push_back(absl::StrFormat("{\"link\": %s, \"cpu_fraction\": %.6f}",
                                     Quote(row.subject), row.cpu_fraction));
  }
  for (const Target& target : Targets(rows, idle)) {
    wanted.push_back(absl::StrFormat(
        "{\"what\": %s, \"wanted\": %g, \"measured\": %.4g, \"met\": %s}",
        Quote(target.what), target.wanted, target.measured,
        target.met() ? "true" : "false"));
  }
  return absl::StrCat(OpenResults("transport", facts),
                      ",\n\"measurements\": [\n",
                      absl::StrJoin(measured, ",\n"), "],\n\"idle\": [\n",
                      absl::StrJoin(rested, ",\n"), "],\n\"targets\": [\n",
                      absl::StrJoin(wanted, ",\n"), "]}\n");
}

std::string ToTables(const std::vector<Row>& rows,
                     const std::vector<IdleRow>& idle) {
  std::string text = absl::StrFormat(
      "\n%7s  %-10s  %19s  %19s  %12s  %9s\n%7s  %-10s  %9s %9s  %9s %9s  "
      "%12s  %9s\n",
      "", "", "round trip, us", "one way, us", "", "to bare", "bytes", "link",
      "p50", "p99", "p50", "p99", "messages/s", "epoll");
  size_t last = 0;
  for (const Row& row : rows) {
    if (last != 0 && row.bytes != last) text.push_back('\n');
    last = row.bytes;
    const auto ratio = RatioTo(row, kReference, rows);
    absl::StrAppendFormat(
        &text, "%7d  %-10s  %s %s  %s %s  %12s  %9s\n", row.bytes, row.subject,
        Micros(row.round_trip_p50), Micros(row.round_trip_p99),
        Micros(row.one_way_p50), Micros(row.one_way_p99),
        row.messages_per_s.empty()
            ? "-"
            : absl::StrFormat("%.0f", Median(row.messages_per_s)),
        ratio.has_value() ? absl::StrFormat("%.2f", *ratio) : "-");
  }
  text.push_back('\n');
  for (const Target& target : Targets(rows, idle)) {
    absl::StrAppendFormat(&text, "%-42s  %9.3g  (%s %g: %s)\n", target.what,
                          target.measured,
                          target.at_most ? "at most" : "at least",
                          target.wanted, target.met() ? "met" : "missed");
  }
  return text;
}

}  // namespace kamino::bench
