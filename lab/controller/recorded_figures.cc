// Sections 5.4 and 5.5: traces of stores at work; and those that a file has.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "lab/controller/figures.h"
#include "lab/controller/methods.h"
#include "lab/controller/recording.h"
#include "lab/controller/simulation.h"
#include "lab/controller/synthetic.h"

namespace kamino::bench::controller {
namespace {

constexpr uint32_t kSlowdown = 4;  // where a figure has only one
constexpr double kLeastOver = 2.5;

std::vector<std::string> MethodColumns(const std::string& first) {
  std::vector<std::string> columns = {first};
  for (Method method : kMethods) columns.emplace_back(MethodName(method));
  return columns;
}

double Milliseconds(Time time) {
  return static_cast<double>(time) / kMicrosecond / 1000;
}

// How long a trace takes by each method, until all has been responded to.
absl::StatusOr<std::vector<double>> TimesOf(const Trace& trace,
                                            const Machine& machine) {
  std::vector<double> times;
  for (Method method : kMethods) {
    RunOptions options;
    options.method = method;
    options.machine = machine;
    ASSIGN_OR_RETURN(const RunResult result, Simulate(trace, options));
    times.push_back(Milliseconds(result.responded));
  }
  return times;
}

// Whether WrAP is so much faster than undo logging. The paper's rival waits
// twice for each store; the grouped one is for callers that need not.
Mark OverUndo(const std::string& what, const std::string& paper,
              const std::vector<double>& times, int scale, Method undo) {
  const double ratio = times[static_cast<size_t>(undo)] /
                       times[static_cast<size_t>(Method::kWrap)];
  return {absl::StrCat(what, " by WrAP is at least ",
                       absl::StrFormat("%.1f", kLeastOver),
                       " times as fast as by ", MethodName(undo)),
          paper, absl::StrFormat("%.2f times, scale %d", ratio, scale),
          ratio >= kLeastOver};
}

// One after the other, by one thread.
Trace Concatenated(const std::vector<const Trace*>& traces) {
  Trace all;
  all.threads.emplace_back();
  for (const Trace* trace : traces) {
    all.threads[0].insert(all.threads[0].end(), trace->threads[0].begin(),
                          trace->threads[0].end());
  }
  return all;
}

absl::Status Keep(const Setting& setting, const std::string& name,
                  const Trace& trace) {
  return setting.keep_trace ? setting.keep_trace(name, trace)
                            : absl::OkStatus();
}

absl::StatusOr<GraphTraces> RecordedGraph(const GraphOptions& options,
                                          const Setting& setting) {
  ASSIGN_OR_RETURN(const auto store, setting.open_store(GraphBytes(options)));
  return RecordGraph(options, store.get());
}

absl::StatusOr<Trace> RecordedInserts(Container container,
                                      const Inserts& inserts,
                                      const Setting& setting) {
  ASSIGN_OR_RETURN(const auto store, setting.open_store(64u << 20));
  return RecordInserts(container, inserts, store.get());
}

Machine SlowerMachine(const Setting& setting, uint32_t slowdown) {
  Machine machine = setting.machine;
  machine.scm_slowdown = slowdown;
  return machine;
}

}  // namespace

absl::StatusOr<Figure> Figure12(const Setting& setting) {
  const std::vector<int> scales =
      setting.quick ? std::vector<int>{6, 8} : std::vector<int>{8, 10, 12};
  const Machine machine = SlowerMachine(setting, kSlowdown);
  Figure figure{"12", "Graph 500, SCM 4x slower; wraps of 20 stores"};
  Table generate{"(a) list of edges: milliseconds", MethodColumns("scale")};
  Table build{"(b) construction: milliseconds", MethodColumns("scale")};
  Table all{"(c) with searches: milliseconds", MethodColumns("scale")};
  std::vector<double> build_times, all_times;
  for (int scale : scales) {
    GraphOptions options;
    options.scale = scale;
    ASSIGN_OR_RETURN(const GraphTraces traces, RecordedGraph(options, setting));
    const std::string name = absl::StrCat("graph-", scale);
    RETURN_IF_ERROR(Keep(setting, name, traces.build));
    ASSIGN_OR_RETURN(const auto generate_times,
                     TimesOf(traces.generate, machine));
    generate.Add(absl::StrCat(scale), generate_times);
    ASSIGN_OR_RETURN(build_times, TimesOf(traces.build, machine));
    build.Add(absl::StrCat(scale), build_times);
    ASSIGN_OR_RETURN(
        all_times,
        TimesOf(Concatenated({&traces.generate, &traces.build, &traces.search}),
                machine));
    all.Add(absl::StrCat(scale), all_times);
  }
  // The paper does not say how much of a graph a wrap has.
  Table sizes{"(b) by stores of a wrap: milliseconds", MethodColumns("stores")};
  for (int stores : {1, 5, 20, 100}) {
    GraphOptions options;
    options.scale = scales[1];
    options.stores_per_wrap = stores;
    ASSIGN_OR_RETURN(const GraphTraces traces, RecordedGraph(options, setting));
    ASSIGN_OR_RETURN(auto times, TimesOf(traces.build, machine));
    sizes.Add(absl::StrCat(stores), std::move(times));
  }
  figure.tables = {generate, build, all, sizes};
  for (Method undo : {Method::kUndo, Method::kUndoGrouped}) {
    figure.marks.push_back(OverUndo("construction", "\"a large speedup\"",
                                    build_times, scales.back(), undo));
    figure.marks.push_back(OverUndo("all of it", "\"roughly three fold\"",
                                    all_times, scales.back(), undo));
  }
  return figure;
}

absl::StatusOr<Figure> Figure13(const Setting& setting) {
  Figure figure{
      "13",
      "wraps of 20 inserts, 100,000 transactions/s offered; no marks: "
      "the paper's tree has other nodes"};
  Inserts inserts;
  inserts.wraps = setting.quick ? 20 : 100;
  for (Container container : kContainers) {
    ASSIGN_OR_RETURN(const Trace trace,
                     RecordedInserts(container, inserts, setting));
    const std::string name(ContainerName(container));
    RETURN_IF_ERROR(Keep(setting, name, trace));
    Table table{absl::StrCat(name, ": microseconds, by how much slower SCM is"),
                MethodColumns("SCM")};
    for (uint32_t slowdown : {1, 2, 4, 8}) {
      std::vector<double> row;
      for (Method method : kMethods) {
        RunOptions options;
        options.method = method;
        options.machine = SlowerMachine(setting, slowdown);
        options.interval = kSecond / 100'000;
        ASSIGN_OR_RETURN(const RunResult result, Simulate(trace, options));
        row.push_back(result.MeanResponse());
      }
      table.Add(absl::StrCat(slowdown, "x"), row);
    }
    figure.tables.push_back(table);
  }
  return figure;
}

absl::StatusOr<Figure> FormsFigure(const Setting& setting) {
  Figure figure{"forms",
                "both victim caches and both rules of section 4, inserts into "
                "an AVL tree, tiny caches, SCM 4x slower"};
  Inserts inserts;
  inserts.wraps = setting.quick ? 20 : 100;
  ASSIGN_OR_RETURN(const Trace trace,
                   RecordedInserts(Container::kAvl, inserts, setting));
  Table table{"averages of a wrap, and counts of lines",
              {"", "response us", "completion us", "put", "found", "most held",
               "overflowed", "written home"}};
  for (VictimForm victims :
       {VictimForm::kSetAssociative, VictimForm::kHashed}) {
    std::vector<std::vector<double>> rows;
    std::vector<LineNumber> released[2];
    for (ReleaseForm release :
         {ReleaseForm::kWatermark, ReleaseForm::kDependenceSets}) {
      RunOptions options;
      options.machine = WithTinyCaches(SlowerMachine(setting, kSlowdown));
      // 64 lines, so that the victim cache overflows.
      options.machine.victim_cache.sets = 16;
      options.machine.victim_cache.ways = 4;
      options.machine.l3.sets = 4;
      options.machine.victims = victims;
      options.machine.release = release;
      options.released = [&](LineNumber line) {
        released[static_cast<int>(release)].push_back(line);
      };
      ASSIGN_OR_RETURN(const RunResult result, Simulate(trace, options));
      const VictimCounts& counts = result.controller.victims;
      rows.push_back({result.MeanResponse(), result.MeanCompletion(),
                      static_cast<double>(counts.put),
                      static_cast<double>(counts.found),
                      static_cast<double>(counts.most),
                      static_cast<double>(counts.overflowed),
                      static_cast<double>(counts.written_home)});
      table.Add(absl::StrCat(
                    victims == VictimForm::kHashed ? "hash, FIFO" : "sets",
                    release == ReleaseForm::kWatermark ? ", watermark"
                                                       : ", dependence sets"),
                rows.back());
    }
    figure.marks.push_back(
        {absl::StrCat("watermarks and dependence sets come to the same, ",
                      victims == VictimForm::kHashed ? "hash, FIFO" : "sets"),
         "has dependence sets only",
         absl::StrFormat("%d and %d lines let go, in the same order",
                         released[0].size(), released[1].size()),
         rows[0] == rows[1] && released[0] == released[1]});
  }
  figure.tables = {table};
  return figure;
}

absl::StatusOr<Figure> TraceFigure(const std::string& name, const Trace& trace,
                                   const Setting& setting) {
  Figure figure{name, "a trace, as fast as it goes"};
  Table table{"milliseconds, by how much slower SCM is", MethodColumns("SCM")};
  for (uint32_t slowdown : {1, 2, 4, 8}) {
    ASSIGN_OR_RETURN(auto times,
                     TimesOf(trace, SlowerMachine(setting, slowdown)));
    table.Add(absl::StrCat(slowdown, "x"), std::move(times));
  }
  figure.tables = {table};
  return figure;
}

}  // namespace kamino::bench::controller
