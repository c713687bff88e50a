// Managers without threads on one etcd: the test chooses when each call is
// carried out and each answer is delivered.
#ifndef KAMINO_TESTS_MEMBERSHIP_LEADERSHIP_FIXTURE_H_
#define KAMINO_TESTS_MEMBERSHIP_LEADERSHIP_FIXTURE_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "kamino/internal/v1/membership.pb.h"
#include "membership/manager/manager_loop.h"
#include "membership/records.h"
#include "rpc/redirect.h"
#include "tests/faults/fault.h"
#include "tests/membership/fake_etcd.h"

namespace kamino::membership {

using Fault = FakeEtcdServer::Fault;
using Kind = EtcdCall::Kind;
using kamino::internal::v1::RenewalRecord;

inline constexpr char kLeaderKey[] = "/kamino/c/leader";
inline constexpr char kRenewalKey[] = "/kamino/c/renewal";
inline constexpr char kViewKey[] = "/kamino/c/chains/1/view";
inline constexpr absl::Duration kMs = absl::Milliseconds(1);
inline constexpr absl::Duration kTtl = absl::Seconds(3);
inline constexpr absl::Duration kLeadership = absl::Milliseconds(2700);

class LeadershipTest : public testing::Test {
 protected:
  static ManagerLoop::Options OptionsOf(const std::string& name) {
    ManagerLoop::Options options;
    options.core.cluster_id = "c";
    options.core.chain_length = 2;
    options.name = name;
    return options;
  }

  // Carries out its next call; the answer is in flight.
  std::optional<EtcdAnswer> Ask(ManagerLoop* loop) {
    ManagerLoop::Step step = loop->Next(now_);
    // The rest between rounds passes in no time.
    if (!step.call.has_value()) step = loop->Next(now_);
    if (!step.call.has_value()) return std::nullopt;
    asked_ = step.call->kind;
    return CarryOut(*step.call, &connection_);
  }
  void Round(ManagerLoop* loop) {
    if (const auto answer = Ask(loop)) loop->OnAnswer(*answer, now_);
  }
  void Rounds(ManagerLoop* loop, int count = 4) {
    for (int i = 0; i < count; ++i) Round(loop);
  }
  // The leader that the manager names to a node; "": none.
  std::string NamedBy(ManagerLoop* loop) const {
    kamino::internal::v1::RegisterResponse response;
    const absl::Status status =
        loop->Register({}, &response, now_, /*caller=*/"");
    EXPECT_FALSE(status.ok());
    return rpc::LeaderIn(status).value_or("none");
  }
  bool Leads(const ManagerLoop& loop) const {
    return loop.core().IsLeader(now_);
  }
  RenewalRecord Renewal() {
    RenewalRecord renewal;
    EXPECT_TRUE(renewal.ParseFromString(etcd_.Get(kRenewalKey).value));
    return renewal;
  }

  // How long it leads after it sent a renewal whose answer is slow.
  absl::Duration LeadsAfterRenewal() {
    Rounds(&a_);
    now_ += 1000 * kMs;
    const absl::Time sent = now_;
    const auto answer = Ask(&a_);
    EXPECT_TRUE(answer.has_value() && asked_ == Kind::kRenew);
    now_ += 800 * kMs;
    if (answer.has_value()) a_.OnAnswer(*answer, now_);
    while (Leads(a_)) now_ += kMs;
    return now_ - sent;
  }
  // How long a standby waits, from now on.
  absl::Duration AwaitLeader(ManagerLoop* loop) {
    const absl::Time begin = now_;
    while (!Leads(*loop) && now_ < begin + 10 * kTtl) {
      now_ += 100 * kMs;
      Rounds(loop);
    }
    return now_ - begin;
  }
  void PutView(const std::string& cluster_uuid = "") {
    View view{"c", 1, {}};
    for (const char* id : {"n1", "n2"}) {
      view.members.push_back(
          Member{id, 1, "x:1", {{"tcp", "x:2"}}, 64, std::string(16, 'h')});
    }
    view.cluster_uuid = cluster_uuid;
    etcd_.Put(kViewKey, ToProto(view).SerializeAsString());
  }
  absl::Status Beat(ManagerLoop* loop, const std::string& id,
                    uint64_t applied = 0) {
    kamino::internal::v1::HeartbeatRequest beat;
    kamino::internal::v1::HeartbeatResponse response;
    beat.set_cluster_id("c");
    beat.set_node_id(id);
    beat.set_incarnation(1);
    beat.mutable_report()->set_view_id(1);
    beat.mutable_report()->set_condition(kamino::v1::CONDITION_SOUND);
    beat.mutable_report()->mutable_cursors()->set_received(applied);
    beat.mutable_report()->mutable_cursors()->set_applied(applied);
    return loop->Heartbeat(beat, &response, now_);
  }
  // To a leader since `since`, which first waits for the silent n2.
  void BeatOfN1(ManagerLoop* loop, absl::Time since) {
    const bool leased = now_ - since >= loop->core().options().failure_timeout;
    EXPECT_EQ(Beat(loop, "n1").ok(), leased);
  }
  // How long a new leader, given the renewal it finds, keeps a silent member.
  absl::Duration KeepsMembersFor(const std::string& renewal) {
    PutView();
    etcd_.Delete(kLeaderKey);
    etcd_.Delete(kRenewalKey);
    if (!renewal.empty()) etcd_.Put(kRenewalKey, renewal);
    ManagerLoop loop(OptionsOf("c:1"));
    Rounds(&loop);
    EXPECT_TRUE(Leads(loop));
    const absl::Time begin = now_;
    while (loop.core().view().id == 1 && now_ < begin + 100 * kTtl) {
      now_ += 50 * kMs;
      BeatOfN1(&loop, begin);
      Rounds(&loop, 2);
    }
    return now_ - begin;
  }
  void TearDown() override { faults::PlantFault(""); }

  absl::Time now_ = absl::FromUnixSeconds(1000);
  FakeEtcdServer etcd_;
  FakeEtcd connection_{&etcd_};
  Kind asked_ = Kind::kLook;
  ManagerLoop a_{OptionsOf("a:1")};
  ManagerLoop b_{OptionsOf("b:1")};
};

}  // namespace kamino::membership

#endif  // KAMINO_TESTS_MEMBERSHIP_LEADERSHIP_FIXTURE_H_
