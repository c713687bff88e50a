// Gray failures, which a check for a live process does not notice: one dead
// link whose two ends reach the manager, a core thread that hangs while another
// thread sends heartbeats, a slow medium, and no leader for a while. Writes
// resume within three failure timeouts, at a quarter of their former rate or
// more, and the chain is whole again soon after the fault is over.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tests/faults/fault.h"
#include "tests/simulation/cluster.h"
#include "tests/simulation/final_state.h"

namespace kamino::simulation {
namespace {

constexpr absl::Duration kFailureTimeout = absl::Milliseconds(300);
constexpr absl::Duration kLasts = absl::Seconds(12);
constexpr absl::Duration kBefore = absl::Seconds(1);
// A hundred times as long as a disk takes to write a page.
constexpr absl::Duration kSlowDrain = absl::Milliseconds(20);
constexpr size_t kMembers[] = {4, 3};  // of a chain; there is one more node
constexpr uint64_t kSeeds = 2;

ClusterOptions Options(size_t members) {
  ClusterOptions options;
  options.nodes = members + 1;
  options.chain_length = members;
  options.think = absl::Milliseconds(20);
  return options;
}

// One cluster and its faults.
class GrayRun {
 public:
  GrayRun(uint64_t seed, size_t members)
      : world_(seed, nullptr), cluster_(&world_, Options(members)) {
    FLAGS_minloglevel = google::GLOG_FATAL;
    cluster_.Start();
    Run(absl::Seconds(2));
    CHECK(cluster_.clients().front()->done_first());
    for (const membership::Member& member : cluster_.StoredView().members) {
      members_.push_back(member.node_id);
    }
  }

  // A member of the chain at its start.
  SimNode* node(size_t index) { return cluster_.node(members_.at(index)); }
  void Cut(size_t from, size_t to) {
    cluster_.network().Cut(members_.at(from), members_.at(to));
  }
  // No other node reaches it or is reached; managers and clients are.
  void CutFromNodes(size_t index) {
    for (const auto& other : cluster_.nodes()) {
      cluster_.network().Cut(members_.at(index), other->name());
      cluster_.network().Cut(other->name(), members_.at(index));
    }
  }

  // It still reaches the others.
  void CutOthersFrom(size_t index) {
    for (const auto& other : cluster_.nodes()) {
      cluster_.network().Cut(other->name(), members_.at(index));
    }
  }
  void PauseOthers() {
    for (const auto& node : cluster_.nodes()) {
      if (std::count(members_.begin(), members_.end(), node->name()) == 0) {
        node->Pause(kLasts);
      }
    }
  }
  // Early enough to keep its place.
  void Restart(size_t index) {
    SimNode* const node = this->node(index);
    node->Die(Crash::kProcess);
    world_.After(kFailureTimeout / 4, [node] { node->Start(); });
  }

  // Name lookups are not answered, or take that long; a node dies meanwhile.
  // The end of the fault restores both.
  void SlowNames(absl::Duration takes, size_t dies) {
    cluster_.network().SetNameServer(takes);
    SimNode* const node = this->node(dies);
    node->Die(Crash::kProcess);
    world_.After(kLasts, [this, node] {
      cluster_.network().SetNameServer(absl::ZeroDuration());
      node->Start();
    });
  }

  void PauseAllMedia(absl::Duration time) {
    for (const auto& node : cluster_.nodes()) node->HangMedium(time);
  }

  void StopEtcd() { cluster_.etcd().Stop(); }
  void StopManagers() {
    for (const auto& manager : cluster_.managers()) manager->Kill();
  }

  // The violated invariant after that fault; "" for none.
  std::string Strike(const std::function<void(GrayRun*)>& strike,
                     int most_timeouts, size_t most_left_out) {
    const absl::Time struck = world_.now();
    strike(this);
    while (world_.now() < struck + kLasts) {
      Run(absl::Milliseconds(100));
      if (cluster_.StoredView().members.size() + most_left_out <
          members_.size()) {
        return absl::StrCat("more than ", most_left_out, " were left out");
      }
    }
    const absl::Duration outage =
        LongestOutage(cluster_.history(), struck, world_.now());
    if (outage > kFailureTimeout * most_timeouts) {
      return absl::StrCat("nothing was acknowledged for ",
                          absl::FormatDuration(outage));
    }
    const auto& history = cluster_.history();
    const double before = AcknowledgedRate(history, struck - kBefore, struck);
    const double after = AcknowledgedRate(
        history, struck + kFailureTimeout * most_timeouts, world_.now());
    if (after < before / 4) {
      return absl::StrCat("of ", before, " writes a second ", after,
                          " are left");
    }
    cluster_.network().HealAll();
    for (const auto& node : cluster_.nodes()) {
      node->SlowMedia(absl::ZeroDuration());
    }
    if (!cluster_.etcd().up()) cluster_.etcd().Start();
    for (const auto& manager : cluster_.managers()) {
      if (!manager->up()) manager->Start();
    }
    Run(absl::Seconds(20));
    for (const auto& client : cluster_.clients()) client->Stop();
    Run(absl::Seconds(2));
    if (!world_.violation().ok()) return world_.violation().ToString();
    if (cluster_.StoredView().members.size() < members_.size()) {
      return "not whole";
    }
    const absl::Status rest = CheckAtRest(&cluster_);
    return rest.ok() ? "" : rest.ToString();
  }

