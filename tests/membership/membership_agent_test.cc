#include "membership/agent/membership_agent.h"

#include <atomic>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/chain_id.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "membership/records.h"
#include "rpc/cluster_identity.h"
#include "rpc/credentials.h"
#include "rpc/redirect.h"
#include "rpc/status.h"
#include "tests/membership/fake_etcd.h"
#include "tests/membership/scripted_manager.h"
#include "tests/patience.h"

namespace kamino::membership {
namespace {

using kamino::internal::v1::HeartbeatRequest;
using kamino::internal::v1::HeartbeatResponse;
using kamino::internal::v1::RegisterRequest;
using kamino::internal::v1::RegisterResponse;
using kamino::internal::v1::ViewRecord;

grpc::Status NotLeader(const std::string& leader) {
  return rpc::ToGrpc(rpc::NotLeader(leader));
}

View ChainOf(uint64_t id) {
  return View{"c", id, {Member{"n1", 7, "n1:1", {{"tcp", "n1:2"}}, 64, "h"}}};
}

class MembershipAgentTest : public testing::Test {
 protected:
  void Start(const std::vector<std::string>& managers,
             absl::Duration deadline = Patience(absl::Seconds(5))) {
    AgentOptions options;
    options.cluster_id = "c";
    options.managers = managers;
    options.clock = clock_.AsFunction();
    options.deadline = deadline;
    options.retry = absl::Milliseconds(1);
    options.on_registered = [this](const std::string& manager) {
      absl::MutexLock lock(&mutex_);
      taken_in_by_.push_back(manager);
    };
    options.takes_lease = takes_lease_;
    options.cluster = cluster_;
    agent_ = std::make_unique<MembershipAgent>(options);
    ViewSourceCallbacks callbacks;
    callbacks.on_view = [this](const View& view) {
      absl::MutexLock lock(&mutex_);
      views_.push_back(view);
    };
    callbacks.on_refused = [this](absl::Status why) {
      absl::MutexLock lock(&mutex_);
      refused_ = why;
    };
    const Member self{"n1", 7, "n1:1", {{"tcp", "n1:2"}}, 64, "h"};
    ASSERT_EQ(agent_->Start(self, std::move(callbacks)), absl::OkStatus());
  }

  // While the node's core makes progress.
  bool Eventually(const std::function<bool()>& condition) {
    return clock_.Eventually([&] {
      agent_->NoteProgress();
      return condition();
    });
  }
  std::vector<View> views() {
    absl::MutexLock lock(&mutex_);
    return views_;
  }
  absl::Status refused() {
    absl::MutexLock lock(&mutex_);
    return refused_;
  }
  // Waits for the callback, which is the last thing the agent does.
  absl::Status AwaitRefusal() {
    absl::MutexLock lock(&mutex_);
    const auto is_refused = [this] { return !refused_.ok(); };
    mutex_.AwaitWithTimeout(absl::Condition(&is_refused),
                            Patience(absl::Seconds(10)));
    return refused_;
  }

