#include "membership/manager/manager.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "membership/manager/manager_settings.h"
#include "membership/records.h"
#include "membership/view_history.h"
#include "rpc/redirect.h"
#include "tests/membership/fake_etcd.h"

namespace kamino::membership {
namespace {

using Fault = FakeEtcdServer::Fault;
using kamino::internal::v1::HeartbeatRequest;
using kamino::internal::v1::HeartbeatResponse;
using kamino::internal::v1::RegisterRequest;
using kamino::internal::v1::RegisterResponse;

const std::string kHeap(16, 'h');
constexpr char kLeaderKey[] = "/kamino/c/leader";
constexpr char kViewKey[] = "/kamino/c/chains/1/view";

class ManagerTest : public testing::Test {
 protected:
  std::unique_ptr<Manager> Start(const std::string& name) {
    Manager::Options options;
    options.core.cluster_id = "c";
    options.core.chain_length = 2;
    options.name = name;
    options.poll_interval = absl::Milliseconds(1);
    return std::make_unique<Manager>(
        options, std::make_unique<FakeEtcd>(&etcd_), clock_.AsFunction());
  }

  // Nullopt: the manager does not lead.
  static std::optional<View> ViewOf(Manager* manager) {
    std::optional<View> view;
    manager
        ->Administer([&view](ManagerCore* core, absl::Time) {
          view = core->view();
          return absl::OkStatus();
        })
        .IgnoreError();
    return view;
  }
  bool Leads(Manager* manager) {
    return clock_.Eventually([&] { return ViewOf(manager).has_value(); });
  }
  bool ReachesView(Manager* manager, uint64_t id) {
    return clock_.Eventually([&] {
      const auto view = ViewOf(manager);
      return view.has_value() && view->id == id;
    });
  }

  static RegisterRequest Registration(const std::string& id) {
    RegisterRequest request;
    request.set_cluster_id("c");
    *request.mutable_member() =
        ToProto(Member{id, 1, id + ":1", {{"tcp", id + ":2"}}, 64, kHeap});
    request.mutable_report()->set_condition(kamino::v1::CONDITION_FRESH);
    return request;
  }
  absl::Status Register(Manager* manager, const std::string& id) {
    RegisterResponse response;
    const absl::Status status = manager->Register(Registration(id), &response);
    if (status.ok()) lease_term_ = response.lease_term();
    return status;
  }
  absl::Status Beat(Manager* manager, const std::string& id) {
    HeartbeatRequest request;
    HeartbeatResponse response;
    request.set_cluster_id("c");
    request.set_node_id(id);
    request.set_incarnation(1);
    request.set_lease_term(lease_term_);
    request.mutable_report()->set_condition(kamino::v1::CONDITION_SOUND);
    return manager->Heartbeat(request, &response);
  }
  void FormChain(Manager* manager) {
    ASSERT_TRUE(Leads(manager));
    ASSERT_EQ(Register(manager, "n1"), absl::OkStatus());
    ASSERT_EQ(Register(manager, "n2"), absl::OkStatus());
    ASSERT_TRUE(ReachesView(manager, 1));
    // From here on no lease of a former leader matters to either node.
    ASSERT_EQ(Beat(manager, "n1"), absl::OkStatus());
    ASSERT_EQ(Beat(manager, "n2"), absl::OkStatus());
  }
  // Lets n2 count as dead, while n1 keeps sending heartbeats.
  void LoseN2(Manager* manager) {
    for (int i = 0; i < 10; ++i) {
      clock_.Advance(absl::Milliseconds(101));
      ASSERT_EQ(Beat(manager, "n1"), absl::OkStatus());
    }
  }

