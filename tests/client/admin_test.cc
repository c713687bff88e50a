// Managers of one cluster, of which at most one leads.
#include "client/admin.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kamino/v1/admin.grpc.pb.h"
#include "rpc/cluster_calls.h"
#include "rpc/redirect.h"
#include "rpc/server.h"
#include "rpc/status.h"
#include "tests/faults/fault.h"
#include "tests/patience.h"

namespace kamino::client {
namespace {

using kamino::v1::AdminResponse;
using kamino::v1::GetClusterResponse;

// Answers when the caller no longer waits.
class Withheld final : public grpc::ServerUnaryReactor {
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }
};

class Manager final : public kamino::v1::AdminService::CallbackService {
 public:
  // The answer; OK at first. Set before the first call.
  std::function<absl::Status()> answer = [] { return absl::OkStatus(); };
  // After this many calls the manager does not answer.
  int answers = std::numeric_limits<int>::max();
  std::atomic<int> refused_looks{0};  // this many GetManager calls fail
  rpc::ClusterIdentity cluster;       // its cluster; not known at first
  std::string cluster_id = "alpha";

  Manager() {
    rpc::ServerOptions options;
    options.listen = "127.0.0.1:0";
    server_ = *rpc::Server::Start(options, {this});
  }
  std::string address() const {
    return absl::StrCat("127.0.0.1:", server_->port());
  }
  int asked() const { return asked_; }
  // How long the client of the last call would wait.
  absl::Duration deadline() const {
    return absl::Nanoseconds(deadline_ns_.load());
  }

 private:
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context) {
    deadline_ns_ = std::chrono::nanoseconds(context->deadline() -
                                            std::chrono::system_clock::now())
                       .count();
    if (++asked_ > answers) return new Withheld;
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const absl::Status met = rpc::MeetCaller(cluster, context);
    reactor->Finish(rpc::ToGrpc(met.ok() ? answer() : met));
    return reactor;
  }
  grpc::ServerUnaryReactor* GetCluster(grpc::CallbackServerContext* context,
                                       const kamino::v1::GetClusterRequest*,
                                       GetClusterResponse* response) override {
    response->set_leader(address());
    return Answer(context);
  }
  grpc::ServerUnaryReactor* RemoveNode(grpc::CallbackServerContext* context,
                                       const kamino::v1::RemoveNodeRequest*,
                                       AdminResponse*) override {
    return Answer(context);
  }
  grpc::ServerUnaryReactor* AddNode(grpc::CallbackServerContext* context,
                                    const kamino::v1::AddNodeRequest*,
                                    AdminResponse*) override {
    return Answer(context);
  }

  grpc::ServerUnaryReactor* GetManager(
      grpc::CallbackServerContext* context,
      const kamino::v1::GetManagerRequest*,
      kamino::v1::GetManagerResponse* response) override {
    response->set_manager(address());
    response->set_cluster_id(cluster_id);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    if (refused_looks > 0) {
      --refused_looks;
      reactor->Finish(rpc::ToGrpc(absl::UnavailableError("it starts")));
      return reactor;
    }
    absl::Status said = rpc::MeetCaller(cluster, context);
    // A standby reports an unimplemented call nevertheless.
    if (said.ok() && absl::IsUnimplemented(answer())) said = answer();
    reactor->Finish(rpc::ToGrpc(said));
    return reactor;
  }

  std::atomic<int> asked_{0};
  std::atomic<int64_t> deadline_ns_{0};
  std::unique_ptr<rpc::Server> server_;  // last: it ends first
};

std::function<absl::Status()> Redirect(const std::string& leader) {
  return [leader] { return rpc::NotLeader(leader); };
}

class AdminTest : public ::testing::Test {
 protected:
  // Calls the first two managers, the only ones that know the third.
  absl::Status Remove(absl::Duration timeout = Patience(absl::Seconds(20))) {
    kamino::v1::RemoveNodeRequest request;
    request.set_node_id("n1");
    return Admin({first_.address(), second_.address()}, timeout)
        .RemoveNode(request);
  }

  Manager first_, second_, leader_;
};

TEST_F(AdminTest, FollowsARedirectToTheLeader) {
  first_.answer = Redirect(leader_.address());
  EXPECT_EQ(Remove(), absl::OkStatus());
  EXPECT_EQ(first_.asked(), 1);
  EXPECT_EQ(second_.asked(), 0);
  EXPECT_EQ(leader_.asked(), 1);
}

TEST_F(AdminTest, AsksTheNextManagerWhenTheLeaderIsUnknown) {
  first_.answer = Redirect("");
  EXPECT_EQ(Remove(), absl::OkStatus());
  EXPECT_EQ(second_.asked(), 1);
}

