// WrAP's figures as far as a functional scheme has them (section 4): what is
// flushed, and what a transaction takes while the rest is done beside it.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/harness/clock.h"
#include "engine/pmem/background_work.h"
#include "lab/schemes/open_loop.h"
#include "lab/schemes/part.h"
#include "lab/schemes/small_tree.h"
#include "lab/schemes/words.h"

namespace kamino::bench::schemes {
namespace {

constexpr int kWraps = 100;
constexpr int kStores = 20;  // of a wrap
constexpr uint64_t kBytes = 64u << 20;
// An array of 1 MiB: it stays in the cache.
constexpr uint64_t kObjects = 4096;
constexpr uint32_t kObjectBytes = 256;
constexpr uint64_t kSeed = 3;
// The paper's rate, with its simulated machine; and one that all stores keep up
// with here.
constexpr double kArrivals = 10'000;
constexpr double kTreeArrivals = 500;

// The paper's rivals: undo logging with two waits a store, a store that is not
// atomic, and none that is durable. Beside them undo logging as it can be had,
// and "wrap" where it is asked for.
std::vector<std::string> Rivals(const Setting& setting) {
  std::vector<std::string> names = {"undo-each", "undo-own", "unsafe",
                                    "cached"};
  for (const char* name : {"wrap", "kamino-simple"}) {
    if (setting.Among(name)) names.push_back(name);
  }
  return names;
}

// Slower memory: each line that is written back takes so much longer, and so
// does each wait.
Memory Slower(uint64_t nanos) {
  return {absl::StrCat(nanos, " ns a line and drain"), {nanos, nanos}};
}

std::vector<Memory> Memories(const Setting& setting) {
  std::vector<Memory> memories = {AsItIs()};
  for (const uint64_t nanos :
       setting.Scaled<std::vector<uint64_t>>({150, 300, 600}, {300})) {
    memories.push_back(Slower(nanos));
  }
  return memories;
}

// An array in a store, and how its wraps are made.
struct Array {
  std::string series;
  std::unique_ptr<Words> words;
  bool declares = false;

  engine::TransactionalStore& store() const { return words->store(); }
  absl::Status Fill(engine::Transaction& wrap, Random& random) const {
    return words->StoreScattered(wrap, kStores, random, declares);
  }
};

// One for each rival, and one with declared stores: then undo logging waits for
// all of them at once. Stores that wait only for the end gain nothing by that.
// With `alone` WrAP retires when it is told to.
absl::StatusOr<std::vector<Array>> Arrays(const Setting& setting,
                                          const Memory& memory, Watch watch,
                                          bool alone = false) {
  std::vector<Array> arrays;
  for (const std::string& name : Rivals(setting)) {
    arrays.push_back({name, nullptr, false});
    if (name == "undo-own")
      arrays.push_back({name + ", declared", nullptr, true});
  }
  for (Array& array : arrays) {
    const std::string store = array.declares                    ? "undo-own"
                              : alone && array.series == "wrap" ? "wrap+alone"
                                                                : array.series;
    ASSIGN_OR_RETURN(array.words, Words::Make(setting, store, memory, kBytes,
                                              kObjects, kObjectBytes, watch));
  }
  return arrays;
}

absl::Status RunWraps(const Array& array, int count) {
  Random random(kSeed);
  for (int i = 0; i < count; ++i) {
    const auto wrap = array.store().Begin(kPatient);
    RETURN_IF_ERROR(array.Fill(*wrap, random));
    RETURN_IF_ERROR(wrap->Commit());
  }
  return absl::OkStatus();
}

void AddQuantiles(Setting& setting, const std::string& figure,
                  const std::string& series, const Memory& memory, double x,
                  const std::vector<Responses>& rounds) {
  const auto add = [&](const char* measure, auto value) {
    std::vector<double> values;
    for (const Responses& one : rounds) values.push_back(value(one));
    setting.points->push_back(
        {figure, series, memory.name, measure, x, std::move(values)});
  };
  add("p50 ns", [](const Responses& r) { return r.service.Quantile(0.5); });
  add("p99 ns", [](const Responses& r) { return r.service.Quantile(0.99); });
  add("mean ns", [](const Responses& r) { return r.service.Mean(); });
  add("p50 ns from the arrival",
      [](const Responses& r) { return r.response.Quantile(0.5); });
}

absl::Status ResponsesOn(Setting& setting, const Memory& memory) {
  ASSIGN_OR_RETURN(auto arrays, Arrays(setting, memory, Watch::kNothing));
  const auto run = [&](int subject) -> absl::StatusOr<Responses> {
    const Array& array = arrays[subject];
    Random random(kSeed);
    Arrivals arrivals{kArrivals, setting.Scaled<uint64_t>(2000, 300)};
    auto done = RunArrivals(
        array.store(), arrivals,
        [&](engine::Transaction& wrap) { return array.Fill(wrap, random); });
    array.store().Quiesce();
    return done;
  };
  ASSIGN_OR_RETURN(const auto all,
                   InTurnsOf<Responses>(static_cast<int>(arrays.size()),
                                        setting.rounds, run));
  for (size_t i = 0; i < arrays.size(); ++i) {
    AddQuantiles(setting, "wrap-8", arrays[i].series, memory,
                 static_cast<double>(memory.delays.line_ns), all[i]);
  }
  return absl::OkStatus();
}

// Inserts of so many new records as one transaction each.
absl::Status TreeOn(Setting& setting, const Memory& memory,
                    const std::vector<int>& inserts, const char* figure,
                    bool by_memory) {
  std::vector<std::unique_ptr<SmallTree>> trees;
  for (const std::string& name : Rivals(setting)) {
    ASSIGN_OR_RETURN(auto tree,
                     SmallTree::Make(setting, name, memory,
                                     setting.Scaled<uint64_t>(20'000, 3000)));
    trees.push_back(std::move(tree));
  }
  for (const int count : inserts) {
    const auto run = [&](int subject) -> absl::StatusOr<Responses> {
      SmallTree& tree = *trees[subject];
      Arrivals arrivals{kTreeArrivals, setting.Scaled<uint64_t>(200, 20)};
      auto done = RunArrivals(tree.store(), arrivals,
                              [&](engine::Transaction& transaction) {
                                for (int i = 0; i < count; ++i) {
                                  RETURN_IF_ERROR(tree.Insert(transaction));
                                }
                                return absl::OkStatus();
                              });
      if (!done.ok()) return done.status();
      RETURN_IF_ERROR(tree.Restore());
      return done;
    };
    ASSIGN_OR_RETURN(const auto all,
                     InTurnsOf<Responses>(static_cast<int>(trees.size()),
                                          setting.rounds, run));
    for (size_t i = 0; i < trees.size(); ++i) {
      AddQuantiles(
          setting, figure, trees[i]->name(), memory,
          by_memory ? static_cast<double>(memory.delays.line_ns) : count,
          all[i]);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WrapCounts(Setting& setting) {
  // With a retiring thread, the machine's load decides how the work is divided:
  // a thread that is late leaves a part to transactions.
  ASSIGN_OR_RETURN(auto arrays,
                   Arrays(setting, AsItIs(), Watch::kCounts, /*alone=*/true));
  for (const Array& array : arrays) {
    OpenedStore& opened = array.words->opened();
    const engine::PmemCounts before = opened.counts();
    const engine::PmemCounts beside_before = opened.background_counts();
    RETURN_IF_ERROR(RunWraps(array, kWraps));
    {
      const engine::BackgroundWork beside;
      array.store().Quiesce();
    }
    const engine::PmemCounts all = opened.counts() - before;
    const engine::PmemCounts beside =
        opened.background_counts() - beside_before;
    const auto add = [&](const char* measure, uint64_t count) {
      setting.points->push_back({"wrap-6",
                                 array.series,
                                 kByCount,
                                 measure,
                                 kStores,
                                 {static_cast<double>(count)}});
    };
    add("drains", all.drains - beside.drains);
    add("lines", all.lines - beside.lines);
    add("drains beside", beside.drains);
    add("lines beside", beside.lines);
  }
  return absl::OkStatus();
}

absl::Status WrapThroughput(Setting& setting) {
  for (const Memory& memory : Memories(setting)) {
    ASSIGN_OR_RETURN(auto arrays, Arrays(setting, memory, Watch::kNothing));
    const int wraps = setting.Scaled(2000, 300);
    for (const bool retired : {false, true}) {
      const auto measure = [&](int subject) -> absl::StatusOr<double> {
        const Array& array = arrays[subject];
        const uint64_t begin = Ticks();
        RETURN_IF_ERROR(RunWraps(array, wraps));
        const double committed = NanosSince(begin);
        array.store().Quiesce();
        return wraps * 1e9 / (retired ? NanosSince(begin) : committed);
      };
      ASSIGN_OR_RETURN(
          const auto rounds,
          InTurns(static_cast<int>(arrays.size()), setting.rounds, measure));
      for (size_t i = 0; i < arrays.size(); ++i) {
        setting.points->push_back(
            {"wrap-7", arrays[i].series, memory.name,
             retired ? "wraps a second, retired" : "wraps a second, committed",
             static_cast<double>(memory.delays.line_ns), rounds[i]});
      }
    }
  }
  return absl::OkStatus();
}

absl::Status WrapResponses(Setting& setting) {
  for (const Memory& memory : Memories(setting)) {
    RETURN_IF_ERROR(ResponsesOn(setting, memory));
  }
  return absl::OkStatus();
}

absl::Status WrapTree(Setting& setting) {
  for (const Memory& memory : Memories(setting)) {
    RETURN_IF_ERROR(TreeOn(setting, memory, {kStores}, "wrap-13", true));
  }
  if (setting.quick) return absl::OkStatus();
  return TreeOn(setting, Slower(300), {1, 5, 10, 20, 40}, "wrap-14", false);
}

}  // namespace kamino::bench::schemes