 private:
  void Run(absl::Duration time) { world_.RunUntil(world_.now() + time); }

  World world_;
  Cluster cluster_;
  std::vector<std::string> members_;
};

struct Case {
  std::string name;
  std::function<void(GrayRun*)> strike;
  int most_timeouts = 3;  // without a write
  size_t most_left_out = 1;
};

std::vector<Case> DeadLinks(size_t members) {
  std::vector<Case> cases;
  for (size_t from = 0; from < members; ++from) {
    for (size_t to = 0; to < members; ++to) {
      if (from == to) continue;
      cases.push_back({absl::StrCat(from, " does not reach ", to),
                       [from, to](GrayRun* run) { run->Cut(from, to); }});
      if (from > to) continue;
      cases.push_back({absl::StrCat(from, " and ", to, " do not reach"),
                       [from, to](GrayRun* run) {
                         run->Cut(from, to);
                         run->Cut(to, from);
                       }});
    }
  }
  return cases;
}

std::vector<Case> EachMember(size_t members, const std::string& name,
                             const std::function<void(SimNode*)>& strike) {
  std::vector<Case> cases;
  for (size_t i = 0; i < members; ++i) {
    cases.push_back({absl::StrCat(name, " of member ", i),
                     [i, strike](GrayRun* run) { strike(run->node(i)); }});
  }
  return cases;
}

std::vector<Case> HungCores(size_t members) {
  return EachMember(members, "core",
                    [](SimNode* node) { node->HangCore(kLasts); });
}

std::vector<Case> HungMedia(size_t members) {
  return EachMember(members, "medium",
                    [](SimNode* node) { node->HangMedium(kLasts); });
}

// A disk that all nodes share pauses for a moment.
std::vector<Case> AllMediaPause(size_t) {
  return {{"all media",
           [](GrayRun* run) { run->PauseAllMedia(kFailureTimeout * 2); },
           /*most_timeouts=*/3, /*most_left_out=*/0}};
}

std::vector<Case> StoppedProcesses(size_t members) {
  return EachMember(members, "process",
                    [](SimNode* node) { node->Pause(kLasts); });
}

std::vector<Case> SlowMedia(size_t members) {
  return EachMember(members, "media",
                    [](SimNode* node) { node->SlowMedia(kSlowDrain); });
}

// The manager expels a head after two suspicions. The first leaves two of three
// members, and the manager expels neither of two.
std::vector<Case> CutFromNodes(size_t members) {
  std::vector<Case> cases;
  for (size_t i = members > 3 ? 0 : 1; i < members; ++i) {
    cases.push_back({absl::StrCat(i, " is cut from the other nodes"),
                     [i](GrayRun* run) { run->CutFromNodes(i); },
                     /*most_timeouts=*/i == 0 ? 6 : 3});
  }
  return cases;
}

// A returning node needs its neighbours' reports, and one neighbour is
// unreachable.
std::vector<Case> RestartsAtDeadLinks(size_t members) {
  std::vector<Case> cases;
  for (size_t from = 0; from + 1 < members; ++from) {
    for (size_t restarted : {from, from + 1}) {
      cases.push_back({absl::StrCat(restarted, " is restarted, and ", from,
                                    " and ", from + 1, " do not reach"),
                       [from, restarted](GrayRun* run) {
                         run->Restart(restarted);
                         run->Cut(from, from + 1);
                         run->Cut(from + 1, from);
                       },
                       /*most_timeouts=*/8});
    }
  }
  return cases;
}

// Two nodes continue.
std::vector<Case> TwoAreNotReached(size_t members) {
  if (members < 4) return {};
  return {{"1 and 3 are not reached",
           [](GrayRun* run) {
             run->CutOthersFrom(1);
             run->CutOthersFrom(3);
             run->PauseOthers();
           },
           /*most_timeouts=*/6, /*most_left_out=*/2}};
}

// A member that dies leaves two that never had a link to each other.
std::vector<Case> NamesAreNotFound(size_t members) {
  std::vector<Case> cases;
  for (size_t dies = 0; dies < members; ++dies) {
    for (const absl::Duration takes :
         {absl::InfiniteDuration(), absl::Milliseconds(400)}) {
      cases.push_back(
          {absl::StrCat("lookups take ", absl::FormatDuration(takes), ", and ",
                        dies, " dies"),
           [takes, dies](GrayRun* run) { run->SlowNames(takes, dies); },
           /*most_timeouts=*/6});
    }
  }
  return cases;
}

// The chain continues unchanged.
std::vector<Case> NoManagerLeads(size_t /*members*/) {
  return {{"etcd is away", [](GrayRun* run) { run->StopEtcd(); },
           /*most_timeouts=*/1},
          {"managers are away", [](GrayRun* run) { run->StopManagers(); },
           /*most_timeouts=*/1}};
}

// The first violation in a chain of that many members, with its seed; "" when
// there is none.
std::string FirstWrongOf(size_t members, const std::vector<Case>& cases) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const Case& each : cases) {
      const std::string wrong =
          GrayRun(seed, members)
              .Strike(each.strike, each.most_timeouts, each.most_left_out);
      if (!wrong.empty()) {
        return absl::StrCat(members, " members, seed ", seed, ", ", each.name,
                            ": ", wrong);
      }
    }
  }
  return "";
}

