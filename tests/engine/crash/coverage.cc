#include "tests/engine/crash/coverage.h"

#include "absl/strings/str_format.h"

namespace kamino::engine::crash {
namespace {

constexpr const char* kNames[] = {
#define KAMINO_BRANCH(name) #name,
    KAMINO_BRANCHES(KAMINO_BRANCH)
#undef KAMINO_BRANCH
};

constexpr size_t kBranches = static_cast<size_t>(Branch::kCount);
// From here on they are recovery's.
constexpr auto kFirstOfRecovery = static_cast<size_t>(Branch::kRecordOld);

}  // namespace

BranchCounts& ReachedByStore() {
  static auto* const counts = new BranchCounts();
  return *counts;
}

BranchCounts& ReachedByRecovery() {
  static auto* const counts = new BranchCounts();
  return *counts;
}

void ForgetReached() {
  for (auto& count : ReachedByStore()) count.store(0);
  for (auto& count : ReachedByRecovery()) count.store(0);
}

std::vector<std::string> NotReached() {
  std::vector<std::string> names;
  for (size_t i = 0; i < kBranches; ++i) {
    const BranchCounts& counts =
        i < kFirstOfRecovery ? ReachedByStore() : ReachedByRecovery();
    if (counts[i].load() == 0) names.push_back(kNames[i]);
  }
  return names;
}

std::string ReachedReport() {
  std::string report;
  for (size_t i = 0; i < kBranches; ++i) {
    absl::StrAppendFormat(&report, "%-26s %9d %9d\n", kNames[i],
                          ReachedByStore()[i].load(),
                          ReachedByRecovery()[i].load());
  }
  return report;
}

}  // namespace kamino::engine::crash
