#include "bench/service/race.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "bench/harness/statistics.h"
#include "bench/service/terminals.h"

namespace kamino::bench::service {
namespace {

constexpr int kLoaders = 64;
constexpr int kHalf = 50;
constexpr uint64_t kMostBytesUnderWay = 8 << 20;  // while loading

std::string Describe(const Cell& cell) {
  const std::string what =
      absl::StrCat(cell.workload, " ", cell.value_size, " B, ");
  if (cell.mode == Mode::kClosed) {
    return absl::StrCat(what, cell.outstanding, " outstanding");
  }
  const std::string load = cell.load == 0
                               ? absl::StrFormat("%.0f per second", cell.rate)
                               : absl::StrCat(cell.load, " % load");
  return absl::StrCat(what, load,
                      cell.mode == Mode::kEndurance ? ", the long one" : "");
}

class Race {
 public:
  Race(const std::vector<Racer>& racers, const RaceOptions& options,
       const Progress& progress, std::vector<Row>* rows)
      : racers_(racers), options_(options), progress_(progress), rows_(rows) {
    for (size_t i = 0; i < racers_.size(); ++i) {
      first_process_.push_back(processes_.size());
      for (const Process& process : racers_[i].processes) {
        processes_.push_back(
            {absl::StrCat(racers_[i].subject->name(), " ", process.role),
             process.pid});
      }
    }
    first_process_.push_back(processes_.size());
  }

