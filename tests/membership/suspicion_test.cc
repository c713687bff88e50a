#include "membership/manager/suspicion.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "membership/manager/suspects.h"
#include "tests/faults/planted.h"

namespace kamino::membership {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(1);
constexpr absl::Duration kLong = absl::Seconds(2);
constexpr absl::Duration kLate = absl::Milliseconds(900);

// A chain of as many members as there are reports, all of them well.
struct Chain {
  explicit Chain(size_t members) {
    view.cluster_id = "c";
    view.id = 7;
    for (size_t i = 0; i < members; ++i) {
      const std::string id = "n" + std::to_string(i);
      const Member member{id, 1, id + ":1", {{"tcp", id + ":2"}}, 64, "h"};
      view.members.push_back(member);
      nodes[id] = {
          member,
          /*alive=*/true,
          {.view_id = 7, .condition = Condition::kSound, .cursors = {9, 9, 9}}};
    }
  }

  NodeReport& report(size_t i) {
    return nodes.at(view.members[i].node_id).report;
  }

  // For example "n2 by n1".
  std::string Suspect(const std::vector<Suspicion>& lately = {}) const {
    const auto found = SuspectOf(view, nodes, kPatience, lately);
    return found.has_value() ? found->suspect + " by " + found->reporter
                             : "none";
  }

