// Manager processes and agents on a real etcd.
#include <signal.h>
#include <stdlib.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "gtest/gtest.h"
#include "kamino/v1/admin.grpc.pb.h"
#include "membership/agent/membership_agent.h"
#include "rpc/channel.h"
#include "rpc/redirect.h"
#include "rpc/status.h"
#include "tests/membership/child_process.h"
#include "tests/patience.h"

namespace kamino::membership {
namespace {

const absl::Duration kPatience = Patience(absl::Seconds(20));
constexpr absl::Duration kTick = absl::Milliseconds(20);
constexpr char kProgram[] = "membership/kamino_manager";

std::string NewFolder() {
  std::string folder = absl::StrCat(testing::TempDir(), "/XXXXXX");
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

// The membership part of a node.
class Node {
 public:
  Node(const std::string& id, uint64_t incarnation,
       const std::vector<std::string>& managers, int port = 1)
      : agent_(Options(managers)) {
    ViewSourceCallbacks callbacks;
    callbacks.on_view = [this](const View& view) {
      agent_.SetReport({view.id, Condition::kSound, 0});
      absl::MutexLock lock(&mutex_);
      view_ = view;
    };
    callbacks.on_refused = [this](absl::Status why) {
      absl::MutexLock lock(&mutex_);
      refused_ = why;
    };
    agent_.SetReport({0, Condition::kFresh, 0});
    // Another heap for each incarnation.
    const std::string heap =
        absl::StrFormat("%-8s%08d", id, static_cast<int>(incarnation));
    const Member self{
        id, incarnation, absl::StrCat(id, ":", port), {{"tcp", id + ":2"}},
        64, heap};
    EXPECT_EQ(agent_.Start(self, std::move(callbacks)), absl::OkStatus());
    core_ = std::thread([this] {
      absl::MutexLock lock(&mutex_);
      while (!mutex_.AwaitWithTimeout(absl::Condition(&stopped_), kTick)) {
        agent_.NoteProgress();
      }
    });
  }
  ~Node() {
    {
      absl::MutexLock lock(&mutex_);
      stopped_ = true;
    }
    core_.join();
  }

  View view() const {
    absl::MutexLock lock(&mutex_);
    return view_;
  }
  bool AwaitView(uint64_t id) {
    absl::MutexLock lock(&mutex_);
    const auto there = [&] { return view_.id >= id; };
    mutex_.AwaitWithTimeout(absl::Condition(&there), kPatience);
    return view_.id == id;
  }
  absl::Status AwaitRefusal() {
    absl::MutexLock lock(&mutex_);
    const auto refused = [&] { return !refused_.ok(); };
    mutex_.AwaitWithTimeout(absl::Condition(&refused), kPatience);
    return refused_;
  }
  bool AwaitLease(bool valid) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (agent_.LeaseValid(view().id) != valid) {
      if (absl::Now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }
  void Stop() { agent_.Stop(); }

 private:
  static AgentOptions Options(const std::vector<std::string>& managers) {
    AgentOptions options;
    options.cluster_id = "c";
    options.managers = managers;
    return options;
  }

  mutable absl::Mutex mutex_;
  View view_ ABSL_GUARDED_BY(mutex_);
  absl::Status refused_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread core_;       // goes on until then
  MembershipAgent agent_;  // last: it stops before what it calls back goes
};

class KaminoManagerTest : public testing::Test {
 protected:
  using Process = std::unique_ptr<ChildProcess>;

  // The last of two values of one flag counts.
  Process Run(const std::string& address,
              const std::vector<std::string>& flags = {}) {
    std::vector<std::string> command = {kProgram,
                                        "--cluster_id=c",
                                        "--chain_length=2",
                                        "--leader_ttl_s=2",
                                        "--failure_timeout_ms=1500",
                                        "--listen=" + address,
                                        "--etcd=" + etcd_endpoint_};
    command.insert(command.end(), flags.begin(), flags.end());
    return std::make_unique<ChildProcess>(
        command, absl::StrCat(folder_, "/manager", ++processes_, ".log"));
  }
  void StartEtcd() {
    etcd_ = std::make_unique<EtcdProcess>(folder_);
    etcd_endpoint_ = etcd_->endpoint();
  }
  static bool Leads(const Process& manager) {
    return manager->AwaitOutput("is the leader of cluster", kPatience);
  }
  static std::string Address() {
    return absl::StrCat("127.0.0.1:", FreePort());
  }

  const std::string folder_ = NewFolder();
  std::string etcd_endpoint_ = Address();
  std::unique_ptr<EtcdProcess> etcd_;
  int processes_ = 0;
};

TEST_F(KaminoManagerTest, BadFlagsPrintOneLineAndExitWithTwo) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"--cluster_id=", "--cluster_id"},
      {"--cluster_id=a/b", "--cluster_id"},
      {"--cluster_id=a b", "--cluster_id must be 1 to 48 letters"},
      {"--etcd=http://127.0.0.1:2379", "leave out the scheme and its ://"},
      {"--listen=nowhere", "--listen"},
      {"--listen=127.0.0.1:70000", "--listen"},
      {"--listen=0.0.0.0:7000", "--advertise"},
      {"--advertise=x", "--advertise"},
      {"--etcd=", "--etcd"},
      {"--etcd=127.0.0.1", "--etcd"},
      {"--etcd_prefix=kamino", "--etcd_prefix"},
      {"--chain_length=0", "--chain_length"},
      {"--chain_length=17", "--chain_length"},
      {"--failure_timeout_ms=99", "--failure_timeout_ms"},
      {"--heartbeat_interval_ms=400", "--heartbeat_interval_ms"},
      {"--leader_ttl_s=0", "--leader_ttl_s"},
      {"surplus", "surplus"}};
  for (const auto& [flag, named] : bad) {
    SCOPED_TRACE(flag);
    Process manager = Run(Address(), {flag});
    EXPECT_EQ(manager->Wait(kPatience), 2);
    const std::string output = manager->Output();
    EXPECT_TRUE(absl::StrContains(output, named)) << output;
    EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << output;
  }
  for (const std::string flag : {"--chain_length=many", "--no_such_flag"}) {
    EXPECT_EQ(Run(Address(), {flag})->Wait(kPatience), 2) << flag;
  }
}

TEST_F(KaminoManagerTest, AShortFailureTimeoutShortensTheHeartbeats) {
  Process manager = Run(Address(), {"--failure_timeout_ms=200"});
  EXPECT_TRUE(manager->AwaitOutput("listens on", kPatience));
}

TEST_F(KaminoManagerTest, APortInUseExitsWithOne) {
  const std::string address = Address();
  Process first = Run(address);
  ASSERT_TRUE(first->AwaitOutput("listens on", kPatience));
  Process second = Run(address);
  EXPECT_EQ(second->Wait(kPatience), 1);
  EXPECT_TRUE(absl::StrContains(second->Output(),
                                absl::StrCat("cannot listen on ", address)));
  first->Signal(SIGTERM);
  EXPECT_EQ(first->Wait(kPatience), 0);
}

TEST_F(KaminoManagerTest, TheManagerWaitsForAnUnavailableEtcd) {
  StartEtcd();
  etcd_->Signal(SIGSTOP);
  const std::string address = Address();
  Process manager = Run(address);
  ASSERT_TRUE(manager->AwaitOutput("trying again", kPatience));
  EXPECT_TRUE(absl::StrContains(manager->Output(), etcd_endpoint_));
  // It answers nevertheless.
  auto health = grpc::health::v1::Health::NewStub(rpc::MakeChannel(address));
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  rpc::SetTimeout(kPatience, &context);
  grpc::health::v1::HealthCheckRequest request;
  grpc::health::v1::HealthCheckResponse response;
  EXPECT_TRUE(health->Check(&context, request, &response).ok());
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::SERVING);
  etcd_->Signal(SIGCONT);
  EXPECT_TRUE(Leads(manager));
  manager->Signal(SIGINT);
  EXPECT_EQ(manager->Wait(kPatience), 0);
}