  TestClock clock_;
  std::function<absl::Status(absl::Duration)> takes_lease_;
  std::shared_ptr<rpc::ClusterIdentity> cluster_;
  // For scripts, which may run until the managers are gone.
  std::atomic<int> left_{0};
  std::atomic<uint64_t> current_{1};
  absl::Mutex mutex_;
  std::vector<View> views_ ABSL_GUARDED_BY(mutex_);
  absl::Status refused_ ABSL_GUARDED_BY(mutex_);
  RegisterRequest seen_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> taken_in_by_ ABSL_GUARDED_BY(mutex_);
  ScriptedManager manager_;
  ScriptedManager second_;
  std::unique_ptr<MembershipAgent> agent_;
};

TEST_F(MembershipAgentTest, RegistersWithTheDescriptionOfTheNode) {
  manager_.OnRegister([&](const RegisterRequest& request, RegisterResponse*) {
    absl::MutexLock lock(&mutex_);
    seen_ = request;
    return grpc::Status::OK;
  });
  Start({manager_.address()});
  ASSERT_TRUE(Eventually([&] { return manager_.heartbeats() > 0; }));
  EXPECT_EQ(manager_.last_heartbeat().incarnation(), 7u);
  EXPECT_EQ(manager_.last_heartbeat().node_id(), "n1");
  EXPECT_EQ(manager_.last_heartbeat().chain_id(), kOnlyChain);
  absl::MutexLock lock(&mutex_);
  EXPECT_EQ(seen_.cluster_id(), "c");
  EXPECT_EQ(seen_.chain_id(), kOnlyChain);
  EXPECT_EQ(FromProto(seen_.member()), ChainOf(1).members[0]);
}

TEST_F(MembershipAgentTest, ANodeSendsNoHeartbeatBeforeItTakesTheLease) {
  takes_lease_ = [this](absl::Duration lease) {
    EXPECT_EQ(lease, absl::Milliseconds(700));
    EXPECT_EQ(manager_.heartbeats(), 0);
    if (--left_ > 0) return absl::UnavailableError("measuring");
    return absl::OkStatus();
  };
  left_ = 5;
  Start({manager_.address()});
  ASSERT_TRUE(Eventually([&] { return manager_.heartbeats() > 0; }));
  EXPECT_EQ(manager_.registers(), 1);
  EXPECT_EQ(refused(), absl::OkStatus());
}

TEST_F(MembershipAgentTest, ANodeThatDoesNotTakeTheLeaseIsRefused) {
  takes_lease_ = [this](absl::Duration) -> absl::Status {
    if (--left_ > 0) return absl::UnavailableError("measuring");
    return absl::FailedPreconditionError("too slow");
  };
  left_ = 5;
  Start({manager_.address()});
  EXPECT_EQ(AwaitRefusal().message(), "too slow");
  EXPECT_EQ(manager_.heartbeats(), 0);
}

TEST_F(MembershipAgentTest, AStopDoesNotWaitUntilTheNodeTakesTheLease) {
  takes_lease_ = [this](absl::Duration) {
    ++left_;
    return absl::UnavailableError("measuring");
  };
  Start({manager_.address()});
  ASSERT_TRUE(Eventually([&] { return left_ > 3; }));
  agent_->Stop();
  EXPECT_EQ(refused(), absl::OkStatus());
}

TEST_F(MembershipAgentTest, TheLeaseCountsFromTheSendingOfTheRequest) {
  manager_.OnRegister([&](const RegisterRequest&, RegisterResponse* response) {
    clock_.Advance(absl::Milliseconds(600));  // on its way
    response->set_heartbeat_interval_ms(60000);
    return grpc::Status::OK;
  });
  Start({manager_.address()});
  ASSERT_TRUE(Eventually([&] { return agent_->LeaseValid(0); }));
  clock_.Advance(absl::Milliseconds(99));
  EXPECT_TRUE(agent_->LeaseValid(0));
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_FALSE(agent_->LeaseValid(0));
}

TEST_F(MembershipAgentTest, AHungNodeSendsNoHeartbeats) {
  Start({manager_.address()});
  ASSERT_TRUE(Eventually([&] { return manager_.heartbeats() > 2; }));
  // A call may be under way.
  clock_.Advance(absl::Seconds(1));
  int64_t reads = clock_.reads();
  ASSERT_TRUE(clock_.Eventually([&] { return clock_.reads() > reads + 4; }));
  const int heartbeats = manager_.heartbeats();
  reads = clock_.reads();
  ASSERT_TRUE(clock_.Eventually([&] { return clock_.reads() > reads + 20; }));
  EXPECT_EQ(manager_.heartbeats(), heartbeats);
  EXPECT_FALSE(agent_->LeaseValid(0));
  ASSERT_TRUE(Eventually([&] { return manager_.heartbeats() > heartbeats; }));
}

TEST_F(MembershipAgentTest, HeartbeatsRenewTheLeaseUntilStopped) {
  Start({manager_.address()});
  ASSERT_TRUE(Eventually([&] { return agent_->LeaseValid(0); }));
  clock_.Advance(absl::Seconds(1));
  ASSERT_TRUE(Eventually([&] { return agent_->LeaseValid(0); }));
  agent_->Stop();
  EXPECT_FALSE(agent_->LeaseValid(0));
  agent_->Stop();
}

TEST_F(MembershipAgentTest, ALeaseOfANewerViewIsInvalidInAnOlderView) {
  manager_.OnRegister([](const RegisterRequest&, RegisterResponse* response) {
    response->set_lease_view_id(3);
    return grpc::Status::OK;
  });
  Start({manager_.address()});
  ASSERT_TRUE(Eventually([&] { return agent_->LeaseValid(3); }));
  EXPECT_FALSE(agent_->LeaseValid(2));
  EXPECT_TRUE(agent_->LeaseValid(4));
}

TEST_F(MembershipAgentTest, DeliversOnlyNewerViews) {
  manager_.OnRegister([&](const RegisterRequest&, RegisterResponse* response) {
    *response->mutable_view() = ToProto(View());
    return grpc::Status::OK;
  });
  manager_.OnHeartbeat(
      [&](const HeartbeatRequest&, HeartbeatResponse* response) {
        *response->mutable_view() = ToProto(ChainOf(current_));
        response->set_lease_view_id(current_);
        return grpc::Status::OK;
      });
  Start({manager_.address()});
  ASSERT_TRUE(Eventually([&] { return views().size() == 1; }));
  current_ = 5;
  ASSERT_TRUE(Eventually([&] { return views().size() == 2; }));
  current_ = 4;  // a manager that is behind
  const int before = manager_.heartbeats();
  ASSERT_TRUE(Eventually([&] { return manager_.heartbeats() > before + 3; }));
  current_ = 6;
  ASSERT_TRUE(Eventually([&] { return views().size() == 3; }));
  EXPECT_EQ(views()[0], ChainOf(1));
  EXPECT_EQ(views()[1], ChainOf(5));
  EXPECT_EQ(views()[2], ChainOf(6));
}

TEST_F(MembershipAgentTest, HeartbeatsReportTheViewOfTheNode) {
  Start({manager_.address()});
  agent_->SetReport({4, Condition::kSound, 0});
  ASSERT_TRUE(Eventually(
      [&] { return manager_.last_heartbeat().report().view_id() == 4; }));
  agent_->SetReport({3, Condition::kSound, 0});  // never backwards
  const int before = manager_.heartbeats();
  ASSERT_TRUE(Eventually([&] { return manager_.heartbeats() > before + 2; }));
  EXPECT_EQ(manager_.last_heartbeat().report().view_id(), 4u);
}

TEST_F(MembershipAgentTest, ARequestedViewIsFetchedAtOnce) {
  manager_.OnRegister([](const RegisterRequest&, RegisterResponse* response) {
    response->set_heartbeat_interval_ms(3600 * 1000);
    return grpc::Status::OK;
  });
  Start({manager_.address()});
  ASSERT_TRUE(Eventually([&] { return agent_->LeaseValid(0); }));
  EXPECT_EQ(manager_.heartbeats(), 0);
  agent_->RequestView();
  EXPECT_TRUE(Eventually([&] { return manager_.heartbeats() == 1; }));
}

TEST_F(MembershipAgentTest, AForgottenNodeRegistersAgainWithItsIncarnation) {
  left_ = 1;
  manager_.OnHeartbeat([&](const HeartbeatRequest&, HeartbeatResponse*) {
    return left_-- > 0 ? grpc::Status(grpc::StatusCode::NOT_FOUND, "who?")
                       : grpc::Status::OK;
  });
  Start({manager_.address()});
  ASSERT_TRUE(Eventually([&] { return manager_.heartbeats() > 2; }));
  EXPECT_EQ(manager_.incarnations(), (std::vector<uint64_t>{7, 7}));
  absl::MutexLock lock(&mutex_);
  EXPECT_EQ(taken_in_by_, std::vector<std::string>{manager_.address()});
}

TEST_F(MembershipAgentTest, FollowsARedirectToTheLeader) {
  manager_.OnRegister([&](const RegisterRequest&, RegisterResponse*) {
    return NotLeader(second_.address());
  });
  Start({manager_.address()});
  ASSERT_TRUE(Eventually([&] { return second_.heartbeats() > 0; }));
  EXPECT_EQ(manager_.registers(), 1);
  EXPECT_EQ(refused(), absl::OkStatus());
  absl::MutexLock lock(&mutex_);
  EXPECT_EQ(taken_in_by_, std::vector<std::string>{second_.address()});
}

// A manager of another cluster took the address of one of this node's managers.
TEST_F(MembershipAgentTest, AManagerOfAnotherClusterDoesNotStopARunningNode) {
  manager_.OnRegister([&](const RegisterRequest&, RegisterResponse* response) {
    if (left_++ > 0) return rpc::ToGrpc(rpc::OtherCluster("another"));
    *response->mutable_view() = ToProto(ChainOf(1));
    return grpc::Status::OK;
  });
  manager_.OnHeartbeat([&](const HeartbeatRequest&, HeartbeatResponse*) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "who?");
  });
  second_.OnRegister([&](const RegisterRequest&, RegisterResponse* response) {
    *response->mutable_view() = ToProto(ChainOf(1));
    response->set_lease_view_id(1);
    return grpc::Status::OK;
  });
  Start({manager_.address(), second_.address()});
  ASSERT_TRUE(Eventually([&] { return second_.heartbeats() > 0; }));
  EXPECT_EQ(manager_.registers(), 2);
  EXPECT_EQ(refused(), absl::OkStatus());
}

