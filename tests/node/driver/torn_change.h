// A change that a power cut interrupts at every flush or drain in turn, and
// what has to hold once the chain goes on.
#ifndef KAMINO_TESTS_NODE_DRIVER_TORN_CHANGE_H_
#define KAMINO_TESTS_NODE_DRIVER_TORN_CHANGE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {

inline constexpr int kMostMoments = 200;

// Makes a chain of all nodes, with objects that later operations change, and
// clients that have been seen.
void Prepare(ChainRig& rig);

// Allocates, writes in place and frees.
std::vector<kamino::v1::Operation> Change();

// Submits it to a chain that loses the power of `victim` at the given moment.
// Null: there are not as many moments.
std::shared_ptr<Issued> CutWithinChange(ChainRig& rig,
                                        const std::string& victim,
                                        ChainRig::Moment moment, int count);

// Interrupted requests are answered once, and the chain takes more.
void ExpectGoesOn(ChainRig& rig,
                  const std::vector<std::shared_ptr<Issued>>& cut);

// How often a case came about.
struct Tally {
  int cuts = 0;
  int torn = 0;
  int partly = 0;  // torn with objects that were not touched yet

  void Add(const Tear& tear);
};

// Loses the power of `victim` at each moment of the change in turn, in a chain
// of its own, and calls `check(rig, change)` then.
template <typename Check>
Tally AtEachMoment(const ChainRig::Options& options, const std::string& victim,
                   ChainRig::Moment moment, const Check& check) {
  Tally tally;
  int count = 1;
  for (; count < kMostMoments; ++count) {
    SCOPED_TRACE(absl::StrCat(victim, ", moment ", count));
    ChainRig rig(options);
    Prepare(rig);
    const auto change = CutWithinChange(rig, victim, moment, count);
    if (change == nullptr) break;
    tally.Add(rig.tear(victim));
    check(rig, change);
    if (::testing::Test::HasFailure()) return tally;
  }
  EXPECT_GT(tally.cuts, 0) << victim;
  EXPECT_LT(count, kMostMoments) << victim;
  return tally;
}

}  // namespace kamino::node

#endif  // KAMINO_TESTS_NODE_DRIVER_TORN_CHANGE_H_
