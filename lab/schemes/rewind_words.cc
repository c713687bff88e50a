// REWIND's microbenchmark (section 5.1): one transaction that updates a table
// in memory, alone or with records of others between its own.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/harness/clock.h"
#include "bench/harness/statistics.h"
#include "lab/schemes/part.h"
#include "lab/schemes/words.h"

namespace kamino::bench::schemes {
namespace {

using engine::Transaction;

// A table of the paper's is one object here, so that a transaction takes one
// lock, as it takes none there.
constexpr uint32_t kTableBytes = 64u << 10;
constexpr uint64_t kBytes = 96u << 20;      // with a log of 6 MiB
constexpr uint64_t kLogBytes = 250u << 20;  // with one of 16 MiB
constexpr uint64_t kSeed = 1;
// Figure 6 compares small differences: so many times the rounds.
constexpr int kMoreRounds = 3;

using Tables = std::unique_ptr<Words>;

std::unique_ptr<Transaction> Begin(const Tables& tables) {
  return tables->store().Begin(absl::ZeroDuration());
}

void AddPoint(Setting& setting, const std::string& figure,
              const std::string& series, const Memory& memory,
              const std::string& measure, double x,
              std::vector<double> rounds) {
  setting.points->push_back(
      {figure, series, memory.name, measure, x, std::move(rounds)});
}

// --- Figure 3, left.

// Nanoseconds of an update, of a transaction of so many, each with so much
// computing after it.
absl::StatusOr<Spent> TimeOfUpdates(const Tables& tables, int updates,
                                    double compute_ns) {
  Random random(kSeed);
  const uint64_t begin = Ticks();
  const auto transaction = Begin(tables);
  for (int i = 0; i < updates; ++i) {
    RETURN_IF_ERROR(tables->Store(*transaction, 0, random));
    if (compute_ns > 0) Compute(compute_ns);
  }
  RETURN_IF_ERROR(transaction->Commit());
  const double nanos = NanosSince(begin);
  // Without force, only the log has been flushed.
  tables->store().Quiesce();
  return Spent{nanos / updates, (NanosSince(begin) - nanos) / updates};
}

absl::Status LoggingOn(Setting& setting, const Memory& memory) {
  const int updates = setting.Scaled(1000, 200);
  std::vector<Tables> all;
  for (const char* name :
       {"unsafe-each", "rewind-1-noforce-optimized+alone",
        "rewind-1-force-optimized+alone", "rewind-2-noforce-optimized+alone",
        "rewind-2-force-optimized+alone"}) {
    ASSIGN_OR_RETURN(auto tables, Words::Make(setting, name, memory, kBytes, 1,
                                              kTableBytes));
    all.push_back(std::move(tables));
  }
  // Cost of a store that is not logged: the paper's unit.
  std::vector<double> costs;
  for (int i = 0; i < 9; ++i) {
    ASSIGN_OR_RETURN(const Spent spent, TimeOfUpdates(all[0], updates, 0));
    costs.push_back(spent.nanos);
  }
  const double cost = Median(costs);
  for (const double part : {0.1, 0.2, 0.4, 0.6, 0.8, 1.0}) {
    const double compute = cost * (1 - part) / part;
    const auto measure = [&](int subject) {
      return TimeOfUpdates(all[subject], updates, compute);
    };
    ASSIGN_OR_RETURN(const auto rounds,
                     InTurnsOf<Spent>(static_cast<int>(all.size()),
                                      setting.rounds, measure));
    for (size_t i = 0; i < all.size(); ++i) {
      AddSpent(setting,
               {"rewind-3-left",
                all[i]->name(),
                memory.name,
                "ns an update",
                part,
                {}},
               rounds[i]);
    }
  }
  return absl::OkStatus();
}

// --- Figures 3, right, and 4.

constexpr int kOthers = 4;
constexpr int kTargetUpdates = 10;

enum class End { kCommit, kAbort, kCrash };

// The target's transaction with `skips` records of others between each two of
// its own, and its end, in nanoseconds; the others' are not counted. At a
// crash: those of opening what is left, where the others have committed.
absl::StatusOr<double> TimeOfTarget(const Setting& setting,
                                    const Tables& tables, const Memory& memory,
                                    int skips, End end) {
  Random random(kSeed);
  const auto target = Begin(tables);
  std::vector<std::unique_ptr<Transaction>> others;
  for (int i = 0; i < kOthers; ++i) others.push_back(Begin(tables));
  double updating = 0;
  for (int i = 0; i < kTargetUpdates; ++i) {
    const uint64_t begin = Ticks();
    RETURN_IF_ERROR(tables->Store(*target, 0, random));
    updating += NanosSince(begin);
    for (int k = 0; k < skips; ++k) {
      RETURN_IF_ERROR(
          tables->Store(*others[k % kOthers], 1 + k % kOthers, random));
    }
  }
  double nanos = 0;
  if (end == End::kCrash) {
    for (auto& other : others) RETURN_IF_ERROR(other->Commit());
    ASSIGN_OR_RETURN(auto spec, StoreNamed(tables->name()));
    spec.delays = memory.delays;
    auto left = ReopenAfterCrash(spec, tables->opened(),
                                 absl::StrCat(setting.folder->path(), "/left"));
    setting.folder->Unlink();
    if (!left.ok()) return left.status();
    if (left->opened.store->recovery_report().rolled_back != 1) {
      return absl::InternalError("the target was not found half done");
    }
    nanos = left->nanos;
  }
  const uint64_t begin = Ticks();
  RETURN_IF_ERROR(end == End::kCommit ? target->Commit() : target->Abort());
  if (end == End::kCommit) nanos = updating + NanosSince(begin);
  if (end == End::kAbort) nanos = NanosSince(begin);
  if (end != End::kCrash) {
    for (auto& other : others) RETURN_IF_ERROR(other->Commit());
  }
  tables->store().Quiesce();
  return nanos;
}

struct Ending {
  End end;
  const char* figure;
  const char* measure;
  std::vector<const char*> stores;
};

absl::Status SkipsOn(Setting& setting, const Memory& memory,
                     const Ending& ending) {
  std::vector<Tables> all;
  for (const char* name : ending.stores) {
    ASSIGN_OR_RETURN(auto tables, Words::Make(setting, name, memory, kBytes,
                                              1 + kOthers, kTableBytes));
    all.push_back(std::move(tables));
  }
  const std::vector<int> counts = setting.Scaled<std::vector<int>>(
      {50, 100, 200, 400, 600, 800, 1000}, {100, 1000});
  for (const int skips : counts) {
    const auto measure = [&](int subject) {
      return TimeOfTarget(setting, all[subject], memory, skips, ending.end);
    };
    ASSIGN_OR_RETURN(const auto rounds, InTurns(static_cast<int>(all.size()),
                                                setting.rounds, measure));
    for (size_t i = 0; i < all.size(); ++i) {
      AddPoint(setting, ending.figure, all[i]->name(), memory, ending.measure,
               skips, rounds[i]);
    }
  }
  return absl::OkStatus();
}

// --- Figure 5.

constexpr int kUpdatesEach = 10;

// Time for logging and committing `transactions`, of which a part does not
// commit, in groups of `skips` + 1 that take turns; and for opening after the
// crash, if there is anything to roll back.
absl::StatusOr<double> TimeInAll(const Setting& setting, const Tables& tables,
                                 const Memory& memory, int transactions,
                                 int skips, double recovered) {
  Random random(kSeed), ends(kSeed + 1);
  std::vector<std::unique_ptr<Transaction>> left;
  double nanos = 0;
  for (int first = 0; first < transactions; first += skips + 1) {
    const int last = std::min(transactions, first + skips + 1);
    std::vector<std::unique_ptr<Transaction>> group;
    const uint64_t begin = Ticks();
    for (int i = first; i < last; ++i) group.push_back(Begin(tables));
    for (int update = 0; update < kUpdatesEach; ++update) {
      for (int i = first; i < last; ++i) {
        RETURN_IF_ERROR(tables->Store(*group[i - first], i, random));
      }
    }
    for (auto& transaction : group) {
      if (ends.Fraction() < recovered) {
        left.push_back(std::move(transaction));
      } else {
        RETURN_IF_ERROR(transaction->Commit());
      }
    }
    nanos += NanosSince(begin);
  }
  if (!left.empty()) {
    ASSIGN_OR_RETURN(auto spec, StoreNamed(tables->name()));
    spec.delays = memory.delays;
    auto reopened = ReopenAfterCrash(
        spec, tables->opened(), absl::StrCat(setting.folder->path(), "/left"));
    setting.folder->Unlink();
    if (!reopened.ok()) return reopened.status();
    nanos += reopened->nanos;
  }
  for (auto& transaction : left) RETURN_IF_ERROR(transaction->Abort());
  tables->store().Quiesce();
  return nanos;
}

absl::Status TotalsOn(Setting& setting, const Memory& memory) {
  const int transactions = setting.Scaled(602, 301);
  std::vector<Tables> all;
  for (const char* name : {"rewind-1-noforce-optimized+alone",
                           "rewind-1-force-optimized+keeps,alone"}) {
    ASSIGN_OR_RETURN(auto tables, Words::Make(setting, name, memory, kBytes,
                                              transactions, 4096));
    all.push_back(std::move(tables));
  }
  const std::vector<double> parts = setting.Scaled<std::vector<double>>(
      {0, 0.1, 0.2, 0.4, 0.6, 0.8, 1}, {0, 0.5, 1});
  for (const int skips :
       setting.Scaled<std::vector<int>>({10, 150, 300}, {10, 300})) {
    for (const double part : parts) {
      const auto measure = [&](int subject) {
        return TimeInAll(setting, all[subject], memory, transactions, skips,
                         part);
      };
      ASSIGN_OR_RETURN(const auto rounds, InTurns(static_cast<int>(all.size()),
                                                  setting.rounds, measure));
      for (size_t i = 0; i < all.size(); ++i) {
        AddPoint(setting, "rewind-5",
                 absl::StrCat(all[i]->name(), ", ", skips, " skips"), memory,
                 "ns in all", part, rounds[i]);
      }
    }
  }
  return absl::OkStatus();
}

// --- Figure 6.

// Time for `records` in transactions of ten, with a checkpoint after each
// `every` of them; 0: only one afterwards, which is not counted.
absl::StatusOr<double> TimeOfRecords(const Tables& tables, int records,
                                     int every) {
  Random random(kSeed);
  const uint64_t begin = Ticks();
  for (int done = 0; done < records;) {
    const auto transaction = Begin(tables);
    for (int i = 0; i < kUpdatesEach; ++i, ++done) {
      RETURN_IF_ERROR(tables->Store(*transaction, 0, random));
    }
    RETURN_IF_ERROR(transaction->Commit());
    if (every > 0 && done % every == 0) tables->store().Quiesce();
  }
  const double nanos = NanosSince(begin);
  tables->store().Quiesce();
  return nanos;
}

absl::Status CheckpointsOn(Setting& setting, const Memory& memory) {
  const int records = setting.Scaled(30'000, 10'000);
  const int more_rounds = setting.Scaled(kMoreRounds, 1);
  std::vector<Tables> all;
  for (const char* form : {"simple", "optimized", "batch"}) {
    ASSIGN_OR_RETURN(auto tables,
                     Words::Make(setting,
                                 absl::StrCat("rewind-1-noforce-", form,
                                              "+alone,checkpoint=1000000000"),
                                 memory, kLogBytes, 1, kTableBytes));
    all.push_back(std::move(tables));
  }
  // All in turns: what the machine does meanwhile hits those without alike.
  constexpr int kEvery[] = {0, 500, 1000, 2000, 5000, 10'000};
  constexpr int kEveries = static_cast<int>(std::size(kEvery));
  const int subjects = static_cast<int>(all.size()) * kEveries;
  const auto measure = [&](int subject) {
    return TimeOfRecords(all[subject / kEveries], records,
                         kEvery[subject % kEveries]);
  };
  ASSIGN_OR_RETURN(const auto rounds,
                   InTurns(subjects, more_rounds * setting.rounds, measure));
  for (int i = 0; i < subjects; ++i) {
    AddPoint(setting, "rewind-6", all[i / kEveries]->name(), memory,
             "ns of all records", kEvery[i % kEveries], rounds[i]);
  }
  return absl::OkStatus();
}

absl::Status OnBoth(Setting& setting,
                    absl::Status (*run)(Setting&, const Memory&)) {
  for (const Memory& memory : RewindMemories(setting)) {
    RETURN_IF_ERROR(run(setting, memory));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RewindLogging(Setting& setting) {
  return OnBoth(setting, LoggingOn);
}

absl::Status RewindSkips(Setting& setting) {
  const std::vector<Ending> endings = {
      {End::kCommit,
       "rewind-3-right",
       "ns a transaction",
       {"unsafe-each", "rewind-1-force-optimized+scans,alone",
        "rewind-1-force-optimized+alone", "rewind-2-force-optimized+alone"}},
      {End::kAbort,
       "rewind-4-left",
       "ns a rollback",
       {"rewind-1-force-optimized+scans,alone",
        "rewind-1-force-optimized+alone", "rewind-2-force-optimized+alone"}},
      {End::kCrash,
       "rewind-4-right",
       "ns a recovery",
       {"rewind-1-force-optimized+keeps,alone",
        "rewind-2-force-optimized+keeps,alone"}},
  };
  for (const Memory& memory : RewindMemories(setting)) {
    for (const Ending& ending : endings) {
      RETURN_IF_ERROR(SkipsOn(setting, memory, ending));
    }
  }
  return absl::OkStatus();
}

absl::Status RewindTotals(Setting& setting) {
  return OnBoth(setting, TotalsOn);
}

absl::Status RewindCheckpoints(Setting& setting) {
  return OnBoth(setting, CheckpointsOn);
}

}  // namespace kamino::bench::schemes