TEST_F(MembershipAgentTest, ASlowManagerGetsALongerDeadline) {
  manager_.OnRegister([](const RegisterRequest&, RegisterResponse*) {
    return grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "late");
  });
  const absl::Duration first = Patience(absl::Seconds(5));
  Start({manager_.address()}, first);
  EXPECT_TRUE(
      Eventually([&] { return manager_.longest_deadline() > 2 * first; }));
}

// The name may have moved to another address, which only a new connection
// finds.
TEST_F(MembershipAgentTest, TheNameOfAForeignManagerIsLookedUpAgain) {
  manager_.OnRegister([&](const RegisterRequest&, RegisterResponse* response) {
    if (left_++ > 0) return rpc::ToGrpc(rpc::OtherCluster("another"));
    *response->mutable_view() = ToProto(ChainOf(1));
    return grpc::Status::OK;
  });
  manager_.OnHeartbeat([&](const HeartbeatRequest&, HeartbeatResponse*) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "unknown node");
  });
  Start({manager_.address()});
  ASSERT_TRUE(Eventually([&] { return manager_.connections() > 1; }));
  EXPECT_EQ(refused(), absl::OkStatus());
}

TEST_F(MembershipAgentTest, AStartingNodeSkipsAManagerOfAnotherCluster) {
  manager_.OnRegister([&](const RegisterRequest&, RegisterResponse*) {
    return rpc::ToGrpc(rpc::OtherCluster("another"));
  });
  Start({manager_.address(), second_.address()});
  ASSERT_TRUE(Eventually([&] { return second_.heartbeats() > 0; }));
  EXPECT_EQ(manager_.registers(), 1);
  EXPECT_EQ(refused(), absl::OkStatus());
}

