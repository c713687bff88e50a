// The agreement of a chain whose store has lost it (What nodes must have in
// common, docs/design/membership.md): a chain that an operator recovers keeps
// what was in force.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "membership/agent/agent_core.h"
#include "membership/records.h"
#include "tests/faults/fault.h"
#include "tests/membership/manager_core_fixture.h"

namespace kamino::membership {
namespace {

class RecoveredAgreementTest : public ManagerCoreTest {
 protected:
  // A chain with a procedure in force, which the store no longer knows.
  void SetUp() override {
    for (const Member& member : all_) {
      ASSERT_EQ(Register(Newer(member)), absl::OkStatus());
    }
    const auto view = core_.ProposeView(now_);
    ASSERT_TRUE(view.has_value());
    newest_ = *view;
    core_.OnViewStored(newest_);
    Lead(View());
  }
  void TearDown() override { faults::PlantFault(""); }

  static Member Newer(Member member) {
    member.agreement = {{"ring_mb", {64, 64}}, {"procedure p", {0, 1}}};
    return member;
  }
  static Member Older(Member member) {
    member.agreement = {{"ring_mb", {64, 64}}};
    return member;
  }
  // The report of its agent.
  absl::Status GoesOn(const std::string& id) {
    AgentCore agent(Agents());
    agent.Begin(Newer(Node(id)), now_);
    AgentCore::Answer answer;
    answer.registration.set_chain_id(kOnlyChain);
    answer.registration.set_lease_ms(700);
    *answer.registration.mutable_view() = ToProto(newest_);
    EXPECT_EQ(agent.OnAnswer(agent.Next(now_), answer, now_).view, newest_);
    NodeReport report = Returned();
    report.condition = Condition::kSound;
    report.view_id = newest_.id;
    report.view_digest = newest_.digest;
    report.view_epoch = newest_.epoch;
    agent.SetReport(report);
    // A manager that has forgotten the node has it register.
    AgentCore::Answer unknown;
    unknown.status = absl::NotFoundError("");
    agent.OnAnswer(agent.Next(now_), unknown, now_);
    const auto call = agent.Next(now_);
    EXPECT_TRUE(call.registration.has_newest_view());
    return core_.Register("c", FromProto(call.registration.member()),
                          FromProto(call.registration.report()), now_,
                          FromProto(call.registration.newest_view()));
  }
  absl::Status ComesBack(const Member& member) {
    return core_.Register("c", member, Returned(), now_);
  }
  // Until earlier leases have expired, with n1 and n2 as they were.
  void Wait() {
    for (int i = 0; i < 40; ++i) {
      now_ += kBeat;
      for (const char* id : {"n1", "n2"}) {
        EXPECT_TRUE(absl::IsUnavailable(GoesOn(id)));
      }
    }
  }

  View newest_;

