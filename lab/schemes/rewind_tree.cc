// REWIND over a B+tree (section 5.2): what each form of its log costs, and what
// slower fences do to it.
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/status_macros.h"
#include "bench/harness/clock.h"
#include "lab/schemes/part.h"
#include "lab/schemes/small_tree.h"
#include "lab/schemes/words.h"

namespace kamino::bench::schemes {
namespace {

using Tree = std::unique_ptr<SmallTree>;

// One seed for all: they do the same.
constexpr uint64_t kSeed = 7;

// Time since `begin` for each of `count` operations, and of a Quiesce now,
// which is REWIND's only checkpoint here: figure 6 has more checkpoints.
Spent SpentSince(uint64_t begin, engine::TransactionalStore& store,
                 double count) {
  const double nanos = NanosSince(begin);
  store.Quiesce();
  return {nanos / count, (NanosSince(begin) - nanos) / count};
}

// Nanoseconds of an operation; `transactions` of so many `operations` each.
absl::StatusOr<Spent> TimeOfOperations(const Tree& tree, int transactions,
                                       int operations, double updates) {
  Random random(kSeed);
  const uint64_t begin = Ticks();
  for (int i = 0; i < transactions; ++i) {
    RETURN_IF_ERROR(tree->Operate(operations, updates, random));
  }
  const Spent spent = SpentSince(
      begin, tree->store(), static_cast<double>(transactions) * operations);
  RETURN_IF_ERROR(tree->Restore());
  return spent;
}

absl::StatusOr<std::vector<Tree>> Trees(Setting& setting,
                                        const std::vector<std::string>& names,
                                        const Memory& memory,
                                        uint64_t records) {
  std::vector<Tree> trees;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(auto tree,
                     SmallTree::Make(setting, name, memory, records));
    trees.push_back(std::move(tree));
  }
  return trees;
}

absl::Status TreeOn(Setting& setting, const Memory& memory) {
  const uint64_t records = setting.Scaled<uint64_t>(100'000, 10'000);
  const int transactions = setting.Scaled(4000, 500);
  const std::vector<std::string> names = {
      "cached",
      "unsafe",
      "unsafe-each",
      "rewind-1-noforce-simple+alone,checkpoint=1000000000",
      "rewind-1-noforce-optimized+alone,checkpoint=1000000000",
      "rewind-1-noforce-batch+alone,checkpoint=1000000000",
      "undo-object"};
  ASSIGN_OR_RETURN(const auto trees, Trees(setting, names, memory, records));
  for (const double updates : {0.1, 0.3, 0.5, 0.7, 1.0}) {
    const auto measure = [&](int subject) {
      return TimeOfOperations(trees[subject], transactions, 1, updates);
    };
    ASSIGN_OR_RETURN(const auto rounds,
                     InTurnsOf<Spent>(static_cast<int>(trees.size()),
                                      setting.rounds, measure));
    for (size_t i = 0; i < trees.size(); ++i) {
      AddSpent(setting,
               {"rewind-7",
                trees[i]->name(),
                memory.name,
                "ns an operation",
                updates,
                {}},
               rounds[i]);
    }
  }
  return absl::OkStatus();
}

// --- Figure 10.

constexpr const char* kFenced[] = {
    "rewind-1-noforce-optimized+alone,checkpoint=1000000000",
    "rewind-1-noforce-batch+group=8,alone,checkpoint=1000000000",
    "rewind-1-noforce-batch+group=16,alone,checkpoint=1000000000",
    "rewind-1-noforce-batch+group=32,alone,checkpoint=1000000000"};
constexpr int kStores = 320;  // of a transaction of words
constexpr int kOperations = 32;

absl::StatusOr<Spent> TimeOfStores(const std::unique_ptr<Words>& words,
                                   int transactions) {
  Random random(kSeed);
  const uint64_t begin = Ticks();
  for (int i = 0; i < transactions; ++i) {
    const auto transaction = words->store().Begin(kPatient);
    for (int k = 0; k < kStores; ++k) {
      RETURN_IF_ERROR(words->Store(*transaction, 0, random));
    }
    RETURN_IF_ERROR(transaction->Commit());
  }
  return SpentSince(begin, words->store(),
                    static_cast<double>(transactions) * kStores);
}

// Measures each of those stores with each delay of drains, in turns.
absl::Status FencesOf(
    Setting& setting, const char* figure, const char* measure,
    const std::vector<uint64_t>& drains,
    absl::FunctionRef<absl::StatusOr<Spent>(size_t store, uint64_t drain_ns)>
        time) {
  const size_t stores = std::size(kFenced);
  const auto measure_one = [&](int subject) {
    return time(subject % stores, drains[subject / stores]);
  };
  ASSIGN_OR_RETURN(const auto rounds,
                   InTurnsOf<Spent>(static_cast<int>(stores * drains.size()),
                                    setting.rounds, measure_one));
  for (size_t i = 0; i < rounds.size(); ++i) {
    AddSpent(setting,
             {figure,
              kFenced[i % stores],
              AsItIs().name,
              measure,
              static_cast<double>(drains[i / stores]),
              {}},
             rounds[i]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RewindTree(Setting& setting) {
  // libpmemobj is slowed by a library, and timed without it.
  return TreeOn(setting, HasPmemShim() ? AsRewinds() : AsItIs());
}

absl::Status RewindFences(Setting& setting) {
  const Memory memory = {"slower drains", {}, /*drains_vary=*/true};
  const uint64_t records = setting.Scaled<uint64_t>(100'000, 5000);
  ASSIGN_OR_RETURN(const auto trees,
                   Trees(setting, {std::begin(kFenced), std::end(kFenced)},
                         memory, records));
  std::vector<std::unique_ptr<Words>> tables;
  for (const char* name : kFenced) {
    ASSIGN_OR_RETURN(auto words, Words::Make(setting, name, memory, 250u << 20,
                                             1, 64u << 10));
    tables.push_back(std::move(words));
  }
  const std::vector<uint64_t> drains = setting.Scaled<std::vector<uint64_t>>(
      {0, 250, 500, 1000, 2000, 5000}, {0, 2000});
  const int few = setting.Scaled(200, 20);
  for (const int operations : {1, kOperations}) {
    const int transactions = operations == 1 ? few * 10 : few;
    RETURN_IF_ERROR(FencesOf(
        setting, operations == 1 ? "rewind-10-tree" : "rewind-10-tree-32",
        "ns an operation", drains, [&](size_t store, uint64_t drain_ns) {
          trees[store]->opened().set_drain_ns(drain_ns);
          return TimeOfOperations(trees[store], transactions, operations, 1);
        }));
  }
  return FencesOf(setting, "rewind-10-words", "ns a store", drains,
                  [&](size_t store, uint64_t drain_ns) {
                    tables[store]->opened().set_drain_ns(drain_ns);
                    return TimeOfStores(tables[store], few);
                  });
}

}  // namespace kamino::bench::schemes