TEST_F(MembershipAgentTest,
       AStartingNodeStopsIfAllManagersAreOfAnotherCluster) {
  for (ScriptedManager* each : {&manager_, &second_}) {
    each->OnRegister([&](const RegisterRequest&, RegisterResponse*) {
      return rpc::ToGrpc(rpc::OtherCluster("another"));
    });
  }
  Start({manager_.address(), second_.address()});
  EXPECT_TRUE(rpc::IsOtherCluster(AwaitRefusal()));
  EXPECT_EQ(manager_.registers() + second_.registers(), 2);
}

TEST_F(MembershipAgentTest, ANewNodeDoesNotRegisterWithManagersOfTwoClusters) {
  cluster_ = std::make_shared<rpc::ClusterIdentity>();
  manager_.SetClusterUuid("1111");
  second_.SetClusterUuid("2222");
  Start({manager_.address(), second_.address()});
  const absl::Status refused = AwaitRefusal();
  EXPECT_TRUE(rpc::IsOtherCluster(refused)) << refused;
  EXPECT_EQ(manager_.registers() + second_.registers(), 0);
}

// For a manager that has formed its cluster after it was asked for it.
TEST_F(MembershipAgentTest, ANewNodeRefusesASecondClusterShownByARegistration) {
  cluster_ = std::make_shared<rpc::ClusterIdentity>();
  manager_.SetClusterUuid("1111", /*heartbeats=*/false);
  second_.SetClusterUuid("2222");
  takes_lease_ = [](absl::Duration) { return absl::OkStatus(); };
  Start({manager_.address(), second_.address()});
  EXPECT_TRUE(rpc::IsOtherCluster(AwaitRefusal()));
  absl::MutexLock lock(&mutex_);
  EXPECT_TRUE(taken_in_by_.empty());
}

TEST_F(MembershipAgentTest, AsksManagersInTurnWhileNoneLeads) {
  left_ = 5;
  const auto no_leader = [&](const RegisterRequest&, RegisterResponse*) {
    return left_-- > 0 ? NotLeader("") : grpc::Status::OK;
  };
  manager_.OnRegister(no_leader);
  second_.OnRegister(no_leader);
  // No process listens at the first address of the list.
  Start({"127.0.0.1:1", manager_.address(), second_.address()},
        Patience(absl::Seconds(2)));
  ASSERT_TRUE(Eventually(
      [&] { return manager_.heartbeats() + second_.heartbeats() > 0; }));
  EXPECT_EQ(manager_.registers() + second_.registers(), 6);
  EXPECT_GE(manager_.registers(), 2);
  EXPECT_GE(second_.registers(), 2);
}

