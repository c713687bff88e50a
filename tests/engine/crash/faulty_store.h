// A store whose transactions do not declare or roll back all they should:
// faults of a scheme, seen from outside.
#ifndef KAMINO_TESTS_ENGINE_CRASH_FAULTY_STORE_H_
#define KAMINO_TESTS_ENGINE_CRASH_FAULTY_STORE_H_

#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {

// `scheme` with stores that misbehave once one of their faults is planted
// (tests/faults/fault.h).
Scheme WithFaultyStore(const Scheme& scheme);

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_FAULTY_STORE_H_
