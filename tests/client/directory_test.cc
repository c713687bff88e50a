// The client's way to the chain, past silent nodes, and past nodes of other
// clusters.
#include "client/directory.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "client/chain_finder.h"
#include "client/error.h"
#include "client/stubs.h"
#include "client/timer.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/cluster_calls.h"
#include "rpc/credentials.h"
#include "rpc/server.h"
#include "rpc/status.h"
#include "tests/patience.h"

namespace kamino::client {
namespace {

// Answers a question once the caller no longer waits.
class Silent final : public kamino::v1::KaminoService::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetChain(grpc::CallbackServerContext*,
                                     const kamino::v1::GetChainRequest*,
                                     kamino::v1::GetChainResponse*) override {
    class Question final : public grpc::ServerUnaryReactor {
      void OnCancel() override { Finish(grpc::Status::CANCELLED); }
      void OnDone() override { delete this; }
    };
    if (++questions_ == 1) asked_.Notify();
    return new Question;
  }

  absl::Notification& asked() { return asked_; }
  int questions() const { return questions_; }

 private:
  absl::Notification asked_;
  std::atomic<int> questions_{0};
};

// Answers at once.
class Quick final : public kamino::v1::KaminoService::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetChain(
      grpc::CallbackServerContext* context, const kamino::v1::GetChainRequest*,
      kamino::v1::GetChainResponse* response) override {
    response->mutable_chain()->set_cluster_id("c");
    response->mutable_chain()->set_chain_id(1);
    response->mutable_chain()->set_view_id(1);
    response->mutable_chain()->add_nodes()->set_address("127.0.0.1:1");
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

// A node's public API on a port of its own.
class Served {
 public:
  explicit Served(grpc::Service* service) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port_);
    builder.RegisterService(service);
    server_ = builder.BuildAndStart();
  }
  ~Served() { server_->Shutdown(); }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// A directory and its finder, as a client has them.
struct Way {
  using Connect = Stubs<kamino::v1::KaminoService>::Connect;

  explicit Way(std::vector<std::string> seeds, Timer* timer = nullptr,
               Connect connect = nullptr)
      : directory({std::move(seeds), /*chain_id=*/0, /*credentials=*/nullptr,
                   std::move(connect)},
                  timer),
        finder(&directory, timer, /*question_timeout=*/absl::Hours(1)) {}

  Directory directory;
  ChainFinder finder;
};

TEST(DirectoryTest, ItsEndDoesNotWaitForASilentNode) {
  Silent silent;
  const Served served(&silent);
  auto way = std::make_unique<Way>(std::vector<std::string>{served.address()});
  absl::Status told;
  way->finder.Refresh(
      [&told, asked = &way->finder] { told = asked->last_error(); });
  silent.asked().WaitForNotification();
  way.reset();
  // Not kDeadlineExceeded, which a channel's own limits cause in the end.
  EXPECT_EQ(told.code(), absl::StatusCode::kCancelled) << told;
}

// The second node answers each round, so that rounds follow one another; the
// first one still has the question of the first round.
TEST(DirectoryTest, ASilentNodeIsNotAskedAgain) {
  Silent silent;
  Quick quick;
  const Served silent_served(&silent);
  const Served quick_served(&quick);
  Way way({silent_served.address(), quick_served.address()});
  for (int round = 0; round < 20; ++round) {
    absl::Notification told;
    way.finder.Refresh([&told] { told.Notify(); });
    told.WaitForNotification();
  }
  silent.asked().WaitForNotification();
  EXPECT_EQ(silent.questions(), 1);
  EXPECT_EQ(way.directory.view_id(), 1u);
}

// A round ends before its questions do, and tells which node is silent.
TEST(DirectoryTest, ARoundDoesNotWaitForASilentNode) {
  Silent silent;
  const Served served(&silent);
  auto timer = std::make_unique<Timer>();
  Way way({served.address()}, timer.get());
  absl::Notification told;
  way.finder.Refresh([&told] { told.Notify(); });
  silent.asked().WaitForNotification();
  timer->Hurry();
  told.WaitForNotification();
  EXPECT_EQ(way.finder.last_error().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(way.finder.last_error().message()),
              ::testing::HasSubstr(served.address()));
  timer.reset();
}

constexpr char kAlpha[] = "00112233445566778899aabbccddeeff";
constexpr char kBeta[] = "ffeeddccbbaa99887766554433221100";

// Answers with its chain, as a node of some cluster.
class Seed final : public kamino::v1::KaminoService::CallbackService {
 public:
  Seed() {
    rpc::ServerOptions options;
    options.listen = "127.0.0.1:0";
    server_ = *rpc::Server::Start(options, {this});
  }
  std::string address() const {
    return absl::StrCat("127.0.0.1:", server_->port());
  }
  // From now on this is a node of a chain of these, head first.
  void Become(const std::string& cluster_id, const std::string& uuid,
              uint64_t view_id, const std::vector<std::string>& nodes) {
    absl::MutexLock lock(&mutex_);
    cluster_.Set(cluster_id, uuid);
    chain_.Clear();
    chain_.set_cluster_id(cluster_id);
    chain_.set_cluster_uuid(uuid);
    chain_.set_chain_id(1);
    chain_.set_view_id(view_id);
    for (const std::string& node : nodes) chain_.add_nodes()->set_address(node);
  }

