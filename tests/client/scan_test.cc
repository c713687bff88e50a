// Scans of a client whose node stops in the middle, is slow, or sends nothing.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/client.h"
#include "client/error.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/credentials.h"
#include "rpc/status.h"

namespace kamino::client {
namespace {

using ::testing::HasSubstr;

class Server {
 public:
  explicit Server(grpc::Service* service) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port_);
    builder.RegisterService(service);
    server_ = builder.BuildAndStart();
  }
  ~Server() { server_->Shutdown(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// A chain of one node.
kamino::v1::Chain ChainOf(const std::string& address) {
  kamino::v1::Chain chain;
  chain.set_cluster_id("c");
  chain.set_chain_id(1);
  chain.set_view_id(1);
  chain.add_nodes()->set_address(address);
  return chain;
}

// The only node of a chain. A scan gets the keys from the requested one on, one
// in each part, until the node stops answering.
class StoppingNode final : public kamino::v1::KaminoService::CallbackService {
 public:
  // Answers that many parts in all, then nothing; or fails with that code, up
  // to that attempt, which ends the scan.
  explicit StoppingNode(int parts, size_t last_attempt = 0,
                        grpc::StatusCode code = grpc::StatusCode::UNAVAILABLE)
      : last_attempt_(last_attempt), code_(code), left_(parts), server_(this) {}

  std::string address() const { return server_.address(); }
  // The deadline of each attempt.
  std::vector<absl::Duration> attempts() {
    absl::MutexLock lock(&mutex_);
    return attempts_;
  }
  std::vector<std::string> starts() {
    absl::MutexLock lock(&mutex_);
    return starts_;
  }

  grpc::ServerUnaryReactor* GetChain(
      grpc::CallbackServerContext* context, const kamino::v1::GetChainRequest*,
      kamino::v1::GetChainResponse* response) override {
    *response->mutable_chain() = ChainOf(address());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerWriteReactor<kamino::v1::ScanResponse>* Scan(
      grpc::CallbackServerContext* context,
      const kamino::v1::ScanRequest* request) override {
    {
      absl::MutexLock lock(&mutex_);
      attempts_.push_back(absl::FromChrono(context->deadline() -
                                           std::chrono::system_clock::now()));
      starts_.push_back(request->start_key());
    }
    auto* const stream = new Stream(this);
    stream->WriteNext();
    return stream;
  }

 private:
  class Stream final
      : public grpc::ServerWriteReactor<kamino::v1::ScanResponse> {
   public:
    explicit Stream(StoppingNode* node) : node_(node) {}
    void WriteNext() {
      if (node_->TakePart(&part_)) return StartWrite(&part_);
      if (node_->last_attempt_ == 0) return;
      Finish(node_->attempts().size() < node_->last_attempt_
                 ? grpc::Status(node_->code_, "not now")
                 : grpc::Status::OK);
    }
    void OnWriteDone(bool ok) override {
      if (ok) WriteNext();
    }
    void OnCancel() override {
      if (node_->last_attempt_ == 0) Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    StoppingNode* const node_;
    kamino::v1::ScanResponse part_;
  };

  bool TakePart(kamino::v1::ScanResponse* part) {
    absl::MutexLock lock(&mutex_);
    if (left_ == 0) return false;
    part->clear_results();
    part->add_results()->set_key(absl::StrCat("k", left_--));
    return true;
  }

  const size_t last_attempt_;
  const grpc::StatusCode code_;
  absl::Mutex mutex_;
  int left_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::Duration> attempts_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> starts_ ABSL_GUARDED_BY(mutex_);
  Server server_;
};

// Its scans have endless parts without objects.
class EmptyPartsNode final : public kamino::v1::KaminoService::CallbackService {
 public:
  EmptyPartsNode() : server_(this) {}

  std::string address() const { return server_.address(); }

  grpc::ServerUnaryReactor* GetChain(
      grpc::CallbackServerContext* context, const kamino::v1::GetChainRequest*,
      kamino::v1::GetChainResponse* response) override {
    *response->mutable_chain() = ChainOf(address());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerWriteReactor<kamino::v1::ScanResponse>* Scan(
      grpc::CallbackServerContext*, const kamino::v1::ScanRequest*) override {
    auto* const stream = new Stream;
    stream->WriteNext();
    return stream;
  }

 private:
  class Stream final
      : public grpc::ServerWriteReactor<kamino::v1::ScanResponse> {
   public:
    void WriteNext() { StartWrite(&part_); }
    void OnWriteDone(bool ok) override {
      if (ok) return WriteNext();
      Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    const kamino::v1::ScanResponse part_;
  };

  Server server_;
};

// Names its chain once; then another cluster takes its address, and no node
// answers questions for the chain.
class LostNode final : public kamino::v1::KaminoService::CallbackService {
 public:
  LostNode() : server_(this) {}

  std::string address() const { return server_.address(); }
  int questions() {
    absl::MutexLock lock(&mutex_);
    return questions_;
  }

  grpc::ServerUnaryReactor* GetChain(
      grpc::CallbackServerContext* context, const kamino::v1::GetChainRequest*,
      kamino::v1::GetChainResponse* response) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    absl::MutexLock lock(&mutex_);
    if (++questions_ > 1) {
      reactor->Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "not now"));
      return reactor;
    }
    *response->mutable_chain() = ChainOf(address());
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerWriteReactor<kamino::v1::ScanResponse>* Scan(
      grpc::CallbackServerContext*, const kamino::v1::ScanRequest*) override {
    class Refusal final
        : public grpc::ServerWriteReactor<kamino::v1::ScanResponse> {
     public:
      Refusal() {
        Finish(rpc::ToGrpc(MakeError(absl::StatusCode::kFailedPrecondition,
                                     kamino::v1::REASON_OTHER_CLUSTER,
                                     "of another cluster")));
      }
      void OnDone() override { delete this; }
    };
    return new Refusal;
  }

 private:
  absl::Mutex mutex_;
  int questions_ ABSL_GUARDED_BY(mutex_) = 0;
  Server server_;
};

template <typename Node>
std::unique_ptr<Client> ClientOf(const Node& node, absl::Duration timeout) {
  ClientOptions options;
  options.seeds = {node.address()};
  options.timeout = timeout;
  auto client = Client::Connect(std::move(options));
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

TEST(ScanTest, AScanTimesOutWhenTheNodeStops) {
  StoppingNode node(/*parts=*/2);
  const auto client = ClientOf(node, absl::Milliseconds(500));
  int objects = 0;
  const absl::Status scanned =
      client->Scan(kamino::v1::ScanRequest(), [&](const auto&, const auto&) {
        ++objects;
        return true;
      });
  EXPECT_EQ(objects, 2);
  EXPECT_EQ(scanned.code(), absl::StatusCode::kDeadlineExceeded) << scanned;
  EXPECT_THAT(std::string(scanned.message()),
              HasSubstr("no part within 500ms, after 2 parts"));
}

// The client asks again from the last key on, with ever longer deadlines.
TEST(ScanTest, AMissingPartIsRetriedWithMoreTime) {
  StoppingNode node(/*parts=*/1, /*last_attempt=*/5);
  const auto client = ClientOf(node, absl::Seconds(60));
  const absl::Status scanned = client->Scan(
      kamino::v1::ScanRequest(), [](const auto&, const auto&) { return true; });
  EXPECT_EQ(scanned, absl::OkStatus());
  const std::vector<absl::Duration> attempts = node.attempts();
  const std::vector<std::string> starts = node.starts();
  ASSERT_EQ(attempts.size(), 5u);
  EXPECT_EQ(starts[0], "");
  EXPECT_EQ(starts[1], absl::StrCat("k1", std::string(1, '\0')));
  EXPECT_GT(attempts[2], attempts[1] + absl::Seconds(1));
  EXPECT_GT(attempts[3], attempts[2] + absl::Seconds(2));
}

// A node ends a call so when its parts are not taken for long.
TEST(ScanTest, ContinuesAfterTheLastReceivedPart) {
  StoppingNode node(/*parts=*/2, /*last_attempt=*/2,
                    grpc::StatusCode::RESOURCE_EXHAUSTED);
  const auto client = ClientOf(node, absl::Seconds(60));
  int objects = 0;
  const absl::Status scanned =
      client->Scan(kamino::v1::ScanRequest(), [&](const auto&, const auto&) {
        ++objects;
        return true;
      });
  EXPECT_EQ(scanned, absl::OkStatus());
  EXPECT_EQ(objects, 2);
  EXPECT_EQ(node.starts().back(), absl::StrCat("k1", std::string(1, '\0')));
}

// For example, when a part is too large for gRPC.
TEST(ScanTest, EndsWhenNoPartCanBeSent) {
  StoppingNode node(/*parts=*/0, /*last_attempt=*/2,
                    grpc::StatusCode::RESOURCE_EXHAUSTED);
  const auto client = ClientOf(node, absl::Seconds(60));
  const absl::Status scanned = client->Scan(
      kamino::v1::ScanRequest(), [](const auto&, const auto&) { return true; });
  EXPECT_EQ(scanned.code(), absl::StatusCode::kResourceExhausted) << scanned;
  EXPECT_EQ(node.attempts().size(), 1u);
}

TEST(ScanTest, AScanTimesOutWhenPartsHaveNoObjects) {
  const EmptyPartsNode node;
  const auto client = ClientOf(node, absl::Milliseconds(500));
  const absl::Status scanned = client->Scan(
      kamino::v1::ScanRequest(), [](const auto&, const auto&) { return true; });
  EXPECT_EQ(scanned.code(), absl::StatusCode::kDeadlineExceeded) << scanned;
}

TEST(ScanTest, AScanWithoutANodePausesBetweenQuestions) {
  LostNode node;
  const auto client = ClientOf(node, absl::Seconds(1));
  const absl::Status scanned = client->Scan(
      kamino::v1::ScanRequest(), [](const auto&, const auto&) { return true; });
  EXPECT_EQ(scanned.code(), absl::StatusCode::kDeadlineExceeded) << scanned;
  EXPECT_THAT(std::string(scanned.message()), HasSubstr("of another cluster"));
  // One each 50 ms at most, besides those of Connect and of the refusal.
  EXPECT_LE(node.questions(), 25);
}

}  // namespace
}  // namespace kamino::client