// A manager on a slow machine may need longer than the first call lasts.
TEST_F(AdminTest, ASlowManagerGetsALongerDeadline) {
  first_.answers = 1;
  second_.answers = 0;
  EXPECT_EQ(Remove(), absl::OkStatus());
  const absl::Duration usual = first_.deadline();
  EXPECT_TRUE(absl::IsDeadlineExceeded(Remove(absl::Seconds(3))));
  EXPECT_GT(second_.deadline(), usual + absl::Milliseconds(200));
}

TEST_F(AdminTest, ManagersThatNameEachOtherAreAskedWithPauses) {
  first_.answer = Redirect(second_.address());
  second_.answer = Redirect(first_.address());
  const absl::Status never = Remove(absl::Seconds(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(never));
  EXPECT_NE(never.message().find("does not lead"), std::string::npos) << never;
  // Two calls for each pause of at least 50 ms.
  EXPECT_LE(first_.asked() + second_.asked(), 40);
}

TEST_F(AdminTest, ManagersThatNameEachOtherAreAskedUntilOneLeads) {
  first_.answer = Redirect(second_.address());
  second_.answer = [this] {
    return second_.asked() < 3 ? rpc::NotLeader(first_.address())
                               : absl::OkStatus();
  };
  EXPECT_EQ(Remove(), absl::OkStatus());
  EXPECT_EQ(second_.asked(), 3);
}

TEST_F(AdminTest, ATimeoutDuringACallKeepsTheLastError) {
  first_.answer = [] { return absl::UnavailableError("etcd is away"); };
  kamino::v1::RemoveNodeRequest request;
  absl::Status never;
  // Repeats where the deadline comes before the second call, on a busy machine.
  do {
    first_.answers = first_.asked() + 1;
    never =
        Admin({first_.address()}, absl::Milliseconds(900)).RemoveNode(request);
  } while (first_.asked() == first_.answers);
  EXPECT_TRUE(absl::IsDeadlineExceeded(never));
  EXPECT_EQ(never.message(),
            absl::StrCat("no manager that leads has answered; last heard of ",
                         first_.address(), ": etcd is away"));
  EXPECT_EQ(first_.asked(), first_.answers + 1);
}

TEST_F(AdminTest, ASilentManagerIsNamedInTheError) {
  first_.answers = 0;
  kamino::v1::RemoveNodeRequest request;
  const absl::Status never =
      Admin({first_.address()}, absl::Milliseconds(100)).RemoveNode(request);
  EXPECT_NE(never.message().find(first_.address()), std::string::npos) << never;
}

TEST_F(AdminTest, TheLeadersRefusalIsFinal) {
  first_.answer = [] { return absl::FailedPreconditionError("the last copy"); };
  EXPECT_EQ(Remove(), absl::FailedPreconditionError("the last copy"));
  EXPECT_EQ(first_.asked(), 1);
}

TEST_F(AdminTest, AServerThatIsNoManagerIsNamedInTheError) {
  first_.answer = [] { return absl::UnimplementedError(""); };
  const absl::Status none = Remove();
  EXPECT_TRUE(absl::IsInvalidArgument(none));
  EXPECT_EQ(none.message().find(first_.address() + " answers, but is no"), 0u)
      << none;
  EXPECT_EQ(first_.asked(), 1);
}

TEST_F(AdminTest, GetManagersReturnsEachManagerThatAnswers) {
  second_.answer = [] { return absl::UnimplementedError("an older one"); };
  Admin admin({first_.address(), second_.address(), leader_.address()},
              Patience(absl::Seconds(20)));
  const auto managers = admin.GetManagers();
  ASSERT_EQ(managers.size(), 2u);
  EXPECT_EQ(managers[0].manager(), first_.address());
  EXPECT_EQ(managers[1].manager(), leader_.address());
}

TEST_F(AdminTest, ManagersOfTwoClustersAreRefusedByName) {
  first_.cluster.Set("alpha", std::string(32, 'a'));
  second_.cluster.Set("alpha", std::string(32, 'b'));
  const absl::Status refused = Remove();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_TRUE(rpc::IsOtherCluster(refused));
  for (const std::string& part : {first_.address() + " is of alpha (uuid aaaa",
                                  second_.address() + " of alpha (uuid bbbb"}) {
    EXPECT_TRUE(absl::StrContains(refused.message(), part)) << refused;
  }
  EXPECT_EQ(first_.asked() + second_.asked() + leader_.asked(), 0)
      << "the first one that answers is not asked to do it";
}

// The first look finds no manager; the second one precedes the call that would
// be carried out.
TEST_F(AdminTest, SilentManagersAreComparedBeforeTheCall) {
  first_.cluster.Set("alpha", std::string(32, 'a'));
  second_.cluster.Set("alpha", std::string(32, 'b'));
  first_.refused_looks = second_.refused_looks = 1;
  first_.answer = [] { return absl::UnavailableError("it starts"); };
  const absl::Status refused = Remove();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_TRUE(rpc::IsOtherCluster(refused));
  EXPECT_EQ(first_.asked(), 1);
  EXPECT_EQ(second_.asked(), 0) << "it would have carried the call out";
}

// Its address was that of the leader, which lost leadership: the client asks
// the next manager.
TEST_F(AdminTest, ALeaderOfAnotherClusterIsNotFollowed) {
  first_.cluster.Set("alpha", std::string(32, 'a'));
  leader_.cluster.Set("beta", std::string(32, 'b'));
  first_.answer = Redirect(leader_.address());
  EXPECT_EQ(Remove(), absl::OkStatus());
  EXPECT_EQ(second_.asked(), 1);
}

// The client asks the managers for the seeds' cluster.
class SeedsClusterTest : public AdminTest {
 protected:
  SeedsClusterTest() {
    auto seeds = std::make_shared<rpc::ClusterIdentity>();
    seeds->Set("alpha", std::string(32, 'a'));
    admin_ = std::make_unique<Admin>(
        std::vector<std::string>{first_.address(), second_.address()},
        Patience(absl::Seconds(20)), /*credentials=*/nullptr, seeds);
    first_.cluster.Set("alpha", std::string(32, 'a'));
    second_.cluster.Set("alpha", std::string(32, 'a'));
  }
  void ExpectError(const absl::Status& error, const Manager& other) {
    EXPECT_TRUE(absl::IsInvalidArgument(error)) << error;
    EXPECT_TRUE(rpc::IsOtherCluster(error)) << error;
    for (const std::string& part :
         {std::string("the seeds are of alpha (uuid aaaa"),
          absl::StrCat("the manager ", other.address(),
                       " is of the cluster of uuid bbbb")}) {
      EXPECT_TRUE(absl::StrContains(error.message(), part)) << error;
    }
  }

  std::unique_ptr<Admin> admin_;
};

TEST_F(SeedsClusterTest, ManagersOfTheSeedsClusterAreAsked) {
  EXPECT_TRUE(admin_->GetCluster().ok());
}

TEST_F(SeedsClusterTest, AManagerOfAnotherClusterIsRefusedByName) {
  second_.cluster.Set("alpha", std::string(32, 'b'));
  ExpectError(admin_->GetCluster().status(), second_);
  EXPECT_EQ(first_.asked() + second_.asked(), 0);
}

// A manager before its first view knows the name of its cluster alone.
TEST_F(SeedsClusterTest, AManagerWithAnotherClusterNameIsRefused) {
  auto seeds = std::make_shared<rpc::ClusterIdentity>();
  seeds->Set("alpha", std::string(32, 'a'));
  Manager manager;
  manager.cluster_id = "beta";
  const absl::Status error =
      Admin({manager.address()}, Patience(absl::Seconds(20)),
            /*credentials=*/nullptr, seeds)
          .GetCluster()
          .status();
  EXPECT_TRUE(absl::IsInvalidArgument(error)) << error;
  EXPECT_TRUE(absl::StrContains(error.message(), " is of the cluster of beta;"))
      << error;
  EXPECT_EQ(manager.asked(), 0);
}

// It does not answer the look at all managers.
TEST_F(SeedsClusterTest, ALateManagerOfAnotherClusterIsRefused) {
  first_.cluster.Set("alpha", std::string(32, 'b'));
  first_.refused_looks = 1;
  ExpectError(admin_->GetCluster().status(), first_);
}

TEST_F(AdminTest, PlantedFaultsAreDetected) {
  faults::PlantFault("admin-ignores-the-leader-that-is-named");
  first_.answer = Redirect(leader_.address());
  EXPECT_EQ(Remove(), absl::OkStatus());
  EXPECT_EQ(leader_.asked(), 0);
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("admin-follows-without-end");
  first_.answer = Redirect(second_.address());
  // With pauses that would take 50 s.
  second_.answer = [this] {
    return second_.asked() < 200 ? rpc::NotLeader(first_.address())
                                 : absl::OkStatus();
  };
  EXPECT_EQ(Remove(absl::Seconds(40)), absl::OkStatus());
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

}  // namespace
}  // namespace kamino::client
