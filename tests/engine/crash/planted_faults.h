// Faults that the crash harness has to notice, one at a time.
//
// Some are planted in the engine itself (docs/testing/faults.md), some between
// it and its memory, some between it and its user. The latter are independent
// of the scheme and its code.
#ifndef KAMINO_TESTS_ENGINE_CRASH_PLANTED_FAULTS_H_
#define KAMINO_TESTS_ENGINE_CRASH_PLANTED_FAULTS_H_

#include <string>

#include "tests/engine/crash/rig.h"
#include "tests/engine/crash/workload.h"

namespace kamino::engine::crash {

struct PlantedFault {
  std::string name;
  std::string scheme;  // under which it matters
  bool pages = false;  // on a file of a disk (ExplorerOptions::pages)
};

struct Trial {
  bool noticed = false;
  std::string account;  // of the failed seed; or why it gave up
};

// Runs seeds with the fault, or with none for an empty name, until one fails,
// `seeds` have passed, or many have not met the fault. The fault is planted
// when a new store is ready and durable, so that it has to be noticed at work.
// Call this in a process of its own.
Trial RunWithFault(const PlantedFault& fault, uint64_t seeds);

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_PLANTED_FAULTS_H_
