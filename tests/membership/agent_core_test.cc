// The node's side of membership without threads: which manager it calls, by
// which connection, how it treats managers of other clusters, and for how long
// it calls while its core makes no progress.
#include "membership/agent/agent_core.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "membership/records.h"
#include "rpc/cluster_identity.h"
#include "rpc/redirect.h"
#include "tests/faults/planted.h"
#include "tests/logs/captured_lines.h"

namespace kamino::membership {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

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

// The deadlines, in ms, of `calls` calls that each end with `answer`.
std::vector<int64_t> DeadlinesOf(AgentCore* core, int calls,
                                 const AgentCore::Answer& answer) {
  const absl::Time now = absl::FromUnixSeconds(1000);
  std::vector<int64_t> found;
  for (int i = 0; i < calls; ++i) {
    const AgentCore::Call call = core->Next(now);
    found.push_back(absl::ToInt64Milliseconds(call.deadline));
    core->OnAnswer(call, answer, now);
  }
  return found;
}

AgentCore::Options ShortDeadlines() {
  AgentCore::Options options;
  options.cluster_id = "c";
  options.managers = {"a:1"};
  options.deadline = absl::Milliseconds(100);
  return options;
}

AgentCore::Answer Late() {
  AgentCore::Answer late;
  late.connected = true;
  late.status = absl::DeadlineExceededError("no answer");
  return late;
}

// A manager on an overloaded machine that needs longer than the first deadline
// is heard; one that hangs costs a quarter of a lease at most.
TEST(AgentCoreTest, DeadlinesGrowUntilAManagerAnswers) {
  AgentCore core(ShortDeadlines());
  EXPECT_THAT(DeadlinesOf(&core, 6, Late()),
              ElementsAre(100, 200, 400, 800, 800, 800));
  AgentCore::Answer registered;
  registered.registration.set_chain_id(kOnlyChain);
  registered.registration.set_heartbeat_interval_ms(20);
  registered.registration.set_lease_ms(1200);
  EXPECT_THAT(DeadlinesOf(&core, 1, registered), ElementsAre(800));
  EXPECT_THAT(DeadlinesOf(&core, 4, Late()), ElementsAre(100, 200, 300, 300));
  AgentCore::Answer heard;
  heard.heartbeat.set_chain_id(kOnlyChain);
  heard.heartbeat.set_lease_ms(1200);
  EXPECT_THAT(DeadlinesOf(&core, 1, heard), ElementsAre(300));
  // Where no process listens, a longer deadline would not help.
  AgentCore::Answer gone;
  gone.status = absl::UnavailableError("gone");
  EXPECT_THAT(DeadlinesOf(&core, 3, gone), ElementsAre(100, 100, 100));
}

// Else every second call to a slow manager would fail.
// The deadlines of calls after three answers to a node that has registered,
// each 500 ms late, and one that comes at once.
std::vector<absl::Duration> DeadlinesAfterLateAnswers() {
  AgentCore core(ShortDeadlines());
  EXPECT_THAT(DeadlinesOf(&core, 3, Late()), ElementsAre(100, 200, 400));
  AgentCore::Answer registered;
  registered.registration.set_chain_id(kOnlyChain);
  registered.registration.set_heartbeat_interval_ms(20);
  registered.registration.set_lease_ms(3200);
  absl::Time now = absl::FromUnixSeconds(1000);
  std::vector<absl::Duration> deadlines;
  for (const int answered_after : {500, 500, 500, 50}) {
    const AgentCore::Call call = core.Next(now);
    now += absl::Milliseconds(answered_after);
    AgentCore::Answer heard;
    heard.heartbeat.set_chain_id(kOnlyChain);
    heard.heartbeat.set_lease_ms(3200);
    core.OnAnswer(call, call.registers ? registered : heard, now);
    deadlines.push_back(core.Next(now).deadline);
  }
  return deadlines;
}

TEST(AgentCoreTest, DeadlinesStayLongWhileAnswersComeLate) {
  const absl::Duration most = absl::Milliseconds(800);
  const auto right = ElementsAre(most, most, most, absl::Milliseconds(100));
  EXPECT_THAT(DeadlinesAfterLateAnswers(), right);
  faults::Planted fault("membership-late-answers-end-long-calls");
  EXPECT_THAT(DeadlinesAfterLateAnswers(), Not(right));
}

// The longest deadline of a call to a slow leader beside a standby that answers
// at once.
absl::Duration LongestToSlowLeader() {
  AgentCore::Options options = ShortDeadlines();
  options.managers = {"slow:1", "standby:1"};
  AgentCore core(options);
  AgentCore::Answer redirect;
  redirect.status = rpc::NotLeader("slow:1", kOnlyChain);
  const absl::Time now = absl::FromUnixSeconds(1000);
  absl::Duration longest;
  for (int i = 0; i < 12; ++i) {
    const AgentCore::Call call = core.Next(now);
    const bool slow = call.manager == "slow:1";
    if (slow) longest = std::max(longest, call.deadline);
    core.OnAnswer(call, slow ? Late() : redirect, now);
  }
  return longest;
}

TEST(AgentCoreTest, RedirectsDoNotShortenTheDeadlines) {
  EXPECT_EQ(LongestToSlowLeader(), absl::Milliseconds(800));
  faults::Planted fault("membership-redirects-end-long-calls");
  EXPECT_LT(LongestToSlowLeader(), absl::Milliseconds(800));
}

// Otherwise a node whose first manager's machine is down finds the leader too
// late.
TEST(AgentCoreTest, DeadlinesDoNotGrowWithoutAConnection) {
  AgentCore core(ShortDeadlines());
  AgentCore::Answer none = Late();
  none.connected = false;
  EXPECT_THAT(DeadlinesOf(&core, 3, none), ElementsAre(100, 100, 100));
  faults::Planted fault("membership-waits-for-absent-managers");
  EXPECT_THAT(DeadlinesOf(&core, 3, none), ElementsAre(100, 200, 400));
}

TEST(AgentCoreTest, DeadlinesThatDoNotGrowAreDetected) {
  faults::Planted fault("membership-slow-managers-are-not-heard");
  AgentCore core(ShortDeadlines());
  EXPECT_THAT(DeadlinesOf(&core, 2, Late()), Not(ElementsAre(100, 200)));
}

// A manager that has moved under its name, or whose connection was cut
// silently, is reached by a new connection. The node leaves time to make one.
TEST(AgentCoreTest, ASilentManagerIsCalledOnANewConnection) {
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
  // A manager that answers is up, even if it does not lead.
  AgentCore::Answer no_leader;
  no_leader.status = rpc::NotLeader("", kOnlyChain);
  anew.clear();
  while (now < begin + absl::Seconds(60)) call(no_leader);
  EXPECT_TRUE(anew.empty());
  // So is one that makes the node wait.
  AgentCore::Answer not_yet;
  not_yet.status = absl::UnavailableError("the store of views is being read");
  not_yet.cluster_uuid = "0123456789abcdef0123456789abcdef";
  while (now < begin + absl::Seconds(100)) call(not_yet);
  EXPECT_TRUE(anew.empty());
  const absl::Time again = now;
  while (now < again + absl::Seconds(2)) call(none);
  EXPECT_EQ(anew.size(), 1u);
}

const std::string kOwn(16, '\x11');
const std::string kOwnUuid = absl::BytesToHexString(kOwn);
const std::string kBeta(32, 'b');
const std::string kGamma(32, 'c');

// A node of cluster c, started with two managers' addresses.
class ClustersOfManagersTest : public testing::Test {
 protected:
  // Starts it anew; a node without data belongs to no cluster.
  void Start(bool has_data) {
    AgentCore::Options options;
    options.cluster_id = "c";
    options.managers = {"a:1", "b:1"};
    options.learns_clusters = true;
    core_.emplace(options);
    NodeReport report;
    if (has_data) report.cluster_uuid = kOwn;
    core_->SetReport(report);
    core_->Begin(Member{"n1", 7, "n1:1", {{"tcp", "n1:2"}}, 64, "h"}, now_);
  }

