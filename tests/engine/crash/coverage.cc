#include "tests/engine/crash/coverage.h"

#include "absl/strings/str_format.h"

namespace kamino::engine::crash {
namespace {

struct Registry {
  std::vector<BranchSet*> sets;
  Counting counting = Counting::kNowhere;
};

Registry& Registered() {
  static auto* const registry = new Registry;
  return *registry;
}

const LinkedBranches kOfEngine(new BranchesOf<Branch>(
    {
#define KAMINO_BRANCH(name) #name,
        KAMINO_BRANCHES(KAMINO_BRANCH)
#undef KAMINO_BRANCH
    },
    Branch::kRecordOld));

}  // namespace

LinkedBranches::LinkedBranches(BranchSet* branches) {
  Registered().sets.push_back(branches);
}

Counting CountBranches(Counting counting) {
  Registry& registry = Registered();
  for (BranchSet* set : registry.sets) set->Count(counting);
  return std::exchange(registry.counting, counting);
}

void ForgetReached() {
  for (BranchSet* set : Registered().sets) set->Forget();
}

std::vector<BranchSet::Line> ReachedLines() {
  std::vector<BranchSet::Line> lines;
  for (const BranchSet* set : Registered().sets) {
    for (const BranchSet::Line& line : set->Lines()) lines.push_back(line);
  }
  return lines;
}

void StoreCounts(std::vector<uint64_t>* counts) {
  counts->clear();
  for (const BranchSet* set : Registered().sets) {
    set->AppendStoreCounts(counts);
  }
}

std::vector<std::string> NotReached() {
  std::vector<std::string> names;
  for (const BranchSet::Line& line : ReachedLines()) {
    const uint64_t count = line.of_recovery ? line.by_recovery : line.by_store;
    if (count == 0) names.push_back(line.name);
  }
  return names;
}

std::string ReachedReport() {
  std::string report;
  for (const BranchSet::Line& line : ReachedLines()) {
    absl::StrAppendFormat(&report, "%-26s %9d %9d\n", line.name, line.by_store,
                          line.by_recovery);
  }
  return report;
}

}  // namespace kamino::engine::crash