TEST_F(KaminoManagerTest, AStandbyTakesOverAndKeepsTheView) {
  StartEtcd();
  const std::vector<std::string> addresses = {Address(), Address()};
  Process first = Run(addresses[0]);
  ASSERT_TRUE(Leads(first));
  Process second = Run(addresses[1]);
  Node n1("n1", 1, addresses);
  Node n2("n2", 1, addresses);
  ASSERT_TRUE(n1.AwaitView(1));
  ASSERT_TRUE(n2.AwaitView(1));
  EXPECT_EQ(n1.view().ToString(), "view 1: n1 (head) -> n2 (tail)");

  // A manager that is told to stop hands over.
  first->Signal(SIGTERM);
  EXPECT_EQ(first->Wait(kPatience), 0);
  ASSERT_TRUE(Leads(second));
  ASSERT_TRUE(n1.AwaitLease(true));
  ASSERT_TRUE(n2.AwaitLease(true));

  // A killed manager is replaced once its lease at etcd has expired.
  first = Run(addresses[0]);
  second->Signal(SIGKILL);
  EXPECT_EQ(second->Wait(kPatience), -SIGKILL);
  ASSERT_TRUE(n1.AwaitLease(false));
  ASSERT_TRUE(Leads(first));
  ASSERT_TRUE(n1.AwaitLease(true));
  ASSERT_TRUE(n2.AwaitLease(true));
  EXPECT_EQ(n1.view().id, 1u);

  // No node was dropped by all this; a node that is gone still is.
  n2.Stop();
  ASSERT_TRUE(n1.AwaitView(2));
  EXPECT_EQ(n1.view().ToString(), "view 2: n1 (single)");

  // The only manager left, and it is restarted.
  first->Signal(SIGKILL);
  first->Wait(kPatience);
  first = Run(addresses[0]);
  ASSERT_TRUE(Leads(first));
  EXPECT_TRUE(absl::StrContains(first->Output(), "view 2: n1 (single)"));
}