  // The answer of a channel whose call a manager of cluster `uuid` answered.
  static AgentCore::Answer Foreign(const std::string& uuid) {
    AgentCore::Answer answer;
    answer.status = rpc::OtherCluster("the manager's words");
    answer.cluster_uuid = uuid;
    return answer;
  }
  static AgentCore::Answer Silence() {
    AgentCore::Answer answer;
    answer.status = absl::DeadlineExceededError("no answer");
    return answer;
  }
  static AgentCore::Answer Standby(const std::string& uuid) {
    AgentCore::Answer answer;
    answer.status = rpc::NotLeader("", kOnlyChain);
    answer.cluster_uuid = uuid;
    return answer;
  }
  static AgentCore::Answer TakesIn(const std::string& uuid) {
    View view{"c", 1, {Member{"n1", 7, "n1:1", {{"tcp", "n1:2"}}, 64, "h"}}};
    view.cluster_uuid = absl::HexStringToBytes(uuid);
    AgentCore::Answer answer;
    answer.cluster_uuid = uuid;
    answer.registration.set_chain_id(kOnlyChain);
    answer.registration.set_lease_view_id(1);
    *answer.registration.mutable_view() = ToProto(view);
    return answer;
  }

  // Makes the next call, to `manager`, and returns its effects.
  AgentCore::Effects Ask(const std::string& manager,
                         const AgentCore::Answer& answer) {
    call_ = core_->Next(now_);
    EXPECT_EQ(call_.manager, manager);
    const AgentCore::Effects effects = core_->OnAnswer(call_, answer, now_);
    now_ += kMoment;
    return effects;
  }

