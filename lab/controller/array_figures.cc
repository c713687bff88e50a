// Section 5.3: transactions that store to an array that the cache has.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "lab/controller/figures.h"
#include "lab/controller/methods.h"
#include "lab/controller/simulation.h"
#include "lab/controller/synthetic.h"

namespace kamino::bench::controller {
namespace {

constexpr uint64_t kSeed = 1;
constexpr int kStores = 20;  // of a transaction, but where they are varied
constexpr uint32_t kSpeeds[] = {1, 2, 4, 8};
constexpr double kAlike = 0.1;   // 10% apart at most
constexpr double kNearly = 1.5;  // times as long at most

RunOptions OptionsOf(const Setting& setting, Method method, uint32_t slowdown) {
  RunOptions options;
  options.method = method;
  options.machine = setting.machine;
  options.machine.scm_slowdown = slowdown;
  options.warm = {WarmArray()};
  return options;
}

std::vector<std::string> MethodColumns(const std::string& first) {
  std::vector<std::string> columns = {first};
  for (Method method : kMethods) columns.emplace_back(MethodName(method));
  return columns;
}

size_t IndexOf(Method method) { return static_cast<size_t>(method); }

bool Alike(double a, double b) {
  return a >= (1 - kAlike) * b && a <= (1 + kAlike) * b;
}

absl::StatusOr<RunResult> SustainedRun(const Trace& trace,
                                       const Setting& setting, Method method,
                                       uint32_t slowdown) {
  return Simulate(trace, OptionsOf(setting, method, slowdown));
}

// Compares the methods when transactions arrive faster than any method serves
// them, and when they do not. Covers the whole burst, including retirement.
absl::StatusOr<Mark> PastSaturation(const Trace& trace, const Setting& setting,
                                    uint32_t slowdown) {
  ASSIGN_OR_RETURN(const RunResult non_atomic,
                   SustainedRun(trace, setting, Method::kNonAtomic, slowdown));
  ASSIGN_OR_RETURN(const RunResult wrap,
                   SustainedRun(trace, setting, Method::kWrap, slowdown));
  const double ours = wrap.CompletionsPerSecond();
  const double theirs = non_atomic.CompletionsPerSecond();
  Mark mark;
  mark.what = absl::StrCat("past saturation WrAP equals non-atomic (10%), SCM ",
                           slowdown, "x slower");
  mark.paper = "both are rate limited by home writes";
  mark.ours = absl::StrFormat("%.0f and %.0f transactions/s, %.2f", ours,
                              theirs, ours / theirs);
  mark.met = Alike(ours, theirs);
  return mark;
}

}  // namespace

absl::StatusOr<Figure> Figure5(const Setting& setting) {
  constexpr int kMost = 32;
  constexpr int kPieces = 100;
  Figure figure{"5",
                "response and completion by stores of a transaction, 1,000 "
                "transactions/s, SCM 4x slower"};
  Table table{"microseconds", {"stores", "response", "completion"}};
  std::vector<double> counts, responses, completions;
  for (int stores = 1; stores <= kMost; ++stores) {
    RunOptions options = OptionsOf(setting, Method::kWrap, 4);
    options.interval = kSecond / 1000;
    ASSIGN_OR_RETURN(
        const RunResult result,
        Simulate(ArrayUpdates(1, kPieces, stores, kSeed), options));
    counts.push_back(stores);
    responses.push_back(result.MeanResponse());
    completions.push_back(result.MeanCompletion());
    table.Add(absl::StrCat(stores), {responses.back(), completions.back()});
  }
  figure.tables = {table};

  // The count of stores that has a line more than the one before: the first,
  // and from then on every line's worth.
  const Machine& machine = setting.machine;
  size_t first = 1;
  while ((first * machine.record_bytes + machine.marker_bytes) <= 64) ++first;
  const Steps steps = StepsOf(responses, first - 1, 64 / machine.record_bytes);
  figure.marks.push_back(
      {"the response rises in steps, one to four records",
       "\"a series of discrete steps\"",
       absl::StrFormat("at least %.1f ns into a new line of the log, at most "
                       "%.1f ns else",
                       1000 * steps.least_step, 1000 * steps.most_between),
       steps.least_step > 2 * steps.most_between});
  const Line line = LineThrough(counts, completions);
  figure.marks.push_back({"completion is linear", "\"almost linearly\"",
                          absl::StrFormat("%.0f ns a store, R squared %.3f",
                                          1000 * line.slope, line.fit),
                          line.fit >= 0.98 && line.slope > 0});
  return figure;
}

absl::StatusOr<Figure> Figure7(const Setting& setting) {
  const Trace trace = ArrayUpdates(1, 100, kStores, kSeed);
  Figure figure{"7", "a burst of 100 transactions of 20 stores"};
  Table counts{"figure 6: counts, SCM 4x slower",
               {"", "home writes", "log writes", "log reads", "PCOMMITs"}};
  Table rates{"thousand transactions/s, by how much slower SCM is",
              MethodColumns("SCM")};
  rates.columns.push_back("wrap, at home");
  for (uint32_t slowdown : kSpeeds) {
    std::vector<double> row;
    double at_home = 0;
    for (Method method : kMethods) {
      ASSIGN_OR_RETURN(const RunResult result,
                       Simulate(trace, OptionsOf(setting, method, slowdown)));
      row.push_back(result.ResponsesPerSecond() / 1000);
      at_home = result.CompletionsPerSecond() / 1000;
      if (slowdown != 4) continue;
      counts.Add(std::string(MethodName(method)),
                 {static_cast<double>(result.controller.scm.writes),
                  static_cast<double>(result.controller.log.writes),
                  static_cast<double>(result.controller.log.reads),
                  static_cast<double>(result.cores.fences)});
    }
    const double wrap = row[IndexOf(Method::kWrap)];
    const double non_atomic = row[IndexOf(Method::kNonAtomic)];
    row.push_back(at_home);
    rates.Add(absl::StrCat(slowdown, "x"), row);
    if (slowdown == 1) continue;
    figure.marks.push_back({absl::StrCat("WrAP is faster than non-atomic, SCM ",
                                         slowdown, "x slower"),
                            "it is",
                            absl::StrFormat("%.2f times", wrap / non_atomic),
                            wrap > non_atomic});
  }
  figure.tables = {counts, rates};
  return figure;
}

absl::StatusOr<Figure> Figure9(const Setting& setting) {
  const int pieces = setting.quick ? 500 : 3000;
  const Trace trace = ArrayUpdates(1, pieces, kStores, kSeed);
  Figure figure{"9", "response by the rate of arrivals, transactions of 20"};
  std::vector<double> rates = {10, 50, 100, 200, 400, 800, 1600, 3200};
  if (setting.quick) rates = {10, 100, 400, 3200};
  for (uint32_t slowdown : {2, 4, 8}) {
    Table table{absl::StrCat("microseconds, SCM ", slowdown, "x slower"),
                MethodColumns("thousand/s")};
    bool faster = true;
    double most = 0;    // WrAP's over non-atomic's, before either saturates
    double slower = 0;  // the same over cached's
    for (double rate : rates) {
      std::vector<double> row;
      bool saturated = false;
      for (Method method : kMethods) {
        RunOptions options = OptionsOf(setting, method, slowdown);
        options.interval = static_cast<Time>(kSecond / (1000 * rate));
        ASSIGN_OR_RETURN(const RunResult result, Simulate(trace, options));
        row.push_back(result.MeanResponse());
        if (method == Method::kWrap || method == Method::kNonAtomic) {
          saturated |= result.CompletionsPerSecond() < 990 * rate;
        }
      }
      const double ratio =
          row[IndexOf(Method::kWrap)] / row[IndexOf(Method::kNonAtomic)];
      if (!saturated) {
        faster &= ratio < 1;
        most = std::max(most, ratio);
        slower = std::max(slower, row[IndexOf(Method::kWrap)] /
                                      row[IndexOf(Method::kCached)]);
      }
      table.Add(absl::StrFormat("%.0f", rate), row);
    }
    figure.tables.push_back(table);
    figure.marks.push_back(
        {absl::StrCat("before saturation WrAP is faster than non-atomic, SCM ",
                      slowdown, "x slower"),
         "it is", absl::StrFormat("%.2f of its response at most", most),
         faster && most > 0});
    figure.marks.push_back(
        {absl::StrCat("before saturation WrAP is nearly as fast as cached (",
                      absl::StrFormat("%.1f", kNearly), " times), SCM ",
                      slowdown, "x slower"),
         "it is", absl::StrFormat("%.1f times its response at most", slower),
         slower > 0 && slower <= kNearly});
    ASSIGN_OR_RETURN(const Mark mark, PastSaturation(trace, setting, slowdown));
    figure.marks.push_back(mark);
  }

  // Ours: what a controller that does not retire wraps one by one would win.
  Table together{
      "wraps that go home together: thousand transactions/s, SCM 4x "
      "slower, past saturation",
      {"together", "wrap"}};
  Setting other = setting;
  for (uint32_t wraps : {1, 2, 4, 8}) {
    other.machine.retired_together = wraps;
    ASSIGN_OR_RETURN(const RunResult result,
                     SustainedRun(trace, other, Method::kWrap, 4));
    together.Add(absl::StrCat(wraps), {result.CompletionsPerSecond() / 1000});
  }
  figure.tables.push_back(together);
  return figure;
}

namespace {

// The subjects of figure 10: the methods, and WrAP with the other victim cache.
struct Entrant {
  std::string name;
  Method method;
  VictimForm victims = VictimForm::kSetAssociative;
};

std::vector<Entrant> Entrants() {
  std::vector<Entrant> entrants;
  for (Method method : kMethods) {
    entrants.push_back({std::string(MethodName(method)), method});
  }
  entrants.push_back({"wrap, hash", Method::kWrap, VictimForm::kHashed});
  return entrants;
}

// Times of each entrant, by the percentage of transactional stores.
struct MixedTimes {
  std::vector<double> parts;               // percent
  std::vector<std::vector<double>> times;  // microseconds a group
};

absl::StatusOr<MixedTimes> TimeMixedGroups(const Setting& setting, bool tiny) {
  constexpr int kGroups = 100;
  MixedTimes mixed;
  mixed.times.resize(Entrants().size());
  for (int part = 0; part <= 100; part += setting.quick ? 20 : 10) {
    const Trace trace = MixedGroups(kGroups, kGroupStores * part / 100, kSeed);
    mixed.parts.push_back(part);
    for (size_t i = 0; i < mixed.times.size(); ++i) {
      const Entrant entrant = Entrants()[i];
      RunOptions options = OptionsOf(setting, entrant.method, 4);
      options.machine.victims = entrant.victims;
      if (tiny) options.machine = WithTinyCaches(options.machine);
      ASSIGN_OR_RETURN(const RunResult result, Simulate(trace, options));
      mixed.times[i].push_back(static_cast<double>(result.responded) /
                               kMicrosecond / kGroups);
    }
  }
  return mixed;
}

}  // namespace

absl::StatusOr<Figure> Figure10(const Setting& setting) {
  Figure figure{"10",
                "groups of 50 stores, of which a part is transactional, SCM 4x "
                "slower"};
  for (bool tiny : {false, true}) {
    const std::string where = tiny ? ", tiny caches" : "";
    ASSIGN_OR_RETURN(const MixedTimes mixed, TimeMixedGroups(setting, tiny));
    Table table{absl::StrCat("microseconds a group", where), {"% in wraps"}};
    for (const Entrant& entrant : Entrants()) {
      table.columns.push_back(entrant.name);
    }
    for (size_t part = 0; part < mixed.parts.size(); ++part) {
      std::vector<double> row;
      for (const auto& times : mixed.times) row.push_back(times[part]);
      table.Add(absl::StrCat(mixed.parts[part]), row);
    }
    figure.tables.push_back(table);

    std::vector<double> slopes;  // nanoseconds a percent
    std::vector<double> without;
    for (const auto& times : mixed.times) {
      slopes.push_back(1000 * LineThrough(mixed.parts, times).slope);
      without.push_back(times[0]);
    }
    const double undo = slopes[IndexOf(Method::kUndo)];
    const double non_atomic = slopes[IndexOf(Method::kNonAtomic)];
    const double wrap = slopes[IndexOf(Method::kWrap)];
    figure.marks.push_back(
        {absl::StrCat("slopes undo > non-atomic > WrAP", where),
         tiny ? "\"the trends remained the same\"" : "in that order",
         absl::StrFormat("%.1f, %.1f, %.1f ns a percent; %.1f with the hash "
                         "table",
                         undo, non_atomic, wrap, slopes.back()),
         undo > non_atomic && non_atomic > wrap});
    const auto [least, most] =
        std::minmax_element(without.begin(), without.end() - 1);
    figure.marks.push_back(
        {absl::StrCat("with no wraps all methods perform the same", where),
         tiny ? "\"the trends remained the same\"" : "they do",
         absl::StrFormat("%.3f to %.3f us a group; %.3f with the hash table",
                         *least, *most, without.back()),
         *most <= 1.01 * *least});
  }
  return figure;
}

absl::StatusOr<Figure> Figure11(const Setting& setting) {
  const std::vector<int> threads = {1, 2, 4, 8, 16, 32, 64};
  const std::vector<double> rates = {10, 20, 50, 100};
  const int pieces = setting.quick ? 1024 : 6400;
  Figure figure{"11", "throughput by threads, WrAP, SCM 4x slower"};
  Table table{"thousand transactions/s, at home; arrivals/s of a thread",
              {"threads", "10 thousand", "20 thousand", "50 thousand",
               "100 thousand", "without a pause"}};
  std::vector<std::vector<double>> by_rate(rates.size() + 1);
  for (int count : threads) {
    const Trace trace = ArrayUpdates(count, pieces / count, kStores, kSeed);
    std::vector<double> row;
    for (size_t i = 0; i <= rates.size(); ++i) {
      RunOptions options = OptionsOf(setting, Method::kWrap, 4);
      options.interval =
          i < rates.size() ? static_cast<Time>(kSecond / (1000 * rates[i])) : 0;
      ASSIGN_OR_RETURN(const RunResult result, Simulate(trace, options));
      row.push_back(result.CompletionsPerSecond() / 1000);
      by_rate[i].push_back(row.back());
    }
    table.Add(absl::StrCat(count), row);
  }
  figure.tables = {table};

  const std::vector<double>& flood = by_rate.back();
  const double most = *std::max_element(flood.begin(), flood.end());
  const std::vector<double>& fast = by_rate[rates.size() - 1];
  const double last = fast.back(), before = fast[fast.size() - 2];
  // The channel's limit: a line occupies its bus for one burst.
  const DeviceTiming& device = setting.machine.device;
  const double peak = static_cast<double>(kSecond) /
                      static_cast<double>(4 * device.burst * device.clock);
  figure.marks.push_back(
      {"flat at bandwidth", "until \"the maximum memory bandwidth is reached\"",
       absl::StrFormat(
           "at 100,000/s a thread: %.0f, %.0f thousand/s with 32 "
           "and 64 threads; without a pause %.0f at most, %.0f%% of "
           "the channel's peak",
           before, last, most, 100 * 1000 * most * kStores / peak),
       Alike(before, last) && Alike(last, most)});
  std::vector<std::string> needed;
  bool fewer = true;
  int more = threads.back() + 1;
  for (size_t i = 0; i < rates.size(); ++i) {
    int enough = threads.back() + 1;  // none is
    for (size_t t = threads.size(); t-- > 0;) {
      if (by_rate[i][t] >= (1 - kAlike) * most) enough = threads[t];
    }
    needed.push_back(enough > threads.back() ? "more" : absl::StrCat(enough));
    fewer &= enough <= more;
    more = enough;
  }
  figure.marks.push_back(
      {"faster arrivals reach it with fewer threads", "they do",
       absl::StrCat("threads for 90% of it, by rate: ", needed[0], ", ",
                    needed[1], ", ", needed[2], ", ", needed[3]),
       fewer && more < threads.back()});
  return figure;
}

}  // namespace kamino::bench::controller
