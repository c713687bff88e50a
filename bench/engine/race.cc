#include "bench/engine/race.h"

#include <xxhash.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "bench/engine/measure.h"
#include "bench/harness/clock.h"
#include "bench/harness/statistics.h"
#include "glog/logging.h"

namespace kamino::bench {
namespace {

using Progress = std::function<void(const std::string&)>;

// One store's measurements in a cell.
struct Tally {
  std::vector<double> rounds;
  // One number for each round, by kind; the last is of all together.
  std::vector<std::vector<double>> p50, p99;
  uint64_t transactions = 0;
  uint64_t retries = 0;
  uint64_t hits = 0;
  uint64_t misses = 0;
};

// A store in the race.
struct Runner {
  StoreSpec spec;
  OpenedStore open;
  std::unique_ptr<Dataset> dataset;  // goes before the store
  std::vector<Tally> tallies;        // of the current cell, by delay
};

std::vector<Cell> Wanted(const Suite& suite, const RaceOptions& options) {
  std::vector<Cell> cells = suite.Cells();
  cells.erase(std::remove_if(cells.begin(), cells.end(),
                             [&](const Cell& cell) {
                               return !options.wanted(absl::StrCat(
                                   suite.name(), "/", cell.Name()));
                             }),
              cells.end());
  return cells;
}

// Bytes that fit into the folder and stay in memory.
uint64_t Room(const PoolFolder& folder) {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    uint64_t kib = 0;
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "MemAvailable:") &&
        absl::ConsumeSuffix(&rest, " kB") && absl::SimpleAtoi(rest, &kib)) {
      return std::min(folder.FreeBytes(), kib << 10);
    }
  }
  return folder.FreeBytes();
}

absl::Status CheckRoom(const Suite& suite, const std::vector<StoreSpec>& specs,
                       const PoolFolder& folder) {
  uint64_t needed = 0;
  for (const StoreSpec& spec : specs) needed += FileBytes(spec, suite.Bytes());
  const uint64_t room = Room(folder);
  if (needed <= room) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "suite %s with %d stores takes %.1f GiB in %s, and there are %.1f; "
      "--quick takes less, --only and --schemes leave things out",
      suite.name(), specs.size(), static_cast<double>(needed) / (1u << 30),
      folder.path(), static_cast<double>(room) / (1u << 30)));
}

absl::StatusOr<Runner> OpenRunner(const Suite& suite, const StoreSpec& spec,
                                  PoolFolder& folder, Watch watch) {
  Runner runner;
  runner.spec = spec;
  auto open = OpenForBench(spec, absl::StrCat(folder.path(), "/pool"),
                           suite.Bytes(), watch);
  folder.Unlink();
  if (!open.ok()) return Annotate(open.status(), spec.Name());
  runner.open = *std::move(open);
  runner.dataset = suite.MakeDataset(runner.open.store.get());
  if (absl::Status loaded = runner.dataset->Load(); !loaded.ok()) {
    return Annotate(loaded, absl::StrCat(spec.Name(), ": loading"));
  }
  runner.open.store->Quiesce();
  return runner;
}

// Null if the suite has no floor. The runner has no store.
absl::StatusOr<Runner> OpenFloor(const Suite& suite, PoolFolder& folder) {
  Runner runner;
  runner.spec.scheme = kFloor;
  auto dataset = suite.MakeFloor(absl::StrCat(folder.path(), "/floor"));
  folder.Unlink();
  if (!dataset.ok()) return Annotate(dataset.status(), kFloor);
  runner.dataset = *std::move(dataset);
  return runner;
}

bool TakesPart(const Runner& runner, const Suite& suite, const Cell& cell) {
  if (runner.open.store == nullptr) return suite.HasFloor(cell);
  return runner.spec.atomic() || !cell.rolls_back;
}

absl::StatusOr<Slice> RunSliceOf(Runner& runner, const Suite& suite,
                                 const Cell& cell, uint64_t seed,
                                 absl::Duration duration) {
  const auto quiesce = [&runner] {
    if (runner.open.store != nullptr) runner.open.store->Quiesce();
  };
  auto slice = RunSlice(quiesce, *runner.dataset, cell, suite.kinds().size(),
                        seed, {duration, suite.MaxTransactions()});
  if (slice.ok()) return slice;
  return Annotate(slice.status(),
                  absl::StrCat(runner.spec.Name(), ": ", cell.Name()));
}