std::string FirstWrong(std::vector<Case> (*cases)(size_t members)) {
  for (const size_t members : kMembers) {
    const std::string wrong = FirstWrongOf(members, cases(members));
    if (!wrong.empty()) return wrong;
  }
  return "";
}

TEST(GrayTest, ALinkIsDead) { EXPECT_EQ(FirstWrong(DeadLinks), ""); }

TEST(GrayTest, AMemberIsCutFromTheOthers) {
  EXPECT_EQ(FirstWrong(CutFromNodes), "");
}

TEST(GrayTest, AMemberIsRestartedBesideADeadLink) {
  EXPECT_EQ(FirstWrong(RestartsAtDeadLinks), "");
}

TEST(GrayTest, TwoMembersAreUnreachable) {
  EXPECT_EQ(FirstWrong(TwoAreNotReached), "");
}

TEST(GrayTest, ACoreHangs) { EXPECT_EQ(FirstWrong(HungCores), ""); }

TEST(GrayTest, AMediumHangs) { EXPECT_EQ(FirstWrong(HungMedia), ""); }

TEST(GrayTest, AllMediaPauseForAMoment) {
  EXPECT_EQ(FirstWrong(AllMediaPause), "");
}

TEST(GrayTest, AProcessIsStopped) {
  EXPECT_EQ(FirstWrong(StoppedProcesses), "");
}

TEST(GrayTest, AMediumIsSlow) { EXPECT_EQ(FirstWrong(SlowMedia), ""); }

TEST(GrayTest, TheNameServerHangsOrIsSlow) {
  EXPECT_EQ(FirstWrong(NamesAreNotFound), "");
}

TEST(GrayTest, NoManagerLeads) { EXPECT_EQ(FirstWrong(NoManagerLeads), ""); }

TEST(GrayTest, OldMistakesAreDetected) {
  faults::PlantFault("membership-no-member-is-suspect");
  EXPECT_NE(FirstWrong(DeadLinks), "");
  faults::PlantFault("membership-reporters-are-forgotten");
  EXPECT_NE(FirstWrong(CutFromNodes), "");
  faults::PlantFault("membership-waits-for-a-repairing-node");
  EXPECT_NE(FirstWrong(RestartsAtDeadLinks), "");
  faults::PlantFault("links-expect-no-peer");
  EXPECT_NE(FirstWrong(NamesAreNotFound), "");
  faults::PlantFault("membership-hung-cores-are-there");
  EXPECT_NE(FirstWrong(HungCores), "");
  faults::PlantFault("membership-media-are-waited-for-for-ever");
  EXPECT_NE(FirstWrong(HungMedia), "");
  faults::PlantFault("membership-slow-members-stay");
  EXPECT_NE(FirstWrong(SlowMedia), "");
  faults::PlantFault("membership-no-peer-leases");
  EXPECT_NE(FirstWrong(NoManagerLeads), "");
  faults::PlantFault("");
}

}  // namespace
}  // namespace kamino::simulation
