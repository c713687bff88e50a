// The failure timeout is lowered: a manager that grants short leases takes over
// from one that granted long ones. How soon does it drop a member that dies,
// and has that member stopped serving by then? Managers and nodes without
// threads, on one etcd and one clock.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "membership/agent/agent_core.h"
#include "membership/manager/manager_loop.h"
#include "membership/records.h"
#include "tests/faults/planted.h"
#include "tests/membership/fake_etcd.h"

namespace kamino::membership {
namespace {

constexpr absl::Duration kStep = absl::Milliseconds(20);
constexpr absl::Duration kLong = absl::Seconds(240);
constexpr absl::Duration kShort = absl::Seconds(5);
const absl::Duration kLongLease = kLong * 0.7;

class FormerLeasesTest : public testing::Test {
 protected:
  struct Exchange {
    AgentCore::Call call;
    AgentCore::Answer answer;
  };
  struct Node {
    std::unique_ptr<AgentCore> agent;
    Member self;
    View view;
    bool up = true;
    bool hears = true;    // answers reach it
    bool says_so = true;  // of which leadership its lease is
    bool late = false;    // the next answer waits in `on_its_way`
    std::optional<Exchange> on_its_way;
    absl::Time next = absl::InfinitePast();
    // It serves under a lease, as head or as tail.
    bool MayServe(absl::Time now) const {
      return view.IndexOf(self.node_id, self.incarnation) >= 0 &&
             agent->lease().Valid(view.id, now);
    }
  };

  static ManagerLoop::Options OptionsOf(const std::string& name,
                                        absl::Duration failure_timeout) {
    ManagerLoop::Options options;
    options.core.cluster_id = "c";
    options.core.chain_length = 3;
    options.core.failure_timeout = failure_timeout;
    options.name = name;
    options.process = static_cast<uint64_t>(name[0]) << 32;
    return options;
  }

  FormerLeasesTest() {
    managers_["a:1"] = std::make_unique<ManagerLoop>(OptionsOf("a:1", kLong));
    for (const char* id : {"n1", "n2", "n3"}) Add(id);
    EXPECT_TRUE(PassUntil([&] {
      for (auto& [id, node] : nodes_) {
        if (!node.MayServe(now_)) return false;
      }
      return true;
    }));
  }

  void Add(const std::string& id) {
    Node& node = nodes_[id];
    node.self =
        Member{id,        7,
               id + ":1", {{"tcp", id + ":2"}},
               64 << 20,  std::string(Registrations::kHeapIdBytes, id.back())};
    AgentCore::Options options;
    options.cluster_id = "c";
    options.managers = {"a:1", "b:1"};
    options.process = static_cast<uint64_t>(id.back());
    node.agent = std::make_unique<AgentCore>(options);
    NodeReport report;
    report.condition = Condition::kFresh;
    report.heap_id = node.self.heap_id;
    node.agent->SetReport(report);
    node.agent->Begin(node.self, now_);
  }

  // The first manager ends, and one with a short failure timeout leads.
  void LowerTheTimeout() {
    CarryOut(*managers_["a:1"]->Resign(now_), &connection_);
    managers_.erase("a:1");
    managers_["b:1"] = std::make_unique<ManagerLoop>(OptionsOf("b:1", kShort));
    ASSERT_TRUE(
        PassUntil([&] { return managers_["b:1"]->core().IsLeader(now_); }));
  }
  const View& view() { return managers_.begin()->second->core().view(); }

  void Pass(absl::Duration time) {
    for (const absl::Time end = now_ + time; now_ < end;) Step();
  }
  template <typename Condition>
  bool PassUntil(Condition condition, absl::Duration most = kLong) {
    for (const absl::Time end = now_ + most; !condition();) {
      if (now_ >= end) return false;
      Step();
    }
    return true;
  }
  // Until a view lacks that node, which must not serve any more by then.
  absl::Duration UntilDropped(const std::string& id) {
    const absl::Time begin = now_;
    const Node& node = nodes_[id];
    EXPECT_TRUE(PassUntil(
        [&] { return view().IndexOf(id, node.self.incarnation) < 0; }));
    served_beyond_ = node.MayServe(now_);
    return now_ - begin;
  }

