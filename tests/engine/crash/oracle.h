// What must hold after a crash and a recovery.
#ifndef KAMINO_TESTS_ENGINE_CRASH_ORACLE_H_
#define KAMINO_TESTS_ENGINE_CRASH_ORACLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/engine/crash/rig.h"
#include "tests/engine/crash/world.h"

namespace kamino::engine::crash {

// A transaction whose Commit has not returned.
struct InFlight {
  uint64_t number = 0;    // of the Commit, for who keeps them
  uint64_t sequence = 0;  // 0: recovery does not report it
  std::shared_ptr<const Change> change;
  // Of a scheme that lags: its place in the order, once it has one; else 0.
  std::shared_ptr<const uint64_t> place;
};

struct Expectation {
  // What acknowledged transactions have led to, and the largest sequence of
  // theirs.
  WorldPointer before;
  uint64_t sequence = 0;
  // Of each recovery finds all or nothing. In the order of the Commits.
  std::vector<InFlight> in_flight;
  // Of a scheme that lags: `before` is some state that is durable, `sequence`
  // its place. Recovery finds what some first ones of those that have a place,
  // in that order, make of it: of these, which have been acknowledged, and of
  // those in flight.
  std::vector<InFlight> lagging;
  // What is durable at the moment; empty: the scheme does not lag.
  std::function<uint64_t()> durable;
  // Objects that transactions have touched lately: their copies and locks are
  // most at risk. Some may not exist.
  std::vector<ObjectId> recent;
};

// What a recovered store holds.
struct Found {
  WorldPointer world;
  uint64_t sequence = 0;
  std::set<ObjectId> lost;  // of its objects
};

// One of the states that may be.
absl::StatusOr<Found> CheckRecovered(Rig& rig, const Expectation& expected);

// The same where the scheme lags. At the crash all was durable up to `durable`.
// Objects of `may_be_lost` may be lost, if recovery says so.
absl::StatusOr<Found> CheckLagging(Rig& rig, const Expectation& expected,
                                   uint64_t durable,
                                   const std::set<ObjectId>& may_be_lost);

// In a store that holds `world` and is at rest: all aborts take back what they
// should, however much is written over.
absl::Status CheckCopies(Rig& rig, const World& world);

// Goes on working in a store that holds `world`: an abort takes everything
// back, a commit changes what it should and nothing else.
absl::Status CheckGoesOn(Rig& rig, const World& world,
                         const std::vector<ObjectId>& recent, uint64_t seed);

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_ORACLE_H_
