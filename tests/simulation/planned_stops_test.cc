// Planned stops of members. The chain continues without one member at once, and
// takes it in again. If more members end than may be lost, none is removed.
// After all have ended, all of them serve again, in whatever order they stopped
// and started.
#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/chain_mode.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tests/faults/fault.h"
#include "tests/simulation/cluster.h"
#include "tests/simulation/final_state.h"
#include "tests/simulation/simulation.h"

namespace kamino::simulation {
namespace {

// A death costs 300 ms until the manager knows of it, and more.
constexpr absl::Duration kLongestPause = absl::Milliseconds(120);
constexpr absl::Duration kGone = absl::Seconds(10);
constexpr uint64_t kMany = 5000;  // seeds

ClusterOptions Options(size_t members, ChainMode mode) {
  ClusterOptions options;
  options.mode = mode;
  options.nodes = members + 1;  // a spare
  options.chain_length = members;
  options.think = absl::Milliseconds(10);
  options.away_limit = absl::Seconds(30);
  return options;
}

class StopRun {
 public:
  StopRun(uint64_t seed, size_t members, ChainMode mode)
      : world_(seed, nullptr), cluster_(&world_, Options(members, mode)) {
    FLAGS_minloglevel = google::GLOG_FATAL;
    cluster_.Start();
    Run(absl::Seconds(3));
    CHECK(cluster_.clients().front()->done_first());
    for (const membership::Member& member : cluster_.StoredView().members) {
      members_.push_back(member.node_id);
    }
  }

  size_t size() const { return members_.size(); }

  // The violated invariant after a planned stop of one member; "" for none.
  std::string StopOne(size_t index) {
    const absl::Time told = world_.now();
    SimNode* const node = cluster_.node(members_[index]);
    node->StopInOrder(nullptr);
    if (!AwaitEnd({node})) return "it is not gone";
    Run(absl::Seconds(2));
    const membership::View view = cluster_.StoredView();
    if (view.members.size() + 1 != members_.size()) {
      return absl::StrCat("the chain is ", view.ToString());
    }
    if (view.away.count(node->name()) != 1) return "it is not away";
    const absl::Duration pause =
        LongestOutage(cluster_.history(), told, world_.now());
    if (pause > kLongestPause) {
      return absl::StrCat("nothing was acknowledged for ",
                          absl::FormatDuration(pause));
    }
    node->Start();
    return Ends(told);
  }

  // Stops those members, one after the other at that distance, and starts them
  // in that order; `least`: how many members the view must keep.
  std::string StopSome(const std::vector<size_t>& stops,
                       const std::vector<size_t>& starts, absl::Duration gap,
                       size_t least) {
    std::vector<SimNode*> nodes;
    for (size_t index : stops) {
      nodes.push_back(cluster_.node(members_[index]));
      nodes.back()->StopInOrder(nullptr);
      Run(gap);
    }
    if (!AwaitEnd(nodes)) return "they are not gone";
    Run(absl::Seconds(2));
    if (cluster_.StoredView().members.size() < least) {
      return absl::StrCat("when all were gone the chain was ",
                          cluster_.StoredView().ToString());
    }
    for (size_t index : starts) {
      cluster_.node(members_[index])->Start();
      Run(gap);
    }
    return Ends(absl::InfiniteFuture());
  }

 private:
  void Run(absl::Duration time) { world_.RunUntil(world_.now() + time); }

  bool AwaitEnd(const std::vector<SimNode*>& nodes) {
    const absl::Time until = world_.now() + kGone;
    const auto up = [](const SimNode* node) { return node->up(); };
    while (std::any_of(nodes.begin(), nodes.end(), up)) {
      if (world_.now() >= until) return false;
      Run(absl::Milliseconds(10));
    }
    return true;
  }

