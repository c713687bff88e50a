// What must hold after a crash and a recovery.
#ifndef KAMINO_TESTS_ENGINE_CRASH_ORACLE_H_
#define KAMINO_TESTS_ENGINE_CRASH_ORACLE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/engine/crash/rig.h"
#include "tests/engine/crash/world.h"

namespace kamino::engine::crash {

using WorldPointer = std::shared_ptr<const World>;

struct Expectation {
  // What acknowledged transactions have led to.
  WorldPointer before;
  // The same with the one whose Commit has not returned; null: there is none.
  WorldPointer after;
  // Objects that transactions have touched lately: their copies and locks are
  // most at risk. Some may not exist.
  std::vector<ObjectId> recent;
};

// The one of the two worlds that the recovered store holds.
absl::StatusOr<WorldPointer> CheckRecovered(Rig& rig,
                                            const Expectation& expected);

// Goes on working in a store that holds `world`: an abort takes everything
// back, a commit changes what it should and nothing else.
absl::Status CheckGoesOn(Rig& rig, const World& world,
                         const std::vector<ObjectId>& recent, uint64_t seed);

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_ORACLE_H_