// A manager's answers to a node of chain 1 of cluster c.
class AgentCoreAnswersTest : public testing::Test {
 protected:
  static AgentCore::Options Options() {
    AgentCore::Options options;
    options.cluster_id = "c";
    options.managers = {"a:1", "b:1"};
    return options;
  }
  static AgentCore::Answer AnswerWith(const View& view) {
    AgentCore::Answer answer;
    answer.registration.set_chain_id(kOnlyChain);
    answer.registration.set_lease_ms(700);
    *answer.registration.mutable_view() = ToProto(view);
    answer.registration.set_lease_view_id(view.id);
    answer.heartbeat.set_chain_id(kOnlyChain);
    answer.heartbeat.set_lease_ms(700);
    *answer.heartbeat.mutable_view() = ToProto(view);
    answer.heartbeat.set_lease_view_id(view.id);
    return answer;
  }
  // Answers that are meant for another node.
  static std::vector<AgentCore::Answer> Foreign() {
    View other_chain = ChainOf(9);
    other_chain.chain_id = 2;
    View other_cluster = ChainOf(9);
    other_cluster.cluster_id = "d";
    View empty = ChainOf(9);
    empty.members.clear();
    std::vector<AgentCore::Answer> answers = {
        AnswerWith(other_chain), AnswerWith(other_cluster), AnswerWith(empty),
        AnswerWith(ChainOf(9))};
    answers.back().registration.set_chain_id(2);
    answers.back().heartbeat.set_chain_id(2);
    return answers;
  }

  const absl::Time now_ = absl::FromUnixSeconds(1000);
};

TEST_F(AgentCoreAnswersTest, ANodeStopsWhenAnotherChainAcceptsIt) {
  for (const AgentCore::Answer& answer : Foreign()) {
    AgentCore core(Options());
    const auto effects = core.OnAnswer(core.Next(now_), answer, now_);
    EXPECT_TRUE(absl::IsFailedPrecondition(effects.refused));
    EXPECT_NE(effects.refused.message().find("this node is one of chain 1"),
              std::string::npos)
        << effects.refused;
    EXPECT_FALSE(effects.view.has_value());
    EXPECT_FALSE(core.lease().Valid(9, now_));
  }
}

TEST_F(AgentCoreAnswersTest, ViewsAndLeasesOfAnotherChainDoNotCount) {
  for (const AgentCore::Answer& answer : Foreign()) {
    AgentCore core(Options());
    ASSERT_TRUE(
        core.OnAnswer(core.Next(now_), AnswerWith(ChainOf(3)), now_).view);
    const absl::Time later = now_ + absl::Milliseconds(700);
    ASSERT_FALSE(core.lease().Valid(3, later));
    const AgentCore::Call beat = core.Next(later);
    ASSERT_FALSE(beat.registers);
    const auto effects = core.OnAnswer(beat, answer, later);
    EXPECT_EQ(effects.refused, absl::OkStatus());
    EXPECT_FALSE(effects.view.has_value());
    EXPECT_FALSE(core.lease().Valid(3, later));
    EXPECT_EQ(core.Next(later).manager, "b:1");  // another may know better
  }
}

// As if of another chain: registering tells, and ends the node if it is.
TEST_F(AgentCoreAnswersTest, ANodeWithARefusedHeartbeatRegistersAgain) {
  AgentCore core(Options());
  AgentCore::Answer wrong;
  wrong.status = CheckChain(/*asked=*/1, /*served=*/2);
  const auto taken_in = AnswerWith(ChainOf(3));
  const AgentCore::Call first = core.Next(now_);
  const absl::Duration interval = core.OnAnswer(first, taken_in, now_).wait;
  EXPECT_GT(interval, absl::ZeroDuration());

  EXPECT_EQ(core.OnAnswer(core.Next(now_), wrong, now_).refused,
            absl::OkStatus());
  const AgentCore::Call again = core.Next(now_);
  EXPECT_TRUE(again.registers);
  EXPECT_EQ(again.manager, first.manager);
  // A node that is taken in nevertheless continues at the rate of heartbeats.
  EXPECT_EQ(core.OnAnswer(again, taken_in, now_).wait, interval);
  EXPECT_FALSE(core.Next(now_).registers);

  core.OnAnswer(core.Next(now_), wrong, now_);
  EXPECT_EQ(core.OnAnswer(core.Next(now_), wrong, now_).refused, wrong.status);
}