void Reset(Runner& runner, size_t kinds, size_t delays) {
  Tally empty;
  empty.p50.resize(kinds + 1);
  empty.p99.resize(kinds + 1);
  runner.tallies.assign(delays, empty);
}

void AddQuantiles(Tally& tally, size_t at, const Histogram& ticks) {
  if (ticks.count() == 0) return;
  tally.p50[at].push_back(ticks.Quantile(0.5) * NanosPerTick());
  tally.p99[at].push_back(ticks.Quantile(0.99) * NanosPerTick());
}

void SetDrain(const Runner& runner, size_t delay, const RaceOptions& options) {
  CHECK(options.drains_ns.size() == 1 || runner.open.set_drain_ns);
  if (runner.open.set_drain_ns) {
    runner.open.set_drain_ns(options.drains_ns[delay]);
  }
}

// Cells and rounds draw different transactions, all stores the same.
uint64_t SeedOf(const Cell& cell, int round) {
  const std::string name = cell.Name();
  return XXH3_64bits_withSeed(name.data(), name.size(), round);
}

absl::Status RunRound(Runner& runner, const Suite& suite, const Cell& cell,
                      int round, size_t delay, const RaceOptions& options) {
  const size_t kinds = suite.kinds().size();
  Tally& tally = runner.tallies[delay];
  SetDrain(runner, delay, options);
  const engine::UndoCopyStats before =
      runner.open.undo_copy ? runner.open.undo_copy() : engine::UndoCopyStats();
  ASSIGN_OR_RETURN(
      const Slice slice,
      RunSliceOf(runner, suite, cell, SeedOf(cell, round + 1), options.slice));
  if (runner.open.undo_copy) {
    const engine::UndoCopyStats after = runner.open.undo_copy();
    tally.hits += after.hits - before.hits;
    tally.misses += after.misses - before.misses;
  }
  tally.rounds.push_back(slice.PerSecond());
  tally.transactions += slice.transactions;
  tally.retries += slice.retries;
  Histogram all;
  for (size_t i = 0; i < kinds; ++i) {
    AddQuantiles(tally, i, slice.ticks[i]);
    all.Merge(slice.ticks[i]);
  }
  AddQuantiles(tally, kinds, all);
  return absl::OkStatus();
}

Row MakeRow(const Runner& runner, const Suite& suite, const Cell& cell,
            const Tally& tally) {
  Row row;
  row.suite = suite.name();
  row.store = runner.spec;
  row.cell = cell;
  row.rounds = tally.rounds;
  const std::vector<std::string> kinds = suite.kinds();
  row.p50_ns = Median(tally.p50[kinds.size()]);
  row.p99_ns = Median(tally.p99[kinds.size()]);
  for (size_t i = 0; i < kinds.size() && kinds.size() > 1; ++i) {
    if (tally.p50[i].empty()) continue;
    row.kinds.push_back({kinds[i], Median(tally.p50[i]), Median(tally.p99[i])});
  }
  row.retries_per_tx =
      static_cast<double>(tally.retries) /
      static_cast<double>(std::max<uint64_t>(tally.transactions, 1));
  if (runner.open.store != nullptr) {
    row.bytes_storage = runner.open.store->bytes_used();
  }
  // The others have one and do not use it.
  if (runner.open.heap != nullptr && runner.spec.atomic()) {
    row.bytes_log = static_cast<double>(runner.open.heap->log_area().size());
  }
  if (tally.hits + tally.misses > 0) {
    row.hit_rate = static_cast<double>(tally.hits) /
                   static_cast<double>(tally.hits + tally.misses);
  }
  return row;
}