  std::optional<AgentCore> core_;
  AgentCore::Call call_;  // the last one
  absl::Time now_ = absl::FromUnixSeconds(1000);
};

TEST_F(ClustersOfManagersTest, AStartingNodeSkipsAManagerOfAnotherCluster) {
  Start(/*has_data=*/true);
  EXPECT_EQ(Ask("a:1", Foreign(kBeta)).refused, absl::OkStatus());
  EXPECT_TRUE(call_.registers);
  EXPECT_TRUE(Ask("b:1", TakesIn(kOwnUuid)).view.has_value());
}

TEST_F(ClustersOfManagersTest, AStartingNodeWaitsWhileItsOwnManagerIsSilent) {
  Start(/*has_data=*/true);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(Ask("a:1", Foreign(kBeta)).refused, absl::OkStatus());
    const AgentCore::Effects silence = Ask("b:1", Silence());
    ASSERT_EQ(silence.refused, absl::OkStatus());
    ASSERT_GT(silence.wait, absl::ZeroDuration());
  }
  // A manager's last answer counts.
  EXPECT_EQ(Ask("a:1", Silence()).refused, absl::OkStatus());
  EXPECT_EQ(Ask("b:1", Foreign(kBeta)).refused, absl::OkStatus());
  EXPECT_EQ(Ask("a:1", Standby(kOwnUuid)).refused, absl::OkStatus());
}

TEST_F(ClustersOfManagersTest,
       AStartingNodeStopsIfAllManagersAreOfOtherClusters) {
  Start(/*has_data=*/true);
  EXPECT_EQ(Ask("a:1", Foreign(kBeta)).refused, absl::OkStatus());
  const absl::Status refused = Ask("b:1", Foreign(kGamma)).refused;
  EXPECT_TRUE(rpc::IsOtherCluster(refused)) << refused;
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(StartsWith("--managers has addresses that are wrong or are used by "
                       "another cluster: none is of a manager of cluster c "
                       "(uuid 1111"),
            HasSubstr(absl::StrCat("a:1 is of the cluster of uuid ", kBeta)),
            HasSubstr(absl::StrCat("b:1 is of the cluster of uuid ", kGamma)),
            HasSubstr("If this node is meant for the other cluster, then"),
            Not(HasSubstr("files"))));
}

TEST_F(ClustersOfManagersTest, ARunningNodeSurvivesManagersOfOtherClusters) {
  Start(/*has_data=*/true);
  ASSERT_TRUE(Ask("a:1", TakesIn(kOwnUuid)).view.has_value());
  AgentCore::Answer forgotten;
  forgotten.status = absl::NotFoundError("the node is not registered");
  Ask("a:1", forgotten);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Ask("a:1", Foreign(kBeta)).refused, absl::OkStatus());
    EXPECT_TRUE(call_.registers);
    EXPECT_EQ(Ask("b:1", Foreign(kGamma)).refused, absl::OkStatus());
  }
}

TEST_F(ClustersOfManagersTest, AManagerOfAnotherClusterIsLoggedOnceAMinute) {
  Start(/*has_data=*/true);
  logs::CapturedLines log;
  const absl::Time began = now_;
  while (now_ < began + absl::Seconds(59)) {
    Ask("a:1", Foreign(kBeta));
    Ask("b:1", Silence());
  }
  const auto told = log.With("the manager at a:1 is of the cluster of uuid bb");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0].message,
              HasSubstr(absl::StrCat("this node is of cluster c (uuid ",
                                     kOwnUuid, ")")));
  EXPECT_TRUE(log.With("manager at a:1").empty()) << "as of a silent one";
  while (now_ < began + absl::Seconds(62)) {
    Ask("a:1", Foreign(kBeta));
    Ask("b:1", Silence());
  }
  EXPECT_EQ(log.With("the manager at a:1 is of").size(), 2u);
}

