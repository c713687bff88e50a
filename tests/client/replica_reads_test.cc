// The library's reads that any replica may answer, against three nodes in this
// process that answer them, or do not.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "client/client.h"
#include "client/error.h"
#include "gmock/gmock.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/credentials.h"
#include "tests/patience.h"

namespace kamino::client {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

const std::vector<std::string> kNodes = {"n1", "n2", "n3"};  // head to tail

// How replicas behave.
enum class Mode {
  kAnswer,
  kNotClean,   // all objects are being changed
  kOnlyTails,  // of a release without such reads
  kHang,       // until that is over
};

struct Shared {
  absl::Mutex mutex;
  Mode mode ABSL_GUARDED_BY(mutex) = Mode::kAnswer;
  std::map<std::string, int> asked ABSL_GUARDED_BY(mutex);  // by node
  kamino::v1::Chain chain ABSL_GUARDED_BY(mutex);
};

grpc::Status Refusal(grpc::StatusCode code, kamino::v1::Reason reason) {
  kamino::v1::ErrorDetail detail;
  detail.set_reason(reason);
  google::rpc::Status details;
  details.set_code(code);
  details.add_details()->PackFrom(detail);
  return grpc::Status(code, "refused", details.SerializeAsString());
}

// Has the key "key".
class Service final : public kamino::v1::KaminoService::Service {
 public:
  Service(Shared* shared, std::string id)
      : shared_(shared), id_(std::move(id)) {}

  grpc::Status GetChain(grpc::ServerContext*,
                        const kamino::v1::GetChainRequest*,
                        kamino::v1::GetChainResponse* response) override {
    absl::MutexLock lock(&shared_->mutex);
    *response->mutable_chain() = shared_->chain;
    return grpc::Status::OK;
  }

  grpc::Status Get(grpc::ServerContext*, const kamino::v1::GetRequest* request,
                   kamino::v1::GetResponse* response) override {
    grpc::Status may = MayAnswer(request->any_replica());
    if (!may.ok()) return may;
    response->mutable_header()->set_served_by(id_);
    if (request->key() == "key") return grpc::Status::OK;
    return Refusal(grpc::StatusCode::NOT_FOUND,
                   kamino::v1::REASON_KEY_NOT_FOUND);
  }

  grpc::Status BatchGet(grpc::ServerContext*,
                        const kamino::v1::BatchGetRequest* request,
                        kamino::v1::BatchGetResponse* response) override {
    response->mutable_header()->set_served_by(id_);
    return MayAnswer(request->any_replica());
  }

 private:
  grpc::Status MayAnswer(bool any_replica) {
    absl::MutexLock lock(&shared_->mutex);
    ++shared_->asked[id_];
    if (id_ == shared_->chain.nodes().rbegin()->node_id()) {
      return grpc::Status::OK;
    }
    const auto answers = [this]()
                             ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mutex) {
                               return shared_->mode != Mode::kHang;
                             };
    shared_->mutex.Await(absl::Condition(&answers));
    if (!any_replica || shared_->mode == Mode::kOnlyTails) {
      return Refusal(grpc::StatusCode::FAILED_PRECONDITION,
                     kamino::v1::REASON_NOT_TAIL);
    }
    if (shared_->mode == Mode::kAnswer) return grpc::Status::OK;
    return Refusal(grpc::StatusCode::FAILED_PRECONDITION,
                   kamino::v1::REASON_NOT_CLEAN);
  }

  Shared* const shared_;
  const std::string id_;
};

class ReplicaReadsTest : public ::testing::Test {
 protected:
  ReplicaReadsTest() {
    absl::MutexLock lock(&shared_.mutex);
    shared_.chain.set_cluster_id("c");
    shared_.chain.set_chain_id(1);
    shared_.chain.set_view_id(1);
    for (const std::string& id : kNodes) {
      services_.push_back(std::make_unique<Service>(&shared_, id));
      int port = 0;
      grpc::ServerBuilder builder;
      builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port);
      builder.RegisterService(services_.back().get());
      servers_.push_back(builder.BuildAndStart());
      auto* node = shared_.chain.add_nodes();
      node->set_node_id(id);
      node->set_address(absl::StrCat("127.0.0.1:", port));
    }
    seed_ = shared_.chain.nodes(0).address();
  }
  void SetUp() override { Connect(Reads::kAnyReplica); }

  void Connect(Reads reads,
               absl::Duration timeout = Patience(absl::Seconds(10))) {
    ClientOptions options;
    options.timeout = timeout;
    options.seeds = {seed_};
    options.reads = reads;
    options.carrier = "unary";
    auto client = Client::Connect(options);
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = std::move(*client);
  }

  void SetMode(Mode mode) {
    absl::MutexLock lock(&shared_.mutex);
    shared_.mode = mode;
  }

  // The last two nodes of the chain change their places.
  void SwapTails() {
    absl::MutexLock lock(&shared_.mutex);
    shared_.chain.set_view_id(shared_.chain.view_id() + 1);
    shared_.chain.mutable_nodes()->SwapElements(1, 2);
  }

  int asked(const std::string& node) {
    absl::MutexLock lock(&shared_.mutex);
    return shared_.asked[node];
  }

  // Which nodes answer that many reads. No attempt is a retry.
  std::map<std::string, int> Read(int count) {
    std::map<std::string, int> served;
    for (int i = 0; i < count; ++i) {
      auto got = client_->Get("key");
      EXPECT_TRUE(got.ok()) << got.status();
      if (got.ok()) ++served[got->header().served_by()];
    }
    EXPECT_EQ(client_->retries(), 0u);
    return served;
  }

  Shared shared_;
  std::string seed_;
  std::vector<std::unique_ptr<Service>> services_;
  std::vector<std::unique_ptr<grpc::Server>> servers_;
  std::unique_ptr<Client> client_;
};