TEST_F(KaminoManagerTest, AHangingEtcdStopsOnlyTheLeases) {
  StartEtcd();
  const std::vector<std::string> addresses = {Address(), Address()};
  Process first = Run(addresses[0]);
  Process second = Run(addresses[1]);
  Node n1("n1", 1, addresses);
  Node n2("n2", 1, addresses);
  ASSERT_TRUE(n1.AwaitView(1));
  ASSERT_TRUE(n2.AwaitLease(true));
  etcd_->Signal(SIGSTOP);
  ASSERT_TRUE(n1.AwaitLease(false));
  ASSERT_TRUE(n2.AwaitLease(false));
  etcd_->Signal(SIGCONT);
  ASSERT_TRUE(n1.AwaitLease(true));
  ASSERT_TRUE(n2.AwaitLease(true));
  EXPECT_EQ(n1.view().id, 1u);
  EXPECT_EQ(n2.view().id, 1u);
  // Also when etcd returns from its disk.
  etcd_->Restart();
  ASSERT_TRUE(n1.AwaitLease(true));
  n2.Stop();
  ASSERT_TRUE(n1.AwaitView(2));
}

TEST_F(KaminoManagerTest, ADuplicateOfALiveNodeIsRefused) {
  StartEtcd();
  const std::string address = Address();
  Process manager = Run(address);
  Node n1("n1", 1, {address});
  ASSERT_TRUE(n1.AwaitLease(true));
  Node twin("n1", 2, {address}, /*port=*/3);
  EXPECT_TRUE(absl::IsAlreadyExists(twin.AwaitRefusal()));
  EXPECT_TRUE(n1.AwaitLease(true));
}

TEST_F(KaminoManagerTest, OperatorsLearnTheLeader) {
  StartEtcd();
  const std::string leader = Address();
  Process first = Run(leader);
  ASSERT_TRUE(Leads(first));
  const std::string standby = Address();
  Process second = Run(standby);
  ASSERT_TRUE(second->AwaitOutput("listens on", kPatience));
  kamino::v1::GetClusterRequest request;
  kamino::v1::GetClusterResponse response;
  const auto ask = [&](const std::string& manager) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    rpc::SetTimeout(kPatience, &context);
    response.Clear();
    return rpc::FromGrpc(
        kamino::v1::AdminService::NewStub(rpc::MakeChannel(manager))
            ->GetCluster(&context, request, &response));
  };
  EXPECT_EQ(ask(leader), absl::OkStatus());
  EXPECT_EQ(response.leader(), leader);
  EXPECT_EQ(response.cluster_id(), "c");
  EXPECT_EQ(response.chain_id(), kOnlyChain);
  request.set_chain_id(7);
  EXPECT_EQ(ask(leader), absl::InvalidArgumentError(
                             "chain 7 was asked for; here is chain 1"));
  request.set_chain_id(kOnlyChain);
  // At first it knows of none.
  absl::Status redirected;
  for (const absl::Time end = absl::Now() + kPatience; absl::Now() < end;) {
    redirected = ask(standby);
    if (rpc::LeaderIn(redirected).value_or("") != "") break;
  }
  EXPECT_TRUE(absl::IsUnavailable(redirected)) << redirected;
  EXPECT_EQ(rpc::LeaderIn(redirected), leader);
  request.set_cluster_id("d");
  EXPECT_TRUE(absl::IsNotFound(ask(leader)));
}

TEST_F(KaminoManagerTest, ANodeOfAnotherClusterIsRefused) {
  StartEtcd();
  const std::string address = Address();
  Process manager = Run(address, {"--cluster_id=d"});
  ASSERT_TRUE(Leads(manager));
  Node n1("n1", 1, {address});
  EXPECT_TRUE(absl::IsFailedPrecondition(n1.AwaitRefusal()));
}

}  // namespace
}  // namespace kamino::membership
