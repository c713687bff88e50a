#include "bench/engine/breakdown.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/engine/measure.h"
#include "bench/harness/statistics.h"

namespace kamino::bench {
namespace {

using Progress = std::function<void(const std::string&)>;

struct Runner {
  StoreSpec spec;
  OpenedStore open;
  std::unique_ptr<StagedStore> staged;
  std::unique_ptr<Dataset> dataset;  // goes before the store
};

bool Allocates(const Cell& cell) { return cell.workload == "alloc-link-free"; }

absl::StatusOr<Runner> OpenRunner(const Suite& suite, const StoreSpec& spec,
                                  PoolFolder& folder) {
  Runner runner;
  runner.spec = spec;
  auto open = OpenForBench(spec, absl::StrCat(folder.path(), "/pool"),
                           suite.Bytes(), Watch::kStages);
  folder.Unlink();
  if (!open.ok()) return open.status();
  runner.open = *std::move(open);
  return runner;
}

// Once the runner stays where it is.
absl::Status Load(Runner& runner, const Suite& suite) {
  runner.staged = std::make_unique<StagedStore>(&runner.open);
  runner.dataset = suite.MakeDataset(runner.staged.get());
  return runner.dataset->Load();
}

// Nanoseconds of a transaction.
absl::StatusOr<double> NanosOf(Runner& runner, const Suite& suite,
                               const Cell& cell, Stage stage, int round,
                               absl::Duration slice) {
  runner.staged->SetStage(stage);
  ASSIGN_OR_RETURN(auto done, RunSlice(*runner.staged, *runner.dataset, cell,
                                       suite.kinds().size(), round + 1,
                                       {slice, suite.MaxTransactions()}));
  return done.seconds * 1e9 / static_cast<double>(done.transactions);
}

absl::StatusOr<BreakdownRow> Measure(Runner& runner, const Suite& suite,
                                     const Cell& cell,
                                     const RaceOptions& options) {
  std::array<std::vector<double>, kStages.size()> nanos;
  RETURN_IF_ERROR(
      NanosOf(runner, suite, cell, kStages.back(), -1, options.warm_up)
          .status());
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < kStages.size(); ++i) {
      // Each goes first in some round.
      const size_t at = (i + round) % kStages.size();
      if (Allocates(cell) && kStages[at] <= Stage::kLocks) continue;
      ASSIGN_OR_RETURN(auto one, NanosOf(runner, suite, cell, kStages[at],
                                         round, options.slice));
      nanos[at].push_back(one);
    }
  }
  BreakdownRow row{suite.name(), runner.spec, cell, {}};
  double before = 0;
  for (size_t i = 0; i < kStages.size(); ++i) {
    if (nanos[i].empty()) continue;
    const double median = Median(nanos[i]);
    row.nanos[i] = median - before;
    before = median;
  }
  return row;
}

}  // namespace

double BreakdownRow::total() const {
  double sum = 0;
  for (const auto& part : nanos) sum += part.value_or(0);
  return sum;
}

bool CanBreakDown(const Cell& cell) {
  if (cell.threads != 1 || cell.rolls_back) return false;
  if (cell.distribution == "hot") return cell.value_size != 256;
  return Allocates(cell) ||
         ((cell.workload == "ycsb-a" || cell.workload == "ycsb-c") &&
          cell.distribution == "zipfian");
}

absl::Status RunBreakdown(const Suite& suite,
                          const std::vector<StoreSpec>& specs,
                          PoolFolder& folder, const RaceOptions& options,
                          const Progress& progress,
                          std::vector<BreakdownRow>* rows) {
  std::vector<Cell> cells;
  for (const Cell& cell : suite.Cells()) {
    if (CanBreakDown(cell) &&
        options.wanted(absl::StrCat("breakdown/", cell.Name()))) {
      cells.push_back(cell);
    }
  }
  if (cells.empty()) return absl::OkStatus();
  for (const StoreSpec& spec : specs) {
    if (!CanWatch(spec)) continue;
    progress(absl::StrCat("breakdown: filling ", spec.Name()));
    ASSIGN_OR_RETURN(auto runner, OpenRunner(suite, spec, folder));
    RETURN_IF_ERROR(Load(runner, suite));
    for (const Cell& cell : cells) {
      progress(absl::StrCat("breakdown: ", spec.Name(), ", ", cell.Name()));
      ASSIGN_OR_RETURN(auto row, Measure(runner, suite, cell, options));
      rows->push_back(std::move(row));
    }
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench
