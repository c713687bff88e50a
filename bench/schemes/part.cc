#include "bench/schemes/part.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/harness/clock.h"
#include "glog/logging.h"

namespace kamino::bench::schemes {

const Memory& AsItIs() {
  static const auto& memory = *new Memory{"as it is", {}};
  return memory;
}

const Memory& AsRewinds() {
  static const auto& memory = *new Memory{"150 ns a line", {0, 150}};
  return memory;
}

bool Setting::Among(const std::string& scheme) const {
  return std::any_of(
      stores.begin(), stores.end(),
      [&scheme](const StoreSpec& store) { return store.scheme == scheme; });
}

const std::vector<Part>& AllParts() {
  static const auto& parts = *new std::vector<Part>{
      {"rewind-3-left", "what logging costs, by how much is stored",
       RewindLogging},
      {"rewind-3-4", "commit, rollback and recovery among others' records",
       RewindSkips},
      {"rewind-5", "logging and recovery together", RewindTotals},
      {"rewind-6", "checkpoints", RewindCheckpoints},
      {"rewind-7", "a B+tree of small records", RewindTree},
      {"rewind-10", "slower fences", RewindFences},
      {"rewind-11", "TPC-C's new orders, by layout", RewindTpcc},
      {"wrap-6", "flushes and fences of 100 wraps", WrapCounts},
      {"wrap-7", "bursts, with and without retirement", WrapThroughput},
      {"wrap-8", "response times of 20 stores", WrapResponses},
      {"wrap-13-14", "response times of a B+tree", WrapTree},
      {"archapt-1-2", "logging, and what flushing is of it", ArchaptLogging},
      {"archapt-3", "how often objects are used", ArchaptReuse},
      {"archapt-table-1", "how much of a flushed line is new",
       ArchaptDirtiness},
      {"archapt-sums", "what checks and sums cost", ArchaptChecking},
      {"archapt-9", "lines flushed when there is more than the cache holds",
       ArchaptFlushes},
      {"durable", "time to the commit, and until it is durable",
       DurableLatency},
      {"recovery", "opening after a crash with a full log", RecoveryTimes},
  };
  return parts;
}

absl::StatusOr<OpenedStore> Open(const Setting& setting,
                                 const std::string& name, const Memory& memory,
                                 uint64_t bytes, Watch watch) {
  auto spec = StoreNamed(name);
  CHECK(spec.ok()) << spec.status();
  spec->delays = memory.delays;
  auto opened = OpenForBench(
      *spec, absl::StrCat(setting.folder->path(), "/pool"), bytes, watch);
  setting.folder->Unlink();
  if (!opened.ok()) return Annotate(opened.status(), name);
  return opened;
}

absl::StatusOr<std::vector<std::vector<double>>> InTurns(
    int subjects, int rounds,
    absl::FunctionRef<absl::StatusOr<double>(int subject)> measure) {
  std::vector<std::vector<double>> all(subjects);
  for (int round = -1; round < rounds; ++round) {
    for (int i = 0; i < subjects; ++i) {
      const int subject = (i + round + 1) % subjects;
      ASSIGN_OR_RETURN(const double value, measure(subject));
      if (round >= 0) all[subject].push_back(value);
    }
  }
  return all;
}

absl::Status Annotate(const absl::Status& status, const std::string& what) {
  return absl::Status(status.code(),
                      absl::StrCat(what, ": ", status.message()));
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
