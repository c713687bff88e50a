// The library's hellos, to a service that rejects them.
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/client.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "kamino/v1/session.grpc.pb.h"
#include "proto/session_frame.h"
#include "rpc/credentials.h"

namespace kamino::client {
namespace {

using kamino::v1::SessionFrame;

// Ends each connection after its hello.
class Sessions final : public kamino::v1::SessionService::Service {
 public:
  grpc::Status Connect(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<SessionFrame, SessionFrame>* stream) override {
    SessionFrame sent;
    if (!stream->Read(&sent)) return grpc::Status::OK;
    const auto frame = session::ParseFrame(sent.frame());
    kamino::v1::SessionHello hello;
    EXPECT_TRUE(frame.ok() && frame->kind == session::FrameKind::kHello);
    EXPECT_TRUE(hello.ParseFromString(std::string(frame->parts)));
    if (!hello.has_session()) return grpc::Status::OK;
    EXPECT_EQ(hello.session().epoch(), 0u);
    {
      absl::MutexLock lock(&mutex_);
      ++hellos_;
      ids_.insert(hello.session().id());
      if (!holds_) return grpc::Status::OK;
    }
    // Until the client gives up.
    while (stream->Read(&sent)) {
    }
    absl::MutexLock lock(&mutex_);
    ++given_up_;
    return grpc::Status::OK;
  }

  grpc::Status GetCarriers(grpc::ServerContext*,
                           const kamino::v1::GetCarriersRequest*,
                           kamino::v1::GetCarriersResponse*) override {
    return grpc::Status::OK;  // none but this
  }

  // From now on hellos are not answered.
  void Hold() {
    absl::MutexLock lock(&mutex_);
    holds_ = true;
  }
  int given_up() {
    absl::MutexLock lock(&mutex_);
    return given_up_;
  }
  int hellos() {
    absl::MutexLock lock(&mutex_);
    return hellos_;
  }
  size_t ids() {
    absl::MutexLock lock(&mutex_);
    return ids_.size();
  }

 private:
  absl::Mutex mutex_;
  bool holds_ ABSL_GUARDED_BY(mutex_) = false;
  int hellos_ ABSL_GUARDED_BY(mutex_) = 0;
  int given_up_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<uint64_t> ids_ ABSL_GUARDED_BY(mutex_);
};

class Objects final : public kamino::v1::KaminoService::Service {
 public:
  explicit Objects(const int* port) : port_(port) {}

  grpc::Status GetChain(grpc::ServerContext*,
                        const kamino::v1::GetChainRequest*,
                        kamino::v1::GetChainResponse* response) override {
    auto* const chain = response->mutable_chain();
    chain->set_view_id(has_new_head ? 2 : 1);
    chain->set_chain_id(1);
    if (has_new_head) Add("n2", "127.0.0.1:1", chain);
    Add("n1", absl::StrCat("127.0.0.1:", *port_), chain);
    return grpc::Status::OK;
  }
  // The chain names another head, which does not answer.
  std::atomic<bool> has_new_head{false};

  grpc::Status Put(grpc::ServerContext*, const kamino::v1::PutRequest*,
                   kamino::v1::PutResponse*) override {
    return grpc::Status::OK;
  }

 private:
  static void Add(const std::string& node_id, const std::string& address,
                  kamino::v1::Chain* chain) {
    auto* const node = chain->add_nodes();
    node->set_node_id(node_id);
    node->set_address(address);
  }

  const int* const port_;
};

class HelloTest : public ::testing::Test {
 protected:
  HelloTest() : objects_(&port_) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port_);
    builder.RegisterService(&objects_);
    builder.RegisterService(&sessions_);
    server_ = builder.BuildAndStart();
    ClientOptions options;
    options.seeds = {absl::StrCat("127.0.0.1:", port_)};
    options.carrier = "grpc";
    client_ = *Client::Connect(options);
  }
  ~HelloTest() override {
    client_.reset();
    server_->Shutdown();
  }

  int port_ = 0;
  Objects objects_;
  Sessions sessions_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
};

// A hello without an answer may arrive late, when its session is over.
TEST_F(HelloTest, EachHelloOpensADifferentSession) {
  while (sessions_.hellos() < 3) ASSERT_TRUE(client_->Put("key", "value").ok());
  client_.reset();
  EXPECT_EQ(sessions_.ids(), static_cast<size_t>(sessions_.hellos()));
}

TEST_F(HelloTest, AHelloToAFormerHeadIsCancelled) {
  sessions_.Hold();
  while (sessions_.hellos() < 1) ASSERT_TRUE(client_->Put("key", "value").ok());
  objects_.has_new_head = true;
  ASSERT_TRUE(client_->Refresh().ok());
  EXPECT_EQ(client_->chain().view_id(), 2u);
  while (sessions_.given_up() < 1) std::this_thread::yield();
}

}  // namespace
}  // namespace kamino::client