TEST_F(MembershipAgentTest, TheAgentLeavesALeaderThatStepsDown) {
  left_ = 1;  // whether the first leads
  manager_.OnHeartbeat([&](const HeartbeatRequest&, HeartbeatResponse*) {
    return left_ == 1 ? grpc::Status::OK : NotLeader(second_.address());
  });
  Start({manager_.address(), second_.address()});
  ASSERT_TRUE(Eventually([&] { return manager_.heartbeats() > 0; }));
  left_ = 0;
  ASSERT_TRUE(Eventually([&] { return second_.heartbeats() > 0; }));
  // The lease and the registration came with it.
  EXPECT_EQ(second_.registers(), 0);
}

TEST_F(MembershipAgentTest, APermanentErrorRefusesTheNodeAtOnce) {
  for (const auto code : {grpc::StatusCode::FAILED_PRECONDITION,
                          grpc::StatusCode::INVALID_ARGUMENT}) {
    manager_.OnRegister([code](const RegisterRequest&, RegisterResponse*) {
      return grpc::Status(code, "another heap size");
    });
    const int before = manager_.registers();
    Start({manager_.address()});
    const absl::Status refused = AwaitRefusal();
    EXPECT_EQ(static_cast<int>(refused.code()), static_cast<int>(code));
    EXPECT_EQ(refused.message(), "another heap size");
    agent_->Stop();
    EXPECT_EQ(manager_.registers(), before + 1);
    absl::MutexLock lock(&mutex_);
    refused_ = absl::OkStatus();
  }
}

TEST_F(MembershipAgentTest, AServerOtherThanAManagerIsNamed) {
  manager_.OnRegister([](const RegisterRequest&, RegisterResponse*) {
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "");
  });
  Start({manager_.address()});
  const absl::Status refused = AwaitRefusal();
  EXPECT_TRUE(absl::IsUnimplemented(refused));
  EXPECT_EQ(refused.message(),
            manager_.address() +
                " answers, but is no manager (a node or etcd, perhaps); check "
                "--managers");
}

TEST_F(MembershipAgentTest, ANodeWaitsForItsFormerProcessToEnd) {
  left_ = 3;
  manager_.OnRegister([&](const RegisterRequest&, RegisterResponse*) {
    clock_.Advance(absl::Seconds(1));
    return left_-- > 0 ? grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "alive")
                       : grpc::Status::OK;
  });
  Start({manager_.address()});
  ASSERT_TRUE(Eventually([&] { return manager_.heartbeats() > 0; }));
  EXPECT_EQ(refused(), absl::OkStatus());
}

TEST_F(MembershipAgentTest, ADuplicateNodeIsRefusedAfterAWait) {
  manager_.OnRegister([&](const RegisterRequest&, RegisterResponse*) {
    clock_.Advance(absl::Seconds(1));
    return grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "n1 is alive");
  });
  Start({manager_.address()});
  EXPECT_TRUE(absl::IsAlreadyExists(AwaitRefusal()));
  EXPECT_FALSE(agent_->LeaseValid(0));
  // Five seconds from the first answer on.
  EXPECT_EQ(manager_.registers(), 6);
}

TEST_F(MembershipAgentTest, ADuplicateNodeIsRefusedDespiteAStandby) {
  manager_.OnRegister([&](const RegisterRequest&, RegisterResponse*) {
    clock_.Advance(absl::Seconds(1));
    return grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "n1 is alive");
  });
  second_.OnRegister([&](const RegisterRequest&, RegisterResponse*) {
    return NotLeader(manager_.address());
  });
  Start({manager_.address(), second_.address()});
  EXPECT_TRUE(absl::IsAlreadyExists(AwaitRefusal()));
  EXPECT_GE(second_.registers(), 1);
}

TEST_F(MembershipAgentTest, AnUnreachableManagerIsRetriedForever) {
  Start({"127.0.0.1:1"}, absl::Milliseconds(20));
  // Each attempt reads the clock; a day of attempts changes nothing.
  for (int i = 0; i < 24; ++i) {
    const int64_t before = clock_.reads();
    clock_.Advance(absl::Hours(1));
    ASSERT_TRUE(Eventually([&] { return clock_.reads() > before + 1; }));
  }
  EXPECT_FALSE(agent_->LeaseValid(0));
  EXPECT_EQ(refused(), absl::OkStatus());
}

}  // namespace
}  // namespace kamino::membership