absl::Status RunCell(std::vector<Runner>& all, const Suite& suite,
                     const Cell& cell, absl::Duration warm_up,
                     const RaceOptions& options, std::vector<Row>* rows) {
  std::vector<Runner*> runners;
  for (Runner& runner : all) {
    if (TakesPart(runner, suite, cell)) runners.push_back(&runner);
  }
  for (Runner* next : runners) {
    Runner& runner = *next;
    Reset(runner, suite.kinds().size(), options.drains_ns.size());
    SetDrain(runner, 0, options);
    RETURN_IF_ERROR(
        RunSliceOf(runner, suite, cell, SeedOf(cell, 0), warm_up).status());
  }
  const size_t delays = options.drains_ns.size();
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t delay = 0; delay < delays; ++delay) {
      // Another goes first each time.
      for (size_t i = 0; i < runners.size(); ++i) {
        Runner& runner = *runners[(i + round) % runners.size()];
        RETURN_IF_ERROR(RunRound(runner, suite, cell, round,
                                 (delay + round) % delays, options));
      }
    }
  }
  for (size_t delay = 0; delay < delays; ++delay) {
    Cell slowed = cell;
    slowed.drain_ns = options.drains_ns[delay];
    for (const Runner* runner : runners) {
      rows->push_back(MakeRow(*runner, suite, slowed, runner->tallies[delay]));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunTimed(const Suite& suite, const std::vector<StoreSpec>& specs,
                      PoolFolder& folder, const RaceOptions& options,
                      const Progress& progress, std::vector<Row>* rows) {
  const std::vector<Cell> cells = Wanted(suite, options);
  if (cells.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckRoom(suite, specs, folder));
  std::vector<Runner> runners;
  for (const StoreSpec& spec : specs) {
    progress(absl::StrCat(suite.name(), ": filling ", spec.Name()));
    ASSIGN_OR_RETURN(auto runner,
                     OpenRunner(suite, spec, folder, Watch::kNothing));
    runners.push_back(std::move(runner));
  }
  // It is not slowed.
  if (options.floor && options.drains_ns == std::vector<uint64_t>{0}) {
    ASSIGN_OR_RETURN(auto floor, OpenFloor(suite, folder));
    if (floor.dataset != nullptr) runners.push_back(std::move(floor));
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    progress(absl::StrCat(suite.name(), ": ", i + 1, " of ", cells.size(), ", ",
                          cells[i].Name()));
    const absl::Duration warm_up =
        i == 0 ? options.first_warm_up : options.warm_up;
    RETURN_IF_ERROR(RunCell(runners, suite, cells[i], warm_up, options, rows));
  }
  return absl::OkStatus();
}

absl::Status RunCounted(const Suite& suite, const std::vector<StoreSpec>& specs,
                        PoolFolder& folder, const RaceOptions& options,
                        const Progress& progress, std::vector<Row>* rows) {
  const std::vector<Cell> cells = Wanted(suite, options);
  if (cells.empty()) return absl::OkStatus();
  for (const StoreSpec& spec : specs) {
    if (!CanCount(spec)) continue;
    progress(
        absl::StrCat(suite.name(), ": counting the flushes of ", spec.Name()));
    ASSIGN_OR_RETURN(auto runner,
                     OpenRunner(suite, spec, folder, Watch::kCounts));
    for (const Cell& cell : cells) {
      if (cell.rolls_back && !spec.atomic()) continue;
      // First writes of objects need more drains. The warm-up has a number of
      // transactions, so that counts do not depend on the machine's speed.
      const uint64_t warm_up =
          std::min(suite.MaxTransactions(),
                   20 * suite.CountedTransactions() / cell.threads + 1);
      const auto warm =
          RunSlice(*runner.open.store, *runner.dataset, cell,
                   suite.kinds().size(), 0, {absl::Minutes(1), warm_up});
      if (!warm.ok()) return Annotate(warm.status(), spec.Name());
      const engine::PmemCounts before = runner.open.counts();
      const engine::PmemCounts beside_before = runner.open.background_counts();
      auto slice = RunSlice(
          *runner.open.store, *runner.dataset, cell, suite.kinds().size(), 1,
          {absl::Minutes(1), suite.CountedTransactions() / cell.threads + 1});
      if (!slice.ok()) return Annotate(slice.status(), spec.Name());
      const engine::PmemCounts counts = runner.open.counts() - before;
      const engine::PmemCounts beside =
          runner.open.background_counts() - beside_before;
      const double transactions = static_cast<double>(slice->transactions);
      for (Row& row : *rows) {
        if (row.suite != suite.name() || row.store.Name() != spec.Name() ||
            row.cell.Name() != cell.Name()) {
          continue;
        }
        row.fences_per_tx = static_cast<double>(counts.drains) / transactions;
        row.lines_per_tx = static_cast<double>(counts.lines) / transactions;
        row.background_fences_per_tx =
            static_cast<double>(beside.drains) / transactions;
        row.background_lines_per_tx =
            static_cast<double>(beside.lines) / transactions;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench
