#include "lab/schemes/part.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/harness/clock.h"
#include "glog/logging.h"

namespace kamino::bench::schemes {
namespace {

// How the names begin of the schemes that parts are about.
constexpr char kRewind[] = "rewind-";
constexpr char kWrap[] = "wrap";
constexpr char kArchapt[] = "archapt";

}  // namespace

const Memory& AsItIs() {
  static const auto& memory =
      *new Memory{HasPmemShim() ? "as it is, libpmem watched" : "as it is", {}};
  return memory;
}

const Memory& AsRewinds() {
  static const auto& memory = *new Memory{"150 ns a line", {0, 150}};
  return memory;
}

std::vector<Memory> RewindMemories(const Setting& setting) {
  return setting.Scaled<std::vector<Memory>>({AsItIs(), AsRewinds()},
                                             {AsRewinds()});
}

bool Setting::Among(const std::string& scheme) const {
  return std::any_of(
      stores.begin(), stores.end(),
      [&scheme](const StoreSpec& store) { return store.scheme == scheme; });
}

bool Setting::Wants(const Part& part) const {
  return std::any_of(stores.begin(), stores.end(),
                     [&part](const StoreSpec& store) {
                       return absl::StartsWith(store.scheme, part.scheme);
                     });
}

std::vector<Part> AllParts() {
  std::vector<Part> parts = {
      {"rewind-3-left", "what logging costs, by how much is stored",
       RewindLogging, false, kRewind},
      {"rewind-3-4", "commit, rollback and recovery among others' records",
       RewindSkips, false, kRewind},
      {"rewind-5", "logging and recovery together", RewindTotals, false,
       kRewind},
      {"rewind-6", "checkpoints", RewindCheckpoints, false, kRewind},
      {"rewind-7", "a B+tree of small records", RewindTree, true, kRewind},
      {"rewind-10", "slower fences", RewindFences, false, kRewind},
      {"rewind-11", "TPC-C's new orders, by layout", RewindTpcc, false,
       kRewind},
      {"wrap-6", "flushes and fences of 100 wraps", WrapCounts, false, kWrap},
      {"wrap-7", "bursts, with and without retirement", WrapThroughput, false,
       kWrap},
      {"wrap-8", "response times of 20 stores", WrapResponses, false, kWrap},
      {"wrap-13-14", "response times of a B+tree", WrapTree, false, kWrap},
      {"archapt-1-2", "logging, and what flushing is of it", ArchaptLogging,
       true},
      {"archapt-7", "throughput when there is more than the queue holds",
       ArchaptSpeed, false, kArchapt},
      {"archapt-3", "how often objects are used", ArchaptReuse},
      {"archapt-table-1", "how much of a flushed line is new", ArchaptDirtiness,
       false, kArchapt},
      {"archapt-sums", "what checks and sums cost", ArchaptChecking, false,
       kArchapt},
      {"archapt-9", "lines flushed when there is more than the queue holds",
       ArchaptFlushes, true, kArchapt},
      {"durable", "time to the commit, and until it is durable",
       DurableLatency},
      {"recovery", "opening after a crash with a full log", RecoveryTimes},
      {"data", "memory that data takes, and opening it", DataCosts},
  };
  if (HasPmemShim()) {
    parts.erase(std::remove_if(parts.begin(), parts.end(),
                               [](const Part& part) { return !part.watches; }),
                parts.end());
  }
  return parts;
}

absl::StatusOr<OpenedStore> Open(const Setting& setting,
                                 const std::string& name, const Memory& memory,
                                 uint64_t bytes, Watch watch) {
  auto spec = StoreNamed(name);
  CHECK(spec.ok()) << spec.status();
  spec->delays = memory.delays;
  spec->drains_vary = memory.drains_vary;
  auto opened = OpenForBench(
      *spec, absl::StrCat(setting.folder->path(), "/pool"), bytes, watch);
  setting.folder->Unlink();
  if (!opened.ok()) return Annotate(opened.status(), name);
  return opened;
}

absl::StatusOr<std::vector<std::vector<double>>> InTurns(
    int subjects, int rounds,
    absl::FunctionRef<absl::StatusOr<double>(int subject)> measure) {
  return InTurnsOf<double>(subjects, rounds, measure);
}

void AddSpent(Setting& setting, Point point, const std::vector<Spent>& rounds) {
  Point whole = point;
  whole.measure += kAllHome;
  for (const Spent& spent : rounds) {
    point.rounds.push_back(spent.nanos);
    whole.rounds.push_back(spent.nanos + spent.put_off);
  }
  setting.points->push_back(std::move(point));
  setting.points->push_back(std::move(whole));
}

Cell CellOf(const Suite& suite, const std::string& workload) {
  const std::vector<Cell> cells = suite.Cells();
  return *std::find_if(cells.begin(), cells.end(), [&](const Cell& cell) {
    return cell.workload == workload && cell.threads == 1 &&
           cell.distribution != "uniform";
  });
}

double NanosSince(uint64_t begin) {
  return static_cast<double>(Ticks() - begin) * NanosPerTick();
}

void Compute(double nanos) {
  const uint64_t begin = Ticks();
  const auto ticks =
      static_cast<uint64_t>(std::max(0.0, nanos) / NanosPerTick());
  while (Ticks() - begin < ticks) {
  }
}

}  // namespace kamino::bench::schemes