  // The next question fails as at an address without a server.
  void FailNext() {
    absl::MutexLock lock(&mutex_);
    fails_ = true;
  }
  bool AwaitQuestions(int count) {
    absl::MutexLock lock(&mutex_);
    const auto asked = [this, count]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return questions_ >= count;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&asked),
                                   Patience(absl::Seconds(30)));
  }

  // The next question is answered by Release.
  void Hold() {
    absl::MutexLock lock(&mutex_);
    holds_ = true;
  }
  void Release() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](grpc::ServerUnaryReactor** held) { return *held != nullptr; },
        &held_));
    std::exchange(held_, nullptr)->Finish(grpc::Status::OK);
  }

 private:
  grpc::ServerUnaryReactor* GetChain(
      grpc::CallbackServerContext* context, const kamino::v1::GetChainRequest*,
      kamino::v1::GetChainResponse* response) override {
    auto* const reactor = context->DefaultReactor();
    absl::MutexLock lock(&mutex_);
    ++questions_;
    if (std::exchange(fails_, false)) {
      reactor->Finish(rpc::ToGrpc(absl::UnavailableError("no connection")));
      return reactor;
    }
    const absl::Status met = rpc::MeetCaller(cluster_, context);
    *response->mutable_chain() = chain_;
    if (std::exchange(holds_, false)) {
      held_ = reactor;
    } else {
      reactor->Finish(rpc::ToGrpc(met));
    }
    return reactor;
  }

  absl::Mutex mutex_;
  int questions_ ABSL_GUARDED_BY(mutex_) = 0;
  bool fails_ ABSL_GUARDED_BY(mutex_) = false;
  bool holds_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ServerUnaryReactor* held_ ABSL_GUARDED_BY(mutex_) = nullptr;
  kamino::v1::Chain chain_ ABSL_GUARDED_BY(mutex_);
  rpc::ClusterIdentity cluster_;
  std::unique_ptr<rpc::Server> server_;
};

class ClustersTest : public ::testing::Test {
 protected:
  void Make(std::vector<std::string> seeds, Timer* timer = nullptr,
            Way::Connect connect = nullptr) {
    way_.emplace(std::move(seeds), timer, std::move(connect));
    directory_ = &way_->directory;
    finder_ = &way_->finder;
  }
  void Refresh() {
    absl::Notification told;
    finder_->Refresh([&told] { told.Notify(); });
    told.WaitForNotification();
  }
  // Until the head is at `address`: a round ends with the first answer, and
  // others may come later.
  void RefreshUntilHeadIs(const std::string& address) {
    do {
      Refresh();
    } while (Head() != address);
  }
  std::string Head() { return directory_->AddressOf(Target::kHead); }
  static absl::Status OtherCluster() { return rpc::OtherCluster("another"); }

  Seed one_, two_;
  std::optional<Way> way_;
  Directory* directory_ = nullptr;  // of way_, as is the finder
  ChainFinder* finder_ = nullptr;
};

TEST_F(ClustersTest, TheFirstClusterIsPinned) {
  one_.Become("alpha", kAlpha, 1, {one_.address(), two_.address()});
  two_.Become("alpha", kAlpha, 1, {one_.address(), two_.address()});
  Make({one_.address(), two_.address()});
  EXPECT_EQ(directory_->cluster()->uuid(), "");
  Refresh();
  EXPECT_EQ(directory_->cluster()->uuid(), kAlpha);
  EXPECT_EQ(Head(), one_.address());
}

TEST_F(ClustersTest, SeedsOfTwoClustersAreRefusedByName) {
  one_.Become("alpha", kAlpha, 1, {one_.address()});
  two_.Become("beta", kBeta, 7, {two_.address()});
  Make({one_.address(), two_.address()});
  Refresh();
  EXPECT_EQ(Head(), "");
  const absl::Status error = finder_->last_error();
  EXPECT_TRUE(absl::IsInvalidArgument(error)) << error;
  EXPECT_EQ(ReasonOf(error), kamino::v1::REASON_OTHER_CLUSTER);
  for (const std::string& part :
       {one_.address(), two_.address(), std::string("of alpha (uuid 0011"),
        std::string("of beta (uuid ffee")}) {
    EXPECT_TRUE(absl::StrContains(error.message(), part)) << error;
  }
  EXPECT_EQ(directory_->seeds_error(), error);
  EXPECT_TRUE(directory_->chain().nodes().empty());
}