  void Step() {
    now_ += kStep;
    for (auto& [name, manager] : managers_) Turn(manager.get());
    for (auto& [id, node] : nodes_) {
      if (node.up && now_ >= node.next && !node.on_its_way.has_value()) {
        Call(&node);
      }
    }
  }
  void Turn(ManagerLoop* manager) {
    ManagerLoop::Step step = manager->Next(now_);
    if (!step.call.has_value()) step = manager->Next(now_);
    if (!step.call.has_value()) return;
    manager->OnAnswer(CarryOut(*step.call, &connection_), now_);
  }
  void Call(Node* node) {
    Exchange exchange = Ask(node);
    if (std::exchange(node->late, false)) {
      node->on_its_way = std::move(exchange);
    } else {
      Hear(exchange, node);
    }
  }
  // Delivers the answer in flight.
  void Arrive(Node* node) {
    Hear(*node->on_its_way, node);
    node->on_its_way.reset();
  }
  Exchange Ask(Node* node) {
    AgentCore::Call call = node->agent->Next(now_);
    if (!node->says_so) {
      call.registration.clear_lease_term();
      call.heartbeat.clear_lease_term();
    }
    AgentCore::Answer answer;
    const auto manager = managers_.find(call.manager);
    if (manager == managers_.end()) {
      answer.status = absl::UnavailableError("nothing listens there");
    } else {
      answer.status = call.registers
                          ? manager->second->Register(
                                call.registration, &answer.registration, now_)
                          : manager->second->Heartbeat(call.heartbeat,
                                                       &answer.heartbeat, now_);
    }
    if (!node->hears) {
      answer = AgentCore::Answer();
      answer.status = absl::DeadlineExceededError("the answer was lost");
    }
    return {std::move(call), std::move(answer)};
  }
  void Hear(const Exchange& exchange, Node* node) {
    const AgentCore::Effects effects =
        node->agent->OnAnswer(exchange.call, exchange.answer, now_);
    EXPECT_EQ(effects.refused, absl::OkStatus());
    node->next = now_ + std::max(effects.wait, kStep);
    if (effects.view.has_value()) Install(*effects.view, node);
  }
  // A node outside holds nothing until it has caught up.
  static void Install(const View& view, Node* node, bool caught_up = false) {
    node->view = view;
    NodeReport report;
    report.view_id = view.id;
    report.view_digest = view.digest;
    report.view_epoch = view.epoch;
    report.heap_id = node->self.heap_id;
    report.condition = Condition::kFresh;
    if (caught_up) {
      report.condition = Condition::kBehind;
      report.caught_up_view = view.id;
    }
    if (view.IndexOf(node->self.node_id, node->self.incarnation) >= 0) {
      report.condition = Condition::kSound;
      report.member_view = view.id;
      report.epoch = view.epoch;
      report.cluster_uuid = view.cluster_uuid;
    }
    node->agent->SetReport(report);
  }
  // A node of release 0.1.0 that was outside when the timeout was lowered
  // becomes a member, and dies.
  absl::Duration UntilANewMemberIsDropped() {
    Add("n4");
    nodes_["n4"].says_so = false;
    Pass(absl::Seconds(1));
    LowerTheTimeout();
    Pass(absl::Seconds(1));
    nodes_["n1"].up = false;
    UntilDropped("n1");
    Install(view(), &nodes_["n4"], /*caught_up=*/true);
    EXPECT_TRUE(PassUntil([&] { return view().IndexOf("n4", 7) >= 0; }));
    nodes_["n4"].up = false;
    return UntilDropped("n4");
  }

  // The first manager grants n1 a lease. The answer arrives once the second one
  // leads. Returns when n1 has sent the call.
  absl::Time TakeALateLease() {
    Node& node = nodes_["n1"];
    node.late = true;
    EXPECT_TRUE(PassUntil([&] { return node.on_its_way.has_value(); }));
    const absl::Time sent = node.on_its_way->call.sent;
    LowerTheTimeout();
    Pass(absl::Seconds(2));
    Arrive(&node);
    return sent;
  }
  // n1 tells the second manager which lease it has, hears no answer, and dies.
  absl::Duration UntilTheLateLeaseIsOver() {
    TakeALateLease();
    nodes_["n1"].hears = false;
    Pass(absl::Seconds(3));
    nodes_["n1"].up = false;
    return UntilDropped("n1");
  }