  absl::Status Run() {
    for (size_t size : options_.value_sizes) {
      bool loaded = false;
      for (const std::string& workload : options_.workloads) {
        if (FindMix(workload)->transacts()) continue;
        if (!loaded) RETURN_IF_ERROR(Load(size));
        loaded = true;
        RETURN_IF_ERROR(RunWorkload(workload, size));
      }
    }
    for (const std::string& workload : options_.workloads) {
      if (FindMix(workload)->transacts()) {
        RETURN_IF_ERROR(RunTransactions(workload));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Load(size_t size) {
    const uint64_t objects = ObjectsOf(options_, size);
    populations_.clear();
    for (const Racer& racer : racers_) {
      progress_(absl::StrCat(racer.subject->name(), ": loading ", objects,
                             " objects of ", size, " B"));
      populations_.push_back(std::make_unique<Population>(0));
      const Workload load(*FindMix("load"), objects, size,
                          populations_.back().get());
      const auto loaders = static_cast<int>(
          std::clamp<uint64_t>(kMostBytesUnderWay / size, 1, kLoaders));
      const absl::Status loaded =
          RunToEnd(racer.subject.get(), load, loaders, objects, 0);
      if (!loaded.ok()) {
        return absl::Status(loaded.code(),
                            absl::StrCat(racer.subject->name(),
                                         ": loading: ", loaded.message()));
      }
      RETURN_IF_ERROR(racer.subject->TidyUp());
    }
    return absl::OkStatus();
  }

  absl::Status RunTransactions(const std::string& workload) {
    populations_.clear();
    for (const Racer& racer : racers_) {
      populations_.push_back(std::make_unique<Population>(0));
      if (!racer.subject->transacts()) continue;
      progress_(absl::StrCat(racer.subject->name(), ": loading TPC-C, ",
                             options_.tpcc.warehouses, " warehouses"));
      const absl::Status loaded = LoadTpcc(racer.subject.get(), options_.tpcc);
      if (!loaded.ok()) {
        return absl::Status(loaded.code(),
                            absl::StrCat(racer.subject->name(),
                                         ": loading: ", loaded.message()));
      }
    }
    Cell cell;
    cell.workload = workload;
    for (int outstanding : options_.outstanding) {
      cell.outstanding = outstanding;
      RETURN_IF_ERROR(RunCell(cell, options_.rounds));
    }
    return absl::OkStatus();
  }

  absl::Status RunWorkload(const std::string& workload, size_t size) {
    Cell cell;
    cell.workload = workload;
    cell.value_size = size;
    cell.objects = ObjectsOf(options_, size);
    best_.clear();
    for (int outstanding : options_.outstanding) {
      cell.outstanding = outstanding;
      RETURN_IF_ERROR(RunCell(cell, options_.rounds));
    }
    cell.outstanding = 0;
    cell.mode = Mode::kOpen;
    for (int load : options_.loads) {
      cell.load = load;
      RETURN_IF_ERROR(RunCell(cell, options_.rounds));
    }
    cell.load = 0;
    for (double rate : options_.rates) {
      cell.rate = rate;
      RETURN_IF_ERROR(RunCell(cell, options_.rounds));
    }
    cell.rate = 0;
    if (options_.endurance <= absl::ZeroDuration() ||
        workload != options_.workloads.front() ||
        size != options_.value_sizes.front()) {
      return absl::OkStatus();
    }
    cell.mode = Mode::kEndurance;
    cell.load = kHalf;
    return RunCell(cell, 1);
  }

  absl::Status RunCell(const Cell& cell, int rounds) {
    progress_(Describe(cell));
    const Mix& mix = *FindMix(cell.workload);
    const size_t first = rows_->size();
    std::vector<size_t> runs;  // of racers, those that can
    for (size_t i = 0; i < racers_.size(); ++i) {
      if (mix.scans() && !racers_[i].subject->scans()) continue;
      if (mix.transacts() && !racers_[i].subject->transacts()) continue;
      runs.push_back(i);
      rows_->push_back({cell, racers_[i].subject->name(), {}, 0, {}});
    }
    for (int round = 0; round < rounds; ++round) {
      ++seed_;  // all are asked for the same
      for (size_t i = 0; i < runs.size(); ++i) {
        // Each goes first in some round.
        const size_t turn = (i + static_cast<size_t>(round)) % runs.size();
        RETURN_IF_ERROR(
            TakeTurn(runs[turn], cell, mix, &(*rows_)[first + turn]));
      }
    }
    for (size_t i = 0; i < runs.size() && mix.transacts(); ++i) {
      Row& row = (*rows_)[first + i];
      const absl::Status consistent =
          CheckTpcc(racers_[runs[i]].subject.get(), options_.tpcc);
      row.errors += consistent.ok() ? 0 : 1;
      row.first_error.Update(consistent);
    }
    if (cell.mode == Mode::kClosed) {
      for (size_t i = 0; i < runs.size(); ++i) {
        const Row& row = (*rows_)[first + i];
        best_[runs[i]] = std::max(best_[runs[i]], MedianRate(row));
      }
    }
    return absl::OkStatus();
  }

  static double MedianRate(const Row& row) {
    std::vector<double> rates;
    for (const Turn& turn : row.turns) rates.push_back(turn.per_second);
    return Median(rates);
  }

  absl::Status TakeTurn(size_t racer, const Cell& cell, const Mix& mix,
                        Row* row) {
    Subject* const subject = racers_[racer].subject.get();
    const Workload workload(mix, std::max<uint64_t>(cell.objects, 1),
                            cell.value_size, populations_[racer].get());
    absl::StatusOr<Usage> before = absl::UnknownError(""), after = before;
    Window window;
    window.warm_up = options_.warm_up;
    window.length =
        cell.mode == Mode::kEndurance ? options_.endurance : options_.slice;
    window.begins = [&] { before = ReadUsage(processes_); };
    window.ends = [&] { after = ReadUsage(processes_); };
    Turn turn;
    Outcome outcome;
    if (mix.transacts()) {
      outcome =
          RunTerminals(subject, options_.tpcc, cell.outstanding, seed_, window);
    } else if (cell.mode == Mode::kClosed) {
      outcome = RunClosed(subject, workload, cell.outstanding, seed_, window);
    } else {
      turn.offered =
          cell.load == 0 ? cell.rate : best_[racer] * cell.load / 100;
      // A subject whose closed load had only errors has no rate for an open
      // load.
      if (turn.offered <= 0) return absl::OkStatus();
      outcome = RunOpen(subject, workload, turn.offered, options_.arrivals,
                        seed_, window);
    }
    if (!before.ok()) return before.status();
    if (!after.ok()) return after.status();
    Count(outcome, &turn);
    Account(racer, *before, *after, outcome, &turn);
    row->turns.push_back(std::move(turn));
    row->errors += outcome.errors;
    row->first_error.Update(outcome.first_error);
    return subject->TidyUp();
  }

  static void Count(const Outcome& outcome, Turn* turn) {
    turn->per_second = outcome.per_second();
    turn->operations = outcome.latency.count();
    turn->p50 = outcome.latency.Quantile(0.5);
    turn->p99 = outcome.latency.Quantile(0.99);
    turn->p999 = outcome.latency.Quantile(0.999);
    turn->p9999 = outcome.latency.Quantile(0.9999);
    turn->most = static_cast<double>(outcome.latency.most());
    turn->mean = outcome.latency.Mean();
    turn->writes_p50 = outcome.latency_of_writes.Quantile(0.5);
    turn->writes_mean = outcome.latency_of_writes.Mean();
    turn->lateness_p50 = outcome.lateness.Quantile(0.5);
    turn->lateness_p99 = outcome.lateness.Quantile(0.99);
  }

  void Account(size_t racer, const Usage& before, const Usage& after,
               const Outcome& outcome, Turn* turn) const {
    const auto spent = [&](size_t i) {
      return absl::ToDoubleMicroseconds(after.processor_time[i] -
                                        before.processor_time[i]);
    };
    const double operations =
        static_cast<double>(std::max<uint64_t>(outcome.ended, 1));
    turn->processor_time.push_back({"driver", spent(0) / operations});
    double others = 0;
    double all = spent(0);
    std::set<pid_t> counted;
    for (size_t i = 0; i < processes_.size(); ++i) {
      const double micros = spent(i + 1);
      if (counted.insert(processes_[i].pid).second) all += micros;
      const Process* const own = OwnOf(racer, processes_[i].pid);
      if (own == nullptr) {
        others += micros;
      } else if (i >= first_process_[racer] && i < first_process_[racer + 1]) {
        turn->processor_time.push_back({own->role, micros / operations});
      }
    }
    const double elapsed = absl::ToDoubleMicroseconds(outcome.elapsed);
    turn->others = others / elapsed;
    turn->steal = StealFraction(before.system, after.system);
    turn->idle = IdleFraction(before.system, after.system);
    turn->foreign = std::max(0.0, (1 - turn->idle - turn->steal) *
                                          std::thread::hardware_concurrency() -
                                      all / elapsed);
  }

  // The racer's process of that id: two may be ways to the same servers.
  const Process* OwnOf(size_t racer, pid_t pid) const {
    for (const Process& process : racers_[racer].processes) {
      if (process.pid == pid) return &process;
    }
    return nullptr;
  }

  const std::vector<Racer>& racers_;
  const RaceOptions& options_;
  const Progress& progress_;
  std::vector<Row>* const rows_;

  std::vector<Process> processes_;  // of all, and where each one's begin
  std::vector<size_t> first_process_;
  std::vector<std::unique_ptr<Population>> populations_;
  std::map<size_t, double> best_;  // by racer: of closed loads, per second
  uint64_t seed_ = 0;
};

}  // namespace

uint64_t ObjectsOf(const RaceOptions& options, size_t value_size) {
  return std::clamp<uint64_t>(options.most_bytes / value_size, 1,
                              options.objects);
}

absl::Status RunRace(const std::vector<Racer>& racers,
                     const RaceOptions& options, const Progress& progress,
                     std::vector<Row>* rows) {
  return Race(racers, options, progress, rows).Run();
}

}  // namespace kamino::bench::service
