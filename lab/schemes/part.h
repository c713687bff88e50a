// The parts of the schemes' bench: each fills in figures of a paper, or a
// column of the table of all schemes. lab/docs/schemes.md describes
// them.
#ifndef KAMINO_LAB_SCHEMES_PART_H_
#define KAMINO_LAB_SCHEMES_PART_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/engine/pool_folder.h"
#include "bench/engine/stores.h"
#include "bench/engine/workload.h"

namespace kamino::bench::schemes {

// One measurement at one place of a figure.
struct Point {
  std::string figure;   // "rewind-3-left"
  std::string series;   // a store, and what else tells it from others
  std::string memory;   // Memory::name
  std::string measure;  // with its unit: "ns a transaction"
  double x = 0;         // the figure's own meaning
  std::vector<double> rounds;
};

// A memory that the bench emulates on this machine.
struct Memory {
  std::string name;
  engine::PmemDelays delays;
  bool drains_vary = false;  // as StoreSpec's
};

// This machine's own, and the one that REWIND's authors played: 150 ns for each
// line that is written back (their section 5). The first is called otherwise
// where libpmemobj's flushes go through the library that watches them.
const Memory& AsItIs();
const Memory& AsRewinds();
// Memory of points that are counts and not times.
inline constexpr char kByCount[] = "by count";

// The transactions of one thread only meet locks of work beside transactions.
inline constexpr absl::Duration kPatient = absl::Seconds(10);

struct Part;

struct Setting {
  bool quick = false;
  int rounds = 5;
  PoolFolder* folder = nullptr;
  // Parts about all stores measure these. A part with stores of its own leaves
  // out those that it asks Among() about and that are not here.
  std::vector<StoreSpec> stores;
  std::function<void(const std::string&)> progress;
  std::vector<Point>* points = nullptr;

  bool Among(const std::string& scheme) const;
  // Whether the part is about a scheme that is asked for.
  bool Wants(const Part& part) const;
  // `full`, or fewer where it has to be quick.
  template <typename T>
  T Scaled(T full, T few) const {
    return quick ? few : full;
  }
};

// The memories of REWIND's figures: both, or its authors' alone in the quick
// scale.
std::vector<Memory> RewindMemories(const Setting& setting);

struct Part {
  const char* name;
  const char* about;
  absl::Status (*run)(Setting& setting);
  // It has measurements for which libpmemobj has to be watched or slowed.
  bool watches = false;
  // How the schemes' names begin of which one at least is asked for; "": no
  // matter which are.
  const char* scheme = "";
};

// In the order they run in. With the library that watches libpmemobj preloaded
// (HasPmemShim), only the parts and measurements that need it: nothing is timed
// through it that can be timed without.
std::vector<Part> AllParts();

// A store of the name on that memory, new and empty. What it is called is a bug
// of the caller's, if there is no such store.
absl::StatusOr<OpenedStore> Open(const Setting& setting,
                                 const std::string& name, const Memory& memory,
                                 uint64_t bytes, Watch watch = Watch::kNothing);

// Measures `subjects` in turns: each goes first in some round, and a round
// before the first is thrown away. One list of a number for each round to each
// subject.
absl::StatusOr<std::vector<std::vector<double>>> InTurns(
    int subjects, int rounds,
    absl::FunctionRef<absl::StatusOr<double>(int subject)> measure);
// The same for measurements that are not numbers.
template <typename T>
absl::StatusOr<std::vector<std::vector<T>>> InTurnsOf(
    int subjects, int rounds,
    absl::FunctionRef<absl::StatusOr<T>(int subject)> measure) {
  std::vector<std::vector<T>> all(subjects);
  for (int round = -1; round < rounds; ++round) {
    for (int i = 0; i < subjects; ++i) {
      const int subject = (i + round + 1) % subjects;
      ASSIGN_OR_RETURN(T value, measure(subject));
      if (round >= 0) all[subject].push_back(std::move(value));
    }
  }
  return all;
}

// Time of transactions, and of the work that they put off (Quiesce): schemes
// that put off much are compared with others by both.
struct Spent {
  double nanos = 0;
  double put_off = 0;
};
// A point of `point.measure` without what was put off, and one with it.
void AddSpent(Setting& setting, Point point, const std::vector<Spent>& rounds);
// Suffix of the second point's measure.
inline constexpr char kAllHome[] = ", all home";

// One thread's, of the popular records or the latest.
Cell CellOf(const Suite& suite, const std::string& workload);

// Nanoseconds since `begin`, in Ticks().
double NanosSince(uint64_t begin);
// Computes for so long.
void Compute(double nanos);

// --- The parts.

absl::Status RewindLogging(Setting& setting);      // figure 3, left
absl::Status RewindSkips(Setting& setting);        // 3, right, and 4
absl::Status RewindTotals(Setting& setting);       // 5
absl::Status RewindCheckpoints(Setting& setting);  // 6
absl::Status RewindTree(Setting& setting);         // 7
absl::Status RewindFences(Setting& setting);       // 10
absl::Status RewindTpcc(Setting& setting);         // 11

absl::Status WrapCounts(Setting& setting);      // figure 6
absl::Status WrapResponses(Setting& setting);   // 8
absl::Status WrapThroughput(Setting& setting);  // 7, of the functional scheme
absl::Status WrapTree(Setting& setting);        // 13 and 14

absl::Status ArchaptLogging(Setting& setting);    // figures 1 and 2
absl::Status ArchaptChecking(Setting& setting);   // section 5.2
absl::Status ArchaptFlushes(Setting& setting);    // 9
absl::Status ArchaptReuse(Setting& setting);      // 3
absl::Status ArchaptDirtiness(Setting& setting);  // table 1
absl::Status ArchaptSpeed(Setting& setting);      // 7

absl::Status DurableLatency(Setting& setting);
absl::Status RecoveryTimes(Setting& setting);
absl::Status DataCosts(Setting& setting);  // memory, and opening, by data

}  // namespace kamino::bench::schemes

#endif  // KAMINO_LAB_SCHEMES_PART_H_
