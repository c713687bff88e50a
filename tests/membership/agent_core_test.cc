// The node's side of membership without threads: which manager it calls, by
// which connection, and for how long while its core makes no progress.
#include "membership/agent_core.h"

#include <vector>

#include "gtest/gtest.h"
#include "rpc/redirect.h"
#include "tests/faults/planted.h"

namespace kamino::membership {
namespace {

constexpr absl::Duration kLease = absl::Milliseconds(700);
constexpr absl::Duration kMoment = absl::Milliseconds(10);

// A new leader waits for its nodes, but not for long.
TEST(AgentCoreTest, AsksTheNextManagerWithinAHeartbeat) {
  AgentCore::Options options;
  options.cluster_id = "c";
  options.managers = {"a:1", "b:1"};
  AgentCore core(options);
  absl::Time now = absl::FromUnixSeconds(1000);
  AgentCore::Call call = core.Next(now);
  ASSERT_EQ(call.manager, "a:1");
  AgentCore::Answer registered;
  registered.registration.set_chain_id(kOnlyChain);
  registered.registration.set_heartbeat_interval_ms(20);
  EXPECT_EQ(core.OnAnswer(call, registered, now).wait, absl::Milliseconds(20));
  AgentCore::Answer gone;
  gone.status = absl::UnavailableError("gone");
  for (const char* next : {"b:1", "a:1", "b:1"}) {
    call = core.Next(now);
    EXPECT_EQ(core.OnAnswer(call, gone, now).wait, absl::Milliseconds(20));
    EXPECT_EQ(core.Next(now).manager, next);
  }
}

// A manager that has moved under its name, or whose connection was cut without
// a word, is found by a new connection. That has time to be made.
TEST(AgentCoreTest, AManagerThatDoesNotAnswerIsCalledByANewConnection) {
  AgentCore::Options options;
  options.cluster_id = "c";
  options.managers = {"a:1"};
  AgentCore core(options);
  absl::Time now = absl::FromUnixSeconds(1000);
  const absl::Time begin = now;
  core.Begin(Member{"n1", 7, "n1:1", {{"tcp", "n1:2"}}, 64, "h"}, now);
  AgentCore::Answer none;
  none.status = absl::DeadlineExceededError("no answer");
  std::vector<absl::Duration> anew;
  const auto call = [&](const AgentCore::Answer& answer) {
    const AgentCore::Call sent = core.Next(now);
    if (sent.anew) anew.push_back(now - begin);
    core.OnAnswer(sent, answer, now);
    now += absl::Milliseconds(250);
  };
  while (now < begin + absl::Seconds(20)) call(none);
  EXPECT_EQ(anew,
            (std::vector<absl::Duration>{absl::Seconds(1), absl::Seconds(3),
                                         absl::Seconds(7), absl::Seconds(15)}));
  // One that answers, and be it that it does not lead, is there.
  AgentCore::Answer no_leader;
  no_leader.status = rpc::NotLeader("", kOnlyChain);
  anew.clear();
  while (now < begin + absl::Seconds(60)) call(no_leader);
  EXPECT_TRUE(anew.empty());
  // So is one that the node has to wait for.
  AgentCore::Answer not_yet;
  not_yet.status = absl::UnavailableError("the store of views is being read");
  not_yet.names_cluster = true;
  while (now < begin + absl::Seconds(100)) call(not_yet);
  EXPECT_TRUE(anew.empty());
  const absl::Time again = now;
  while (now < again + absl::Seconds(2)) call(none);
  EXPECT_EQ(anew.size(), 1u);
}

class HungCoreTest : public testing::Test {
 protected:
  // The core of a node that has registered makes no progress for so long.
  bool HangsAfter(absl::Duration step) {
    AgentCore::Options options;
    options.cluster_id = "c";
    options.managers = {"a:1"};
    options.medium_time = [this] { return medium_time_; };
    AgentCore core(options);
    absl::Time now = absl::FromUnixSeconds(1000);
    core.Begin(Member{"n1", 7, "n1:1", {{"tcp", "n1:2"}}, 64, "h"}, now);
    core.NoteProgress(now);
    medium_time_ += waits_;
    const AgentCore::Call call = core.Next(now);
    AgentCore::Answer answer;
    answer.registration.set_chain_id(kOnlyChain);
    answer.registration.set_heartbeat_interval_ms(20);
    answer.registration.set_lease_ms(absl::ToInt64Milliseconds(kLease));
    core.OnAnswer(call, answer, now);
    return core.Hangs(now + step);
  }

  absl::Duration waits_;  // in the step, for its medium
  absl::Duration medium_time_ = absl::Hours(1);
};

TEST_F(HungCoreTest, ACoreHangsAfterALease) {
  EXPECT_FALSE(HangsAfter(kLease - kMoment));
  EXPECT_TRUE(HangsAfter(kLease + kMoment));
}

// Also where it does not wait just now: a step may be of many short syncs.
TEST_F(HungCoreTest, TimeInWhichItWaitsForItsMediumDoesNotCount) {
  waits_ = kLease / 2;
  EXPECT_FALSE(HangsAfter(kLease * 1.5 - kMoment));
  EXPECT_TRUE(HangsAfter(kLease * 1.5 + kMoment));
}

TEST_F(HungCoreTest, ACoreThatWaitsForItsMediumHangsAfterTwo) {
  waits_ = 10 * kLease;
  EXPECT_FALSE(HangsAfter(kLease + kMoment));
  EXPECT_FALSE(HangsAfter(2 * kLease - kMoment));
  EXPECT_TRUE(HangsAfter(2 * kLease + kMoment));
}

TEST_F(HungCoreTest, OldMistakesAreNoticed) {
  waits_ = 10 * kLease;
  faults::PlantFault("membership-media-count-as-hung");
  EXPECT_TRUE(HangsAfter(kLease + kMoment));
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("membership-media-are-waited-for-for-ever");
  EXPECT_FALSE(HangsAfter(2 * kLease + kMoment));
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

}  // namespace
}  // namespace kamino::membership