  TestClock clock_;
  FakeEtcdServer etcd_;
  uint64_t lease_term_ = 0;  // of the lease that was granted last
};

TEST_F(ManagerTest, LeadsFormsAndStoresTheChain) {
  auto manager = Start("a:1");
  FormChain(manager.get());
  EXPECT_EQ(ViewOf(manager.get())->members.size(), 2u);
  kamino::internal::v1::ViewRecord stored;
  ASSERT_TRUE(stored.ParseFromString(etcd_.Get(kViewKey).value));
  EXPECT_EQ(stored.view_id(), 1u);
  EXPECT_EQ(stored.cluster_id(), "c");
  EXPECT_EQ(stored.chain_id(), kOnlyChain);
  EXPECT_EQ(stored.members(0).node_id(), "n1");
}

TEST_F(ManagerTest, AnswersCarryTheLeaseAndOnlyNewerViews) {
  auto manager = Start("a:1");
  FormChain(manager.get());
  RegisterResponse registered;
  ASSERT_EQ(manager->Register(Registration("n3"), &registered),
            absl::OkStatus());
  EXPECT_EQ(registered.chain_id(), kOnlyChain);
  EXPECT_EQ(registered.lease_ms(), 700u);
  EXPECT_EQ(registered.heartbeat_interval_ms(), 100u);
  EXPECT_EQ(registered.view().view_id(), 1u);
  EXPECT_EQ(registered.lease_view_id(), 1u);
  HeartbeatRequest request;
  request.set_cluster_id("c");
  request.set_node_id("n3");
  request.set_incarnation(1);
  for (const uint64_t own : {0, 1}) {
    HeartbeatResponse response;
    request.mutable_report()->set_view_id(own);
    ASSERT_EQ(manager->Heartbeat(request, &response), absl::OkStatus());
    EXPECT_EQ(response.chain_id(), kOnlyChain);
    EXPECT_EQ(response.lease_ms(), 700u);
    EXPECT_EQ(response.lease_view_id(), 1u);
    EXPECT_EQ(response.has_view(), own == 0);
  }
}

TEST_F(ManagerTest, AStandbyNamesTheLeader) {
  auto first = Start("a:1");
  ASSERT_TRUE(Leads(first.get()));
  auto second = Start("b:1");
  EXPECT_TRUE(clock_.Eventually([&] {
    const auto leader = rpc::LeaderIn(Register(second.get(), "n1"));
    EXPECT_TRUE(leader.has_value());
    return leader == "a:1";
  }));
  EXPECT_EQ(rpc::LeaderIn(Beat(second.get(), "n1")), "a:1");
  const absl::Status asked = second->Administer(
      [](ManagerCore*, absl::Time) { return absl::OkStatus(); });
  EXPECT_EQ(rpc::LeaderIn(asked), "a:1");
}

TEST_F(ManagerTest, AStandbyTakesOverAtOnceFromAStoppingLeader) {
  auto first = Start("a:1");
  FormChain(first.get());
  auto second = Start("b:1");
  first.reset();
  // No time has passed: the former leader gave the key up.
  ASSERT_TRUE(Leads(second.get()));
  EXPECT_EQ(ViewOf(second.get())->id, 1u);
  // The view names the nodes, which get leases once all were heard.
  EXPECT_TRUE(absl::IsUnavailable(Beat(second.get(), "n1")));
  EXPECT_EQ(Beat(second.get(), "n2"), absl::OkStatus());
  EXPECT_EQ(Beat(second.get(), "n1"), absl::OkStatus());
}

TEST_F(ManagerTest, AnUnreachableEtcdIsRetried) {
  etcd_.SetFault(Fault::kUnreachable);
  auto manager = Start("a:1");
  EXPECT_EQ(rpc::LeaderIn(Register(manager.get(), "n1")), "");
  etcd_.SetFault(Fault::kNone);
  EXPECT_TRUE(Leads(manager.get()));
}

TEST_F(ManagerTest, LeasesEndWithTheLeadershipWhenEtcdIsLost) {
  auto manager = Start("a:1");
  FormChain(manager.get());
  etcd_.SetFault(Fault::kUnreachable);
  // Renewals fail, but the time that etcd granted is not over.
  clock_.Advance(absl::Milliseconds(900));
  EXPECT_EQ(Beat(manager.get(), "n1"), absl::OkStatus());
  EXPECT_EQ(Beat(manager.get(), "n2"), absl::OkStatus());
  clock_.Advance(absl::Milliseconds(900));
  EXPECT_EQ(Beat(manager.get(), "n1"), absl::OkStatus());
  clock_.Advance(absl::Milliseconds(900));
  // 2.7 s of the 3 s: before another one takes over.
  EXPECT_EQ(rpc::LeaderIn(Beat(manager.get(), "n1")), "");
  etcd_.SetFault(Fault::kNone);
  // At once: it was its own leadership.
  ASSERT_TRUE(Leads(manager.get()));
  EXPECT_EQ(ViewOf(manager.get())->id, 1u);
  EXPECT_EQ(ViewOf(manager.get())->members.size(), 2u);
}

TEST_F(ManagerTest, AnElectionWithALostAnswerIsNotWon) {
  etcd_.SetFault(Fault::kAnswerLost, "Campaign");
  auto manager = Start("a:1");
  ASSERT_TRUE(clock_.Eventually([&] { return etcd_.calls("Look") > 2; }));
  EXPECT_EQ(etcd_.Get(kLeaderKey).value, "a:1");
  EXPECT_EQ(ViewOf(manager.get()), std::nullopt);
  etcd_.SetFault(Fault::kNone);
  // It does not know its own keys, and waits until nothing has changed for
  // long.
  const int before = etcd_.calls("Look");
  ASSERT_TRUE(
      clock_.Eventually([&] { return etcd_.calls("Look") > before + 1; }));
  EXPECT_EQ(ViewOf(manager.get()), std::nullopt);
  clock_.Advance(absl::Seconds(3));
  EXPECT_TRUE(Leads(manager.get()));
}

TEST_F(ManagerTest, AViewWriteWithALostAnswerHappensOnce) {
  auto manager = Start("a:1");
  FormChain(manager.get());
  etcd_.SetFault(Fault::kAnswerLost, "Replace");
  LoseN2(manager.get());
  const int before = etcd_.calls("Replace");
  ASSERT_TRUE(
      clock_.Eventually([&] { return etcd_.calls("Replace") > before + 2; }));
  // Not known to be stored, so not told.
  EXPECT_EQ(ViewOf(manager.get())->id, 1u);
  EXPECT_TRUE(absl::IsUnavailable(Register(manager.get(), "n2")));
  etcd_.SetFault(Fault::kNone);
  ASSERT_TRUE(ReachesView(manager.get(), 2));
  kamino::internal::v1::ViewRecord stored;
  ASSERT_TRUE(stored.ParseFromString(etcd_.Get(kViewKey).value));
  EXPECT_EQ(stored.view_id(), 2u);
  EXPECT_EQ(stored.members_size(), 1);
}

TEST_F(ManagerTest, AnUnknownStoredViewIsNotOverwritten) {
  auto manager = Start("a:1");
  FormChain(manager.get());
  View other{"c", 9, {Member{"n2", 1, "x:1", {{"tcp", "x:2"}}, 64, kHeap}}};
  etcd_.Put(kViewKey, ToProto(other).SerializeAsString());
  LoseN2(manager.get());
  // Its write is refused, and it continues from the stored view.
  ASSERT_TRUE(ReachesView(manager.get(), 9));
  EXPECT_EQ(ViewOf(manager.get())->members[0].node_id, "n2");
}

TEST_F(ManagerTest, AFormerLeaderCannotWrite) {
  auto manager = Start("a:1");
  FormChain(manager.get());
  // Another manager was elected meanwhile.
  etcd_.Delete(kLeaderKey);
  etcd_.Put(kLeaderKey, "b:1");
  const std::string stored = etcd_.Get(kViewKey).value;
  LoseN2(manager.get());
  EXPECT_TRUE(clock_.Eventually(
      [&] { return rpc::LeaderIn(Beat(manager.get(), "n1")) == "b:1"; }));
  EXPECT_EQ(etcd_.Get(kViewKey).value, stored);
}

TEST_F(ManagerTest, RequestsForAnotherChainAreRefused) {
  auto manager = Start("a:1");
  FormChain(manager.get());
  RegisterRequest registration = Registration("n3");
  registration.set_chain_id(7);
  RegisterResponse registered;
  const absl::Status refused = manager->Register(registration, &registered);
  EXPECT_EQ(refused, absl::InvalidArgumentError(
                         "chain 7 was asked for; here is chain 1"));
  registration.set_chain_id(kOnlyChain);
  EXPECT_EQ(manager->Register(registration, &registered), absl::OkStatus());
  HeartbeatRequest beat;
  beat.set_cluster_id("c");
  beat.set_node_id("n3");
  beat.set_incarnation(1);
  HeartbeatResponse response;
  EXPECT_EQ(manager->Heartbeat(beat, &response), absl::OkStatus());
  beat.set_chain_id(7);  // is told when it registers
  EXPECT_TRUE(absl::IsInvalidArgument(manager->Heartbeat(beat, &response)));
}

TEST_F(ManagerTest, ARefusalNamesAnUnreachableEtcd) {
  const auto refusal = [](Manager* manager) {
    return manager->Administer(
        [](ManagerCore*, absl::Time) { return absl::OkStatus(); });
  };
  etcd_.SetFault(FakeEtcdServer::Fault::kUnreachable);
  auto manager = Start("a:1");
  ASSERT_TRUE(clock_.Eventually([&] {
    return absl::StrContains(refusal(manager.get()).message(),
                             "; etcd: unreachable");
  })) << refusal(manager.get());
  EXPECT_EQ(rpc::LeaderIn(refusal(manager.get())), "");
  etcd_.SetFault(FakeEtcdServer::Fault::kNone);
  EXPECT_TRUE(Leads(manager.get()));
  // A standby knows nothing about etcd's state.
  auto other = Start("b:1");
  ASSERT_TRUE(clock_.Eventually(
      [&] { return rpc::LeaderIn(refusal(other.get())) == "a:1"; }));
  EXPECT_FALSE(absl::StrContains(refusal(other.get()).message(), "etcd"));
}

TEST(SettingsDifferTest, NamesTheFlagsThatDifferFromTheLeaders) {
  kamino::internal::v1::RenewalRecord own;
  own.set_leader("a:1");
  own.set_ttl_ms(3000);
  own.mutable_settings()->set_chain_length(4);
  own.mutable_settings()->set_failure_timeout_ms(1000);
  auto theirs = own;
  theirs.set_leader("b:1");
  // The rest of former leases is no flag.
  theirs.set_node_lease_ms(1400);
  EXPECT_EQ(SettingsDiffer(own, theirs), "");
  theirs.mutable_settings()->set_failure_timeout_ms(2000);
  EXPECT_EQ(SettingsDiffer(own, theirs),
            "the manager at a:1 was started with another --failure_timeout_ms "
            "(1000 here, 2000 there) than the one at b:1, which leads: the "
            "leader uses its own flags; start all managers with the same "
            "flags");
  theirs.set_ttl_ms(1000);
  EXPECT_TRUE(absl::StrContains(SettingsDiffer(own, theirs),
                                " and --leader_ttl_s (3 here, 1 there) "));
  theirs.set_resigned(true);
  EXPECT_TRUE(absl::StrContains(SettingsDiffer(own, theirs), "which led last"));
  theirs.set_leader("a:1");  // its own, of an earlier start
  EXPECT_EQ(SettingsDiffer(own, theirs), "");
  theirs.set_leader("");  // no leader has renewed yet
  EXPECT_EQ(SettingsDiffer(own, theirs), "");
  // An older program does not tell its settings.
  theirs = own;
  theirs.set_leader("b:1");
  theirs.clear_settings();
  EXPECT_EQ(SettingsDiffer(own, theirs), "");
}

TEST_F(ManagerTest, EachManagerDescribesItself) {
  auto first = Start("a:1");
  FormChain(first.get());
  auto second = Start("b:1");
  const auto is = [](Manager* manager) {
    kamino::v1::GetManagerResponse response;
    manager->Describe(&response);
    return response;
  };
  EXPECT_EQ(is(first.get()).cluster_id(), "c");
  EXPECT_EQ(is(first.get()).manager(), "a:1");
  EXPECT_TRUE(is(first.get()).leads());
  EXPECT_EQ(is(first.get()).settings().chain_length(), 2u);
  EXPECT_EQ(is(second.get()).manager(), "b:1");
  EXPECT_FALSE(is(second.get()).leads());
}

TEST_F(ManagerTest, ARecoveryIsAnsweredOnceItIsStored) {
  auto manager = Start("a:1");
  FormChain(manager.get());
  View known = *ViewOf(manager.get());
  const View stored = known;
  known.id = 2;
  Succeed(stored, &known);
  const auto tell = [&](const std::string& id) {
    RegisterRequest request = Registration(id);
    *request.mutable_newest_view() = ToProto(known);
    kamino::v1::NodeReport& report = *request.mutable_report();
    report.set_view_id(known.id);
    report.set_view_digest(known.digest);
    report.set_condition(kamino::v1::CONDITION_SOUND);
    RegisterResponse response;
    EXPECT_TRUE(absl::IsUnavailable(manager->Register(request, &response)));
  };
  // Earlier leases expire meanwhile, and it keeps the leadership.
  for (int i = 0; i < 10; ++i) {
    const int renewals = etcd_.calls("Renew");
    clock_.Advance(absl::Milliseconds(950));
    ASSERT_TRUE(
        clock_.Eventually([&] { return etcd_.calls("Renew") > renewals; }));
    tell("n1");
    tell("n2");
  }
  absl::Mutex mutex;
  std::optional<absl::Status> answer;
  const auto answered = [&] {
    absl::MutexLock lock(&mutex);
    return answer;
  };
  const auto done = [&](const absl::StatusOr<RecoveryPlan>& recovered) {
    absl::MutexLock lock(&mutex);
    answer = recovered.status();
  };
  etcd_.SetFault(Fault::kUnreachable, "Replace");
  manager->Recover(/*force=*/false, done);
  const int before = etcd_.calls("Replace");
  ASSERT_TRUE(
      clock_.Eventually([&] { return etcd_.calls("Replace") > before + 2; }));
  EXPECT_EQ(answered(), std::nullopt);
  // Nor does it begin another one meanwhile.
  std::optional<absl::Status> second;
  manager->Recover(/*force=*/false,
                   [&](const auto& refused) { second = refused.status(); });
  EXPECT_TRUE(second.has_value() && absl::IsUnavailable(*second));
  etcd_.SetFault(Fault::kNone);
  ASSERT_TRUE(clock_.Eventually([&] { return answered().has_value(); }));
  EXPECT_EQ(*answered(), absl::OkStatus());
  kamino::internal::v1::ViewRecord record;
  ASSERT_TRUE(record.ParseFromString(etcd_.Get(kViewKey).value));
  EXPECT_EQ(record.view_id(), 3u);
}

TEST_F(ManagerTest, AnUnreadableViewIsNotOverwritten) {
  View foreign{"d", 3, {Member{"n2", 1, "x:1", {{"tcp", "x:2"}}, 64, kHeap}}};
  View other{"c", 3, foreign.members};
  other.chain_id = 2;
  for (const std::string& bad :
       {std::string("\xff\xff"), ToProto(foreign).SerializeAsString(),
        ToProto(other).SerializeAsString()}) {
    etcd_.Put(kViewKey, bad);
    auto manager = Start("a:1");
    EXPECT_TRUE(rpc::LeaderIn(Register(manager.get(), "n1")).has_value());
    manager.reset();
    EXPECT_EQ(etcd_.Get(kViewKey).value, bad);
    // Nor does it keep the leadership from others.
    EXPECT_EQ(etcd_.Get(kLeaderKey).value, "");
  }
}

TEST_F(ManagerTest, TheViewStoresTheIdentitiesOfItsMembers) {
  auto manager = Start("a:1");
  ASSERT_TRUE(Leads(manager.get()));
  for (const char* id : {"n1", "n2"}) {
    RegisterRequest request = Registration(id);
    // Its claim about itself does not count.
    request.mutable_member()->mutable_instance()->set_identity("anybody");
    RegisterResponse response;
    ASSERT_EQ(manager->Register(request, &response,
                                absl::StrCat("kamino://c/node/", id)),
              absl::OkStatus());
  }
  ASSERT_TRUE(ReachesView(manager.get(), 1));
  kamino::internal::v1::ViewRecord stored;
  ASSERT_TRUE(stored.ParseFromString(etcd_.Get(kViewKey).value));
  EXPECT_EQ(stored.members(0).instance().identity(), "kamino://c/node/n1");
  EXPECT_EQ(stored.members(1).instance().identity(), "kamino://c/node/n2");
}

TEST_F(ManagerTest, MembersHaveNoIdentityWithoutTls) {
  auto manager = Start("a:1");
  ASSERT_TRUE(Leads(manager.get()));
  RegisterRequest request = Registration("n1");
  request.mutable_member()->mutable_instance()->set_identity("anybody");
  RegisterResponse response;
  ASSERT_EQ(manager->Register(request, &response), absl::OkStatus());
  ASSERT_EQ(Register(manager.get(), "n2"), absl::OkStatus());
  ASSERT_TRUE(ReachesView(manager.get(), 1));
  EXPECT_EQ(ViewOf(manager.get())->members[0].identity, "");
}

TEST_F(ManagerTest, ANodeCannotCallAsAnotherNode) {
  auto manager = Start("a:1");
  FormChain(manager.get());
  RegisterResponse response;
  for (const char* caller :
       {"kamino://c/node/n2", "kamino://c/operator/n3", "kamino://d/node/n3"}) {
    const absl::Status refused =
        manager->Register(Registration("n3"), &response, caller);
    EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
    EXPECT_TRUE(
        absl::StrContains(refused.message(),
                          "calls as node n3, which needs the certificate "
                          "of kamino://c/node/n3"))
        << refused;
  }
  HeartbeatRequest beat;
  HeartbeatResponse answer;
  beat.set_cluster_id("c");
  beat.set_node_id("n1");
  beat.set_incarnation(1);
  EXPECT_TRUE(absl::IsPermissionDenied(
      manager->Heartbeat(beat, &answer, "kamino://c/node/n2")));
  EXPECT_EQ(manager->Heartbeat(beat, &answer, "kamino://c/node/n1"),
            absl::OkStatus());
}

}  // namespace
}  // namespace kamino::membership