 private:
  static AgentCore::Options Agents() {
    AgentCore::Options options;
    options.cluster_id = "c";
    options.managers = {"m:1"};
    return options;
  }
  // A report of a restarted member of the newest view.
  NodeReport Returned() const {
    NodeReport report;
    report.condition = Condition::kReturned;
    report.member_view = newest_.id;
    report.epoch = newest_.epoch;
    report.cluster_uuid = newest_.cluster_uuid;
    return report;
  }
};

TEST_F(RecoveredAgreementTest, AReturningNodeWithoutAProcedureIsRefused) {
  Wait();
  const absl::Status refused = ComesBack(Older(Node("n3", 2)));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(refused.message(),
            "procedure p is missing at n3, but 1 in the chain; all nodes of a "
            "chain must have it in common");
  Member other = Newer(Node("n3", 2));
  other.agreement["ring_mb"] = {16, 16};
  EXPECT_EQ(ComesBack(other).message(),
            "ring_mb is 16 at n3, but 64 at n1; all nodes of a chain must have "
            "it in common");
  // With the others' program it belongs to the chain.
  EXPECT_TRUE(absl::IsUnavailable(ComesBack(Newer(Node("n3", 3)))));
  const auto recovery = core_.recoveries().Recover(/*force=*/false, now_);
  ASSERT_EQ(recovery.status(), absl::OkStatus());
  EXPECT_EQ(Names(recovery->view), "n1.1 n2.1 n3.3 ");
  EXPECT_EQ(recovery->view.in_force, newest_.in_force);
}

// It came before the nodes that know what was in force.
TEST_F(RecoveredAgreementTest, ARecoveryOmitsAMismatchedNodeThatCameFirst) {
  for (int i = 0; i < 40; ++i) {
    now_ += kBeat;
    EXPECT_TRUE(absl::IsUnavailable(ComesBack(Older(Node("n3", 2)))));
  }
  EXPECT_TRUE(absl::IsUnavailable(GoesOn("n1")));
  EXPECT_TRUE(absl::IsUnavailable(GoesOn("n2")));
  const auto plan = core_.recoveries().Plan(now_);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_EQ(Names(plan->view), "n1.1 n2.1 ");
  EXPECT_FALSE(plan->complete);
  EXPECT_TRUE(absl::IsFailedPrecondition(ComesBack(Older(Node("n3", 2)))));
  EXPECT_TRUE(absl::IsUnavailable(ComesBack(Newer(Node("n3", 3)))));
  const auto recovery = core_.recoveries().Recover(/*force=*/false, now_);
  ASSERT_EQ(recovery.status(), absl::OkStatus());
  EXPECT_EQ(recovery->view.in_force, newest_.in_force);
}

// No node that knows what was in force is there.
TEST_F(RecoveredAgreementTest, ARecoveryTakesTheAgreementOfRestartedNodes) {
  for (int i = 0; i < 40; ++i) {
    now_ += kBeat;
    for (const Member& member : {Node("n1", 2), Node("n2", 2), Node("n3", 2)}) {
      EXPECT_TRUE(absl::IsUnavailable(ComesBack(Older(member))));
    }
  }
  const auto recovery = core_.recoveries().Recover(/*force=*/true, now_);
  ASSERT_EQ(recovery.status(), absl::OkStatus());
  EXPECT_EQ(Names(recovery->view), "n1.2 n2.2 n3.2 ");
  EXPECT_EQ(recovery->view.in_force, (InForce{{"ring_mb", 64}}));
}

// A node with a later view is not judged by an older one.
TEST_F(RecoveredAgreementTest, ANodeWithALaterViewIsNotRefused) {
  Wait();
  NodeReport report;
  report.condition = Condition::kReturned;
  report.member_view = newest_.id + 1;
  report.epoch = newest_.epoch;
  report.cluster_uuid = newest_.cluster_uuid;
  EXPECT_TRUE(absl::IsUnavailable(
      core_.Register("c", Older(Node("n3", 2)), report, now_)));
}

// A manager and an agent that do not check agreements, like older ones.
class ForgottenAgreementTest : public RecoveredAgreementTest {
 protected:
  void IsGoneOnWithout(const std::string& fault) {
    faults::PlantFault(fault);
    Wait();
    EXPECT_TRUE(absl::IsUnavailable(ComesBack(Older(Node("n3", 2)))));
    const auto recovery = core_.recoveries().Recover(/*force=*/false, now_);
    ASSERT_EQ(recovery.status(), absl::OkStatus());
    EXPECT_EQ(Names(recovery->view), "n1.1 n2.1 n3.2 ");
    EXPECT_EQ(recovery->view.in_force.at("procedure p"), 0u);
    EXPECT_TRUE(faults::PlantedFaultWasMet());
  }
};

TEST_F(ForgottenAgreementTest,
       AManagerThatAcceptsAnyNodeWhileBehindIsDetected) {
  IsGoneOnWithout("membership-takes-mismatched-nodes-while-behind");
}

TEST_F(ForgottenAgreementTest, AnAgentThatOmitsTheAgreementIsDetected) {
  IsGoneOnWithout("membership-tells-nothing-of-what-is-in-force");
}

}  // namespace
}  // namespace kamino::membership