// Otherwise its answers would keep the node on a dead connection.
TEST_F(ClustersOfManagersTest, AForeignManagerDoesNotHideTheSilenceOfAnother) {
  Start(/*has_data=*/true);
  int anew = 0;
  for (int i = 0; i < 1000; ++i) {
    Ask("a:1", Foreign(kBeta));
    EXPECT_FALSE(call_.anew) << "it answers";
    Ask("b:1", Silence());
    anew += call_.anew ? 1 : 0;
  }
  EXPECT_GE(anew, 2);
}

TEST_F(ClustersOfManagersTest, ANewNodeAsksAllManagersBeforeItRegisters) {
  Start(/*has_data=*/false);
  EXPECT_EQ(Ask("a:1", Standby(kBeta)).refused, absl::OkStatus());
  EXPECT_FALSE(call_.registers);
  const absl::Status refused = Ask("b:1", Standby(kGamma)).refused;
  EXPECT_FALSE(call_.registers);
  EXPECT_EQ(std::string(refused.message()),
            absl::StrCat("the managers are of different clusters: a:1 is of "
                         "the cluster of uuid ",
                         kBeta, ", b:1 is of the cluster of uuid ", kGamma,
                         "; name managers of one cluster in --managers"));
}

TEST_F(ClustersOfManagersTest, ANewNodeRegistersIfAllManagersAgreeOrAreSilent) {
  for (const AgentCore::Answer& other : {Standby(kBeta), Silence()}) {
    Start(/*has_data=*/false);
    Ask("a:1", other);
    EXPECT_EQ(Ask("b:1", Standby(kBeta)).refused, absl::OkStatus());
    EXPECT_TRUE(Ask("a:1", TakesIn(kBeta)).view.has_value());
    EXPECT_TRUE(call_.registers);
  }
}

// Since the first manager was silent when all were asked.
TEST_F(ClustersOfManagersTest, ANewNodeRefusesAViewOfASecondCluster) {
  Start(/*has_data=*/false);
  Ask("a:1", Silence());
  Ask("b:1", Standby(kGamma));
  const AgentCore::Effects effects = Ask("a:1", TakesIn(kBeta));
  EXPECT_TRUE(rpc::IsOtherCluster(effects.refused)) << effects.refused;
  EXPECT_FALSE(effects.view.has_value());
}

TEST_F(ClustersOfManagersTest, StoppingForOneForeignManagerIsDetected) {
  const faults::Planted fault("membership-one-foreign-manager-ends-a-node");
  Start(/*has_data=*/true);
  EXPECT_NE(Ask("a:1", Foreign(kBeta)).refused, absl::OkStatus());
}

TEST_F(ClustersOfManagersTest, UncomparedManagersAreDetected) {
  const faults::Planted fault("membership-managers-of-two-clusters-pass");
  Start(/*has_data=*/false);
  Ask("a:1", Standby(kBeta));
  EXPECT_EQ(Ask("b:1", Standby(kGamma)).refused, absl::OkStatus());
}

class HungCoreTest : public testing::Test {
 protected:
  // The core of a registered node makes no progress for that long.
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

TEST_F(HungCoreTest, ACoreIsHungAfterALease) {
  EXPECT_FALSE(HangsAfter(kLease - kMoment));
  EXPECT_TRUE(HangsAfter(kLease + kMoment));
}

// Also while it does not wait at the moment: a step may have many short syncs.
TEST_F(HungCoreTest, TimeSpentWaitingForTheMediumDoesNotCount) {
  waits_ = kLease / 2;
  EXPECT_FALSE(HangsAfter(kLease * 1.5 - kMoment));
  EXPECT_TRUE(HangsAfter(kLease * 1.5 + kMoment));
}

TEST_F(HungCoreTest, ACoreThatWaitsForItsMediumIsHungAfterTwoLeases) {
  waits_ = 10 * kLease;
  EXPECT_FALSE(HangsAfter(kLease + kMoment));
  EXPECT_FALSE(HangsAfter(2 * kLease - kMoment));
  EXPECT_TRUE(HangsAfter(2 * kLease + kMoment));
}

TEST_F(HungCoreTest, OldMistakesAreDetected) {
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