TEST_F(ClustersTest, SeedsOfTwoClustersWithOneNameAreRefused) {
  one_.Become("alpha", kAlpha, 1, {one_.address()});
  two_.Become("alpha", kBeta, 1, {two_.address()});
  Make({one_.address(), two_.address()});
  Refresh();
  EXPECT_EQ(Head(), "");
  EXPECT_EQ(ReasonOf(finder_->last_error()), kamino::v1::REASON_OTHER_CLUSTER);
}

// The round ends before the second seed answers.
TEST_F(ClustersTest, ALateSeedOfAnotherClusterIsAnError) {
  one_.Become("beta", kBeta, 7, {one_.address()});
  two_.Become("alpha", kAlpha, 1, {two_.address()});
  two_.Hold();
  Timer timer;
  Make({one_.address(), two_.address()}, &timer);
  RefreshUntilHeadIs(one_.address());
  EXPECT_TRUE(directory_->seeds_error().ok());
  two_.Release();
  while (directory_->seeds_error().ok()) Refresh();
  const absl::Status error = finder_->last_error();
  EXPECT_TRUE(absl::IsInvalidArgument(error)) << error;
  EXPECT_EQ(ReasonOf(error), kamino::v1::REASON_OTHER_CLUSTER);
  for (const std::string& part : {two_.address(), std::string("uuid 0011"),
                                  std::string("beta (uuid ffee")}) {
    EXPECT_TRUE(absl::StrContains(error.message(), part)) << error;
  }
  EXPECT_EQ(Head(), "") << "the client cannot tell which one is meant";
  EXPECT_EQ(directory_->ReplicaAt(0).address, "");
  Refresh();
  EXPECT_EQ(Head(), "");
}

// A node moves, its name follows, and a node of another cluster takes its
// former address: a connection to that one is useless.
TEST_F(ClustersTest, AMovedNameIsLookedUpAgain) {
  const std::string name = "node.test:1";
  const Seed* leads_to = &one_;
  absl::Mutex mutex;
  one_.Become("alpha", kAlpha, 1, {name});
  Timer timer;
  Make({name}, &timer, [&](const std::string&) {
    absl::MutexLock lock(&mutex);
    return rpc::MakeChannel(leads_to->address());
  });
  RefreshUntilHeadIs(name);
  one_.Become("alpha", kBeta, 1, {name});
  two_.Become("alpha", kAlpha, 2, {name});
  {
    absl::MutexLock lock(&mutex);
    leads_to = &two_;
  }
  while (directory_->view_id() != 2) Refresh();
  EXPECT_EQ(Head(), name);
  EXPECT_TRUE(finder_->Stop(absl::InfiniteDuration()));
  way_.reset();
}

// It is unreachable while the client connects to its cluster, and no call asks
// for the chain afterwards.
TEST_F(ClustersTest, ASilentSeedIsAskedUntilItAnswers) {
  one_.Become("alpha", kAlpha, 1, {one_.address()});
  two_.Become("alpha", kBeta, 1, {two_.address()});
  two_.FailNext();
  auto timer = std::make_unique<Timer>();
  Make({one_.address(), two_.address()}, timer.get());
  RefreshUntilHeadIs(one_.address());
  EXPECT_TRUE(two_.AwaitQuestions(2)) << "it was not asked again";
  while (directory_->seeds_error().ok()) Refresh();
  const absl::Status error = directory_->seeds_error();
  for (const std::string& part :
       {two_.address(), std::string("uuid ffee"), std::string("uuid 0011")}) {
    EXPECT_TRUE(absl::StrContains(error.message(), part)) << error;
  }
  EXPECT_EQ(Head(), "");
  EXPECT_TRUE(finder_->Stop(absl::InfiniteDuration()));
  timer.reset();
}

// Neither its end nor the timer's waits for a question or a pause.
TEST_F(ClustersTest, ASilentSeedDelaysNoStop) {
  one_.Become("alpha", kAlpha, 1, {one_.address()});
  Silent silent;
  const Served served(&silent);
  auto timer = std::make_unique<Timer>();
  Make({one_.address(), served.address()}, timer.get());
  RefreshUntilHeadIs(one_.address());
  EXPECT_TRUE(finder_->Stop(absl::InfiniteDuration()));
  timer.reset();
  way_.reset();
}

