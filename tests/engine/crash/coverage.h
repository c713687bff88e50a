// The engine's branches that the explorer has reached.
#ifndef KAMINO_TESTS_ENGINE_CRASH_COVERAGE_H_
#define KAMINO_TESTS_ENGINE_CRASH_COVERAGE_H_

#include <string>
#include <vector>

#include "engine/explore.h"

namespace kamino::engine::crash {

// While a store was explored, and while images were recovered. Work on images
// after that does not count: no crash is explored there.
BranchCounts& ReachedByStore();
BranchCounts& ReachedByRecovery();
void ForgetReached();

// Names of those that were not reached.
std::vector<std::string> NotReached();
// A line for each branch.
std::string ReachedReport();

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_COVERAGE_H_