  // The chain is whole again, with the same nodes, and no operation that began
  // after `since` has failed.
  std::string Ends(absl::Time since) {
    Run(absl::Seconds(15));
    for (const auto& client : cluster_.clients()) client->Stop();
    Run(absl::Seconds(2));
    if (!world_.violation().ok()) return world_.violation().ToString();
    for (const Record& record : cluster_.history()) {
      if (record.invoked >= since && record.end == Record::End::kUnknown) {
        return absl::StrCat("operation ", record.id, " has failed");
      }
    }
    std::set<std::string> there;
    for (const membership::Member& member : cluster_.StoredView().members) {
      there.insert(member.node_id);
    }
    if (there != std::set<std::string>(members_.begin(), members_.end())) {
      return absl::StrCat("the chain is ", cluster_.StoredView().ToString());
    }
    const absl::Status rest = CheckAtRest(&cluster_);
    if (!rest.ok()) return rest.ToString();
    const absl::Status alike = CheckAlike(&cluster_);
    return alike.ok() ? "" : alike.ToString();
  }

  World world_;
  Cluster cluster_;
  std::vector<std::string> members_;
};

// Between two stops, or two starts.
constexpr absl::Duration kGaps[] = {
    absl::ZeroDuration(), absl::Milliseconds(3), absl::Milliseconds(60),
    absl::Milliseconds(250), absl::Milliseconds(700)};

constexpr ChainMode kModes[] = {ChainMode::kKamino, ChainMode::kImages,
                                ChainMode::kTraditional};

std::string EachAlone(uint64_t seeds) {
  for (ChainMode mode : kModes) {
    for (size_t members : {4, 3}) {
      for (size_t i = 0; i < members; ++i) {
        for (uint64_t seed = 1; seed <= seeds; ++seed) {
          const std::string wrong = StopRun(seed, members, mode).StopOne(i);
          if (wrong.empty()) continue;
          return absl::StrCat(ChainModeName(mode), ", ", members,
                              " members, seed ", seed, ", member ", i, ": ",
                              wrong);
        }
      }
    }
  }
  return "";
}

std::string AllInAllOrders(ChainMode mode, size_t members) {
  std::vector<size_t> stops;
  for (size_t i = 0; i < members; ++i) stops.push_back(i);
  std::vector<std::vector<size_t>> orders;
  do {
    orders.push_back(stops);
  } while (std::next_permutation(stops.begin(), stops.end()));
  uint64_t seed = 0;
  for (const auto& stop : orders) {
    for (const auto& start : orders) {
      ++seed;
      const absl::Duration gap = kGaps[seed % std::size(kGaps)];
      const std::string wrong =
          StopRun(seed, members, mode)
              .StopSome(stop, start, gap, LeastMembers(mode));
      if (wrong.empty()) continue;
      return absl::StrCat(ChainModeName(mode), ", seed ", seed, ", gap ",
                          absl::FormatDuration(gap), ": ", wrong);
    }
  }
  return "";
}

TEST(PlannedStopsTest, AStopOfOneMemberCausesNoOutage) {
  EXPECT_EQ(EachAlone(1), "");
}

TEST(PlannedStopsTest, AllMembersStopAndReturnInAllOrders) {
  EXPECT_EQ(AllInAllOrders(ChainMode::kKamino, 3), "");
}

TEST(PlannedStopsTest, AllMembersStopAndReturnInModesThatRepairLocally) {
  for (ChainMode mode : {ChainMode::kImages, ChainMode::kTraditional}) {
    EXPECT_EQ(AllInAllOrders(mode, 2), "");
  }
}

TEST(PlannedStopsTest, HeadAndSuccessorStopAtOnce) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(StopRun(seed, 4, ChainMode::kKamino)
                  .StopSome({0, 1}, {1, 0}, absl::ZeroDuration(), 2),
              "")
        << seed;
  }
}

bool SomeRunDetects() {
  for (uint64_t seed = 1; seed <= kMany; ++seed) {
    if (!RunSeed(seed, nullptr).violation.ok()) {
      return faults::PlantedFaultWasMet();
    }
  }
  return false;
}

TEST(PlannedStopsTest, MistakesAreDetected) {
  faults::PlantFault("view-removes-the-last-that-stop");
  EXPECT_NE(AllInAllOrders(ChainMode::kKamino, 3), "");
  faults::PlantFault("view-gives-places-away");
  EXPECT_NE(EachAlone(1), "");
  faults::PlantFault("membership-surrendered-lease-counts");
  EXPECT_TRUE(SomeRunDetects());
  faults::PlantFault("");
}

}  // namespace
}  // namespace kamino::simulation