// No question of the first rounds reaches it.
TEST_F(ClustersTest, ASeedThatChangesItsClusterLaterIsNoError) {
  one_.Become("alpha", kAlpha, 1, {one_.address()});
  two_.Become("alpha", kAlpha, 1, {one_.address()});
  Make({one_.address(), two_.address()});
  RefreshUntilHeadIs(one_.address());
  two_.Become("beta", kBeta, 9, {two_.address()});
  one_.Become("alpha", kAlpha, 2, {"127.0.0.1:1", two_.address()});
  RefreshUntilHeadIs("127.0.0.1:1");
  while (directory_->AddressOf(Target::kTail) != "") Refresh();
  EXPECT_TRUE(directory_->seeds_error().ok());
  EXPECT_EQ(Head(), "127.0.0.1:1");
}

TEST_F(ClustersTest, ReadsSkipReplicasOfAnotherCluster) {
  const std::string third = "127.0.0.1:1";
  one_.Become("alpha", kAlpha, 1, {"127.0.0.1:2", two_.address(), third});
  Make({one_.address()});
  Refresh();
  EXPECT_EQ(directory_->ReplicaAt(0).address, two_.address());
  EXPECT_EQ(directory_->ReplicaAt(1).address, third);
  directory_->OnRefused(two_.address(), OtherCluster());
  for (uint64_t turn = 0; turn < 4; ++turn) {
    EXPECT_EQ(directory_->ReplicaAt(turn).address, third);
    EXPECT_TRUE(directory_->ReplicaAt(turn).is_tail);
  }
  directory_->OnRefused(third, OtherCluster());
  EXPECT_EQ(directory_->ReplicaAt(0).address, "");
}

TEST_F(ClustersTest, NodesWithoutUuidsAreComparedByClusterName) {
  one_.Become("alpha", "", 1, {one_.address()});
  two_.Become("beta", "", 7, {two_.address()});
  Make({one_.address(), two_.address()});
  Refresh();
  EXPECT_EQ(Head(), "");
  EXPECT_FALSE(directory_->seeds_error().ok());
}

TEST_F(ClustersTest, SeedsWithAndWithoutUuidAreOneCluster) {
  one_.Become("alpha", "", 1, {one_.address()});
  two_.Become("alpha", kAlpha, 2, {two_.address()});
  Make({one_.address(), two_.address()});
  RefreshUntilHeadIs(two_.address());
  EXPECT_EQ(directory_->cluster()->uuid(), kAlpha);
}

TEST_F(ClustersTest, AViewOfAnotherClusterIsIgnored) {
  one_.Become("alpha", kAlpha, 3, {one_.address()});
  Make({one_.address()});
  Refresh();
  kamino::v1::Chain other = directory_->chain();
  other.set_view_id(1000);
  other.set_cluster_uuid(kBeta);
  EXPECT_FALSE(directory_->Learn(other));
  EXPECT_EQ(directory_->view_id(), 3u);
  other.set_cluster_uuid(kAlpha);
  EXPECT_TRUE(directory_->Learn(other));
}

TEST_F(ClustersTest, ANodeOfAnotherClusterGetsNoCallsUntilItReturns) {
  const std::vector<std::string> nodes = {one_.address(), two_.address()};
  one_.Become("alpha", kAlpha, 3, nodes);
  two_.Become("alpha", kAlpha, 3, nodes);
  Make(nodes);
  Refresh();
  ASSERT_EQ(Head(), one_.address());

  one_.Become("beta", kBeta, 9, {one_.address()});
  directory_->OnRefused(one_.address(), OtherCluster());
  EXPECT_EQ(Head(), "") << "no call goes there";
  Refresh();
  EXPECT_EQ(Head(), "") << "the other seed knows of no newer view";
  two_.Become("alpha", kAlpha, 4, {two_.address()});
  RefreshUntilHeadIs(two_.address());

  directory_->OnRefused(two_.address(), OtherCluster());
  EXPECT_EQ(Head(), "");
  RefreshUntilHeadIs(two_.address());
}

TEST_F(ClustersTest, ARefreshFindsAnAddressOfAnotherCluster) {
  const std::vector<std::string> nodes = {one_.address(), two_.address()};
  one_.Become("alpha", kAlpha, 3, nodes);
  two_.Become("alpha", kAlpha, 3, nodes);
  Make(nodes);
  Refresh();
  one_.Become("alpha", kBeta, 9, {one_.address()});
  RefreshUntilHeadIs("");
  EXPECT_EQ(directory_->AddressOf(Target::kTail), two_.address());
}

}  // namespace
}  // namespace kamino::client
