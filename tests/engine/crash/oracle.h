// Invariants after a crash and a recovery.
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
  uint64_t number = 0;    // of the Commit, for the caller
  uint64_t sequence = 0;  // 0: recovery does not report it
  std::shared_ptr<const Change> change;
  // If the scheme lags: its place in the order, once it has one; else 0.
  std::shared_ptr<const uint64_t> place;
};

struct Expectation {
  // The state after all acknowledged transactions, and their largest sequence.
  WorldPointer before;
  uint64_t sequence = 0;
  // Recovery finds all or nothing of each. In the order of the Commits.
  std::vector<InFlight> in_flight;
  // If the scheme lags: `before` is a durable state, and `sequence` its place.
  // Recovery finds that state after the first few of the transactions with a
  // place, in that order: of these, which were acknowledged, and of those in
  // flight.
  std::vector<InFlight> lagging;
  // The durable sequence at the moment; empty: the scheme does not lag.
  std::function<uint64_t()> durable;
  // Objects that transactions have touched recently: their copies and locks are
  // most at risk. Some may not exist.
  std::vector<ObjectId> recent;
};

// The content of a recovered store.
struct Found {
  WorldPointer world;
  uint64_t sequence = 0;
  std::set<ObjectId> lost;  // of its objects
};

// Returns which of the possible states it is in.
absl::StatusOr<Found> CheckRecovered(Rig& rig, const Expectation& expected);

// The same for a scheme that lags. At the crash everything up to `durable` was
// durable. Objects of `may_be_lost` may be lost, if recovery reports it.
absl::StatusOr<Found> CheckLagging(Rig& rig, const Expectation& expected,
                                   uint64_t durable,
                                   const std::set<ObjectId>& may_be_lost);

// For a store that holds `world` and is at rest: aborts undo all their changes,
// however much they overwrite.
absl::Status CheckCopies(Rig& rig, const World& world);

// Continues to work in a store that holds `world`: an abort undoes everything,
// a commit changes its objects and nothing else.
absl::Status CheckGoesOn(Rig& rig, const World& world,
                         const std::vector<ObjectId>& recent, uint64_t seed);

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_ORACLE_H_
