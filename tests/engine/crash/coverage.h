// Which branches of the engine the explorer has come by.
#ifndef KAMINO_TESTS_ENGINE_CRASH_COVERAGE_H_
#define KAMINO_TESTS_ENGINE_CRASH_COVERAGE_H_

#include <string>
#include <vector>

#include "engine/explore.h"

namespace kamino::engine::crash {

// While a store was explored, and while images were recovered. What is done
// with images after that counts for nothing: no crash is looked at there.
BranchCounts& ReachedByStore();
BranchCounts& ReachedByRecovery();
void ForgetReached();

// Names of those that were not reached.
std::vector<std::string> NotReached();
// A line for each branch.
std::string ReachedReport();

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_COVERAGE_H_