  absl::Time now_ = absl::FromUnixSeconds(1000);
  FakeEtcdServer etcd_;
  FakeEtcd connection_{&etcd_};
  std::map<std::string, std::unique_ptr<ManagerLoop>> managers_;
  std::map<std::string, Node> nodes_;
  bool served_beyond_ = false;  // the node that was dropped last
};

TEST_F(FormerLeasesTest, ALowerTimeoutAppliesFromTheNextRenewal) {
  LowerTheTimeout();
  Pass(absl::Seconds(3));
  nodes_["n1"].up = false;
  EXPECT_LT(UntilDropped("n1"), kShort + absl::Seconds(1));
  EXPECT_FALSE(served_beyond_);
}

TEST_F(FormerLeasesTest, AMemberIsDroppedOnceItsOwnLeaseIsOver) {
  LowerTheTimeout();
  nodes_["n2"].up = false;
  // No member gets a lease before all were heard, or before that time is over.
  Pass(kShort + absl::Seconds(1));
  nodes_["n1"].up = false;
  EXPECT_LT(UntilDropped("n1"), kShort + absl::Seconds(1));
  EXPECT_FALSE(served_beyond_);
  EXPECT_GT(UntilDropped("n2"), kLongLease - absl::Seconds(20));
  EXPECT_FALSE(served_beyond_);
}

TEST_F(FormerLeasesTest, ALostAnswerDoesNotShortenTheWait) {
  LowerTheTimeout();
  nodes_["n1"].hears = false;
  Pass(absl::Seconds(3));
  nodes_["n1"].up = false;
  EXPECT_GT(UntilDropped("n1"), kLongLease - kShort - absl::Seconds(9));
  EXPECT_FALSE(served_beyond_);
}

// A node makes one call after the other, so that the answer of a former leader
// can arrive late, but not after one of the present leader.
TEST_F(FormerLeasesTest, TheManagerWaitsForALateLease) {
  EXPECT_GT(UntilTheLateLeaseIsOver(), kLongLease - kShort - absl::Seconds(9));
  EXPECT_FALSE(served_beyond_);
}

TEST_F(FormerLeasesTest, ALateLeaseRunsFromItsCall) {
  const absl::Time sent = TakeALateLease();
  const Node& node = nodes_["n1"];
  EXPECT_TRUE(
      node.agent->lease().Valid(node.view.id, sent + kLongLease - kStep));
  EXPECT_FALSE(node.agent->lease().Valid(node.view.id, sent + kLongLease));
}

TEST_F(FormerLeasesTest, ALateLeaseEndsWithTheNextRenewal) {
  TakeALateLease();
  Pass(absl::Seconds(3));
  nodes_["n1"].up = false;
  EXPECT_LT(UntilDropped("n1"), kShort + absl::Seconds(1));
  EXPECT_FALSE(served_beyond_);
}

TEST_F(FormerLeasesTest, AManagerThatTakesALateLeaseForItsOwnIsDetected) {
  faults::Planted fault("membership-believes-any-renewal");
  EXPECT_LT(UntilTheLateLeaseIsOver(), kShort + absl::Seconds(1));
  EXPECT_TRUE(served_beyond_);
}

// Nodes of release 0.1.0 keep the longest lease, and do not report it.
TEST_F(FormerLeasesTest, TheManagerWaitsForAMemberThatReportsNoLease) {
  LowerTheTimeout();
  nodes_["n1"].says_so = false;
  Pass(absl::Seconds(3));
  nodes_["n1"].up = false;
  EXPECT_GT(UntilDropped("n1"), kLongLease - kShort - absl::Seconds(9));
}

TEST_F(FormerLeasesTest, TheManagerWaitsForANewMemberThatReportsNoLease) {
  EXPECT_GT(UntilANewMemberIsDropped(), kLongLease - absl::Seconds(20));
}

TEST_F(FormerLeasesTest, AManagerThatForgetsTheLeasesOfNewMembersIsDetected) {
  faults::Planted fault("membership-new-members-had-no-lease");
  EXPECT_LT(UntilANewMemberIsDropped(), kShort + absl::Seconds(1));
}

// The name of a leadership does not recur when etcd's data is put back.
TEST_F(FormerLeasesTest, EachLeadershipHasItsOwnTerm) {
  const uint64_t first = managers_["a:1"]->core().lease_term();
  EXPECT_NE(first, 0u);
  LowerTheTimeout();
  const uint64_t second = managers_["b:1"]->core().lease_term();
  EXPECT_NE(second, first);
  etcd_.Put("/kamino/c/leader", "z:1");
  ASSERT_TRUE(
      PassUntil([&] { return !managers_["b:1"]->core().IsLeader(now_); }));
  etcd_.Delete("/kamino/c/leader");
  etcd_.Delete("/kamino/c/renewal");
  ASSERT_TRUE(
      PassUntil([&] { return managers_["b:1"]->core().IsLeader(now_); }));
  EXPECT_NE(managers_["b:1"]->core().lease_term(), second);
}

TEST_F(FormerLeasesTest, OperatorsSeeHowLongFormerLeasesRun) {
  const auto former = [this](const std::string& id) {
    for (const auto& known : managers_["b:1"]->core().nodes(now_)) {
      if (known.state.member.node_id == id) return known.former_lease;
    }
    return absl::InfiniteDuration();
  };
  LowerTheTimeout();
  nodes_["n2"].up = false;
  EXPECT_GT(former("n1"), kLongLease - absl::Seconds(9));
  Pass(kShort + absl::Seconds(1));
  EXPECT_EQ(former("n1"), absl::ZeroDuration());
  EXPECT_GT(former("n2"), kLongLease - absl::Seconds(20));
}

TEST_F(FormerLeasesTest, ANodeThatKeepsItsLongerLeaseIsDetected) {
  faults::Planted fault("membership-keeps-the-longer-lease");
  LowerTheTimeout();
  Pass(absl::Seconds(3));
  nodes_["n1"].up = false;
  EXPECT_LT(UntilDropped("n1"), kShort + absl::Seconds(1));
  EXPECT_TRUE(served_beyond_);
}

TEST_F(FormerLeasesTest, AManagerThatWaitsForExpiredLeasesIsDetected) {
  faults::Planted fault("membership-believes-no-renewal");
  LowerTheTimeout();
  Pass(absl::Seconds(3));
  nodes_["n1"].up = false;
  EXPECT_GT(UntilDropped("n1"), kLongLease - kShort - absl::Seconds(9));
}

}  // namespace
}  // namespace kamino::membership