  View view;
  KnownNodes nodes;
};

TEST(SuspicionTest, NoMemberIsSuspectWhileAllAnswer) {
  Chain chain(4);
  EXPECT_EQ(chain.Suspect(), "none");
  chain.report(1).append_wait = kPatience - absl::Milliseconds(1);
  chain.report(0).completion_wait = kPatience - absl::Milliseconds(1);
  EXPECT_EQ(chain.Suspect(), "none");
}

TEST(SuspicionTest, AnUnresponsiveSuccessorIsSuspect) {
  for (size_t i = 0; i < 3; ++i) {
    Chain chain(4);
    chain.report(i).append_wait = kPatience;
    const std::string reporter = "n" + std::to_string(i);
    const std::string suspect = "n" + std::to_string(i + 1);
    EXPECT_EQ(chain.Suspect(), suspect + " by " + reporter);
    EXPECT_EQ(chain.Suspect({{"n9", "n3", kLong}}),
              suspect + " by " + reporter);
    // The manager acted before on a suspicion of this node against another one.
    EXPECT_EQ(chain.Suspect({{"n9", reporter, kLong}}),
              reporter + " by " + suspect);
    EXPECT_EQ(chain.Suspect({{suspect, reporter, kLong}}),
              suspect + " by " + reporter);
  }
}

TEST(SuspicionTest, TheUnresponsiveMemberFurthestDownIsSuspect) {
  Chain chain(5);
  chain.report(0).append_wait = kLong;
  chain.report(3).append_wait = kPatience;
  EXPECT_EQ(chain.Suspect(), "n4 by n3");
  // The tail owes no answer.
  chain.report(4).append_wait = kLong;
  EXPECT_EQ(chain.Suspect(), "n4 by n3");
}

TEST(SuspicionTest, AMemberCutOffInBothDirectionsIsSuspect) {
  Chain chain(4);
  chain.report(0).append_wait = kLong;
  chain.report(1).append_wait = kPatience;
  EXPECT_EQ(chain.Suspect(), "n1 by n0");
  chain.report(2).append_wait = kPatience;
  EXPECT_EQ(chain.Suspect(), "n2 by n1");
  // Its wait began a little later.
  chain.report(1).append_wait = kPatience / 2;
  EXPECT_EQ(chain.Suspect(), "n2 by n1");
  chain.report(1).append_wait = kPatience / 3;
  EXPECT_EQ(chain.Suspect(), "n3 by n2");
  chain.report(1).append_wait = kPatience;
  chain.report(0).append_wait = absl::ZeroDuration();
  EXPECT_EQ(chain.Suspect(), "n2 by n1");
}

TEST(SuspicionTest, ATailThatDoesNotReachTheHeadIsSuspect) {
  Chain chain(4);
  chain.report(0).completion_wait = kPatience;
  EXPECT_EQ(chain.Suspect(), "n3 by n0");
  // The tail has not applied it yet: the slow member is unknown.
  chain.report(3).cursors.applied = 8;
  EXPECT_EQ(chain.Suspect(), "none");
  chain.report(1).append_wait = kPatience;
  EXPECT_EQ(chain.Suspect(), "n2 by n1");
}

TEST(SuspicionTest, AMemberWithASlowMediumIsSuspect) {
  for (size_t i = 0; i < 4; ++i) {
    Chain chain(4);
    const std::string id = absl::StrCat("n", i);
    chain.report(i).late = kLate;
    EXPECT_EQ(chain.Suspect(), id + " by " + id);
    // The same again.
    EXPECT_EQ(chain.Suspect({{id, id, kLong}}), id + " by " + id);
    chain.report(i).late = absl::Milliseconds(799);
    EXPECT_EQ(chain.Suspect(), "none");
  }
  // A silent member comes first.
  Chain chain(4);
  chain.report(3).late = kLate;
  chain.report(0).append_wait = kPatience;
  EXPECT_EQ(chain.Suspect(), "n1 by n0");
}

TEST(SuspicionTest, NoMemberIsSuspectIfLoadMayExplainTheSlowness) {
  Chain chain(4);
  chain.report(0).late = kLate;
  chain.report(2).late = absl::Milliseconds(400);
  EXPECT_EQ(chain.Suspect(), "none");
  chain.report(2).late = absl::Milliseconds(399);
  EXPECT_EQ(chain.Suspect(), "n0 by n0");
  // Another member was expelled for it, and that did not help.
  EXPECT_EQ(chain.Suspect({{"n9", "n9", kLong}}), "none");
  EXPECT_EQ(chain.Suspect({{"n9", "n8", kLong}}), "n0 by n0");
  Chain two(2);
  two.report(0).late = kLate;
  EXPECT_EQ(two.Suspect(), "none");
}

TEST(SuspicionTest, AMemberThatTheChainNeedsIsNotSuspect) {
  Chain two(2);
  two.report(0).append_wait = kLong;
  EXPECT_EQ(two.Suspect(), "none");
  EXPECT_EQ(two.Suspect({{"n9", "n0", kLong}}), "none");
  Chain three(3);
  three.report(0).append_wait = kLong;
  EXPECT_EQ(three.Suspect(), "n1 by n0");
}

TEST(SuspicionTest, AnUnreachableNewTailIsSuspect) {
  for (size_t members : {2, 3}) {
    Chain chain(members);
    chain.report(members - 1).condition = Condition::kBehind;
    chain.report(members - 2).append_wait = kPatience;
    EXPECT_EQ(chain.Suspect(),
              absl::StrCat("n", members - 1, " by n", members - 2));
  }
}

// A member restarted beside a dead link needs its neighbours' positions, and
// never gets them.
TEST(SuspicionTest, ARepairingMemberSuspectsItsSuccessorLater) {
  for (Condition condition : {Condition::kTorn, Condition::kReturned}) {
    Chain chain(4);
    chain.report(2).condition = condition;
    chain.report(2).append_wait = kPatience * 4 - absl::Milliseconds(1);
    chain.report(0).late = kLate;
    EXPECT_EQ(chain.Suspect(), "none");
    chain.report(2).append_wait = kPatience * 4;
    EXPECT_EQ(chain.Suspect(), "n3 by n2");
  }
}

// Without its result, or its successor's, nothing shows that the head errs.
TEST(SuspicionTest, NoMemberIsSuspectDuringADivergence) {
  for (size_t diverging : {1, 2, 3}) {
    for (size_t reporting : {0, 1, 2}) {
      Chain chain(4);
      chain.report(reporting).append_wait = kLong;
      chain.report(diverging).disputed = 9;
      EXPECT_EQ(chain.Suspect(), "none");
      chain.report(diverging).disputed = 0;
      EXPECT_NE(chain.Suspect(), "none");
    }
    Chain slow(4);
    slow.report(1).late = kLate;
    slow.report(diverging).disputed = 9;
    EXPECT_EQ(slow.Suspect(), "none");
  }
}

// The divergence is with an earlier head, which has gone.
TEST(SuspicionTest, ADivergenceAtTheHeadSparesNoMember) {
  Chain chain(4);
  chain.report(0).disputed = 9;
  chain.report(0).append_wait = kPatience;
  EXPECT_EQ(chain.Suspect(), "n1 by n0");
}

TEST(SuspicionTest, OldMistakesAreDetected) {
  Chain repairs(4);
  repairs.report(2).condition = Condition::kReturned;
  repairs.report(2).append_wait = kPatience * 4;
  {
    const faults::Planted fault("membership-waits-for-a-repairing-node");
    EXPECT_EQ(repairs.Suspect(), "none");
  }
  Chain diverges(4);
  diverges.report(0).append_wait = kPatience;
  diverges.report(1).disputed = 9;
  {
    const faults::Planted fault("membership-divergences-spare-no-member");
    EXPECT_EQ(diverges.Suspect(), "n1 by n0");
  }
  Chain chain(4);
  chain.report(2).append_wait = kPatience;
  const faults::Planted fault("membership-reporters-count-alone");
  EXPECT_EQ(chain.Suspect({{"n3", "n0", kLong}, {"n8", "n2", kLong}}),
            "n2 by n3");
}

// Two of four are unreachable, and a reachable one is before both of them.
TEST(SuspicionTest, AReporterConfirmedByOthersIsBelieved) {
  Chain chain(4);
  chain.report(2).append_wait = kPatience;
  const Suspicion another{"n9", "n0", kLong};
  EXPECT_EQ(chain.Suspect({{"n9", "n2", kLong}}), "n2 by n3");
  EXPECT_EQ(chain.Suspect({{"n9", "n2", kLong}, another}), "n3 by n2");
  EXPECT_EQ(chain.Suspect({another, {"n9", "n2", kLong}}), "n3 by n2");
  EXPECT_EQ(chain.Suspect({{"n3", "n0", kLong}, {"n8", "n2", kLong}}),
            "n3 by n2");
  // Its former suspicion had expelled another node than the one it named.
  EXPECT_EQ(chain.Suspect({{"n2", "n9", kLong, /*turned=*/true}}), "n2 by n3");
  EXPECT_EQ(chain.Suspect(
                {{"n0", "n3", kLong, /*turned=*/true}, {"n9", "n2", kLong}}),
            "n2 by n3");
}

TEST(SuspicionTest, NoMemberIsSuspectDuringAnotherChange) {
  Chain chain(4);
  chain.report(1).append_wait = kLong;
  chain.report(3).view_id = 6;
  EXPECT_EQ(chain.Suspect(), "none");
  chain.report(3).view_id = 7;
  chain.nodes.at("n3").alive = false;
  EXPECT_EQ(chain.Suspect(), "none");
  chain.nodes.at("n3").alive = true;
  chain.nodes.at("n3").member.incarnation = 2;
  EXPECT_EQ(chain.Suspect(), "none");
  chain.nodes.erase("n3");
  EXPECT_EQ(chain.Suspect(), "none");
}

// Two faults in sequence: a chain of four whose second member has bad links,
// and another fault that ends by itself.
std::string SuspectAfterAnIdleSuspicion() {
  Chain chain(4);
  Suspects suspects(kPatience);
  absl::Time now = absl::FromUnixSeconds(1000);
  chain.report(1).append_wait = kPatience;
  suspects.Look(chain.view, chain.nodes, now);
  View next = chain.view;
  next.id = 8;
  next.members.erase(next.members.begin() + 2);
  suspects.OnView(chain.view, next, now);
  chain.view = next;
  for (auto& [id, node] : chain.nodes) node.report.view_id = 8;
  chain.report(1).append_wait = absl::ZeroDuration();
  chain.report(0).completion_wait = kPatience;
  suspects.Look(chain.view, chain.nodes, now);
  suspects.LetGo();
  chain.report(0).completion_wait = absl::ZeroDuration();
  chain.report(1).append_wait = kPatience;
  suspects.Look(chain.view, chain.nodes, now);
  return suspects.present().has_value() ? suspects.present()->suspect : "";
}

TEST(SuspectsTest, AnIdleSuspicionConfirmsNoReporter) {
  EXPECT_EQ(SuspectAfterAnIdleSuspicion(), "n1");
  faults::PlantFault("membership-idle-suspicions-count");
  EXPECT_EQ(SuspectAfterAnIdleSuspicion(), "n3");
  faults::PlantFault("");
}

// The suspicion comes first, as for a link that is down; then the link is up,
// and the suspect reports a divergence.
std::string SuspectAfterADivergence() {
  Chain chain(4);
  Suspects suspects(kPatience);
  const absl::Time now = absl::FromUnixSeconds(1000);
  chain.report(0).append_wait = kPatience;
  suspects.Look(chain.view, chain.nodes, now);
  EXPECT_TRUE(suspects.Is("n1"));
  chain.report(0).append_wait = absl::ZeroDuration();
  chain.report(1).disputed = 9;
  suspects.Heed(chain.view, chain.view.members[1], chain.report(1));
  suspects.Look(chain.view, chain.nodes, now);
  return suspects.present().has_value() ? suspects.present()->suspect : "";
}

TEST(SuspectsTest, ASuspectThatReportsADivergenceStays) {
  EXPECT_EQ(SuspectAfterADivergence(), "");
  const faults::Planted fault("membership-suspicions-outlast-divergences");
  EXPECT_EQ(SuspectAfterADivergence(), "n1");
}

}  // namespace
}  // namespace kamino::membership