TEST_F(ReplicaReadsTest, GoToAllNodesButTheHeadInTurn) {
  EXPECT_THAT(Read(10), ElementsAre(Pair("n2", 5), Pair("n3", 5)));
  EXPECT_EQ(client_->replica_reads().answered, 5u);
  EXPECT_EQ(client_->BatchGet({"key"})->header().served_by(), "n2");
  EXPECT_EQ(client_->BatchGet({"key"})->header().served_by(), "n3");
}

TEST_F(ReplicaReadsTest, AReplicaAnswersThatAKeyIsAbsent) {
  EXPECT_EQ(ReasonOf(client_->Get("absent").status()),
            kamino::v1::REASON_KEY_NOT_FOUND);
  EXPECT_EQ(asked("n2"), 1);
  EXPECT_EQ(asked("n3"), 0);
}

TEST_F(ReplicaReadsTest, ReplicasAreAskedOnlyOnRequest) {
  Connect(Reads::kTail);
  EXPECT_THAT(Read(6), ElementsAre(Pair("n3", 6)));
  EXPECT_EQ(asked("n2"), 0);
  // For a single request.
  absl::Notification answered;
  std::string served;
  kamino::v1::GetRequest request;
  request.set_key("key");
  request.set_any_replica(true);
  client_->GetAsync(request, [&](auto got) {
    served = got.ok() ? got->header().served_by() : got.status().ToString();
    answered.Notify();
  });
  answered.WaitForNotification();
  EXPECT_EQ(served, "n2");
}

TEST_F(ReplicaReadsTest, ObjectsThatAreNotCleanMoveReadsToTheTail) {
  SetMode(Mode::kNotClean);
  constexpr int kReads = 400;
  EXPECT_THAT(Read(kReads), ElementsAre(Pair("n3", kReads)));
  EXPECT_GE(asked("n2"), 32);
  EXPECT_LT(asked("n2"), kReads / 2);
  EXPECT_EQ(client_->replica_reads().not_clean,
            static_cast<uint64_t>(asked("n2")));
}

TEST_F(ReplicaReadsTest, AStoppedReplicaCausesNoError) {
  servers_[1]->Shutdown();
  EXPECT_THAT(Read(10), ElementsAre(Pair("n3", 10)));
  EXPECT_GE(client_->replica_reads().failed, 1u);
}

TEST_F(ReplicaReadsTest, AHangingReplicaCausesNoErrorDespiteAShortTimeout) {
  Connect(Reads::kAnyReplica, Patience(absl::Seconds(2)));
  SetMode(Mode::kHang);
  EXPECT_THAT(Read(4), ElementsAre(Pair("n3", 4)));
  EXPECT_GE(client_->replica_reads().failed, 1u);
  SetMode(Mode::kAnswer);
}

TEST_F(ReplicaReadsTest, AReplicaWithoutReplicaReadsCausesNoError) {
  SetMode(Mode::kOnlyTails);
  EXPECT_THAT(Read(10), ElementsAre(Pair("n3", 10)));
  EXPECT_GE(asked("n2"), 1);
}

// The former tail answers as a replica now.
TEST_F(ReplicaReadsTest, AFormerTailIsNotTheLastNodeAsked) {
  SetMode(Mode::kNotClean);
  SwapTails();
  for (int i = 0; i < 10; ++i) {
    const auto got = client_->Get("key");
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->header().served_by(), "n2");
  }
  EXPECT_GE(asked("n3"), 1);
}

}  // namespace
}  // namespace kamino::client
