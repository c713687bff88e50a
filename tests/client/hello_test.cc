// What the library names in its hellos, to a service that welcomes nobody.
#include <memory>
#include <set>
#include <string>

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
    absl::MutexLock lock(&mutex_);
    ++hellos_;
    ids_.insert(hello.session().id());
    return grpc::Status::OK;
  }

  grpc::Status GetCarriers(grpc::ServerContext*,
                           const kamino::v1::GetCarriersRequest*,
                           kamino::v1::GetCarriersResponse*) override {
    return grpc::Status::OK;  // none but this
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
  int hellos_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<uint64_t> ids_ ABSL_GUARDED_BY(mutex_);
};

class Objects final : public kamino::v1::KaminoService::Service {
 public:
  explicit Objects(const int* port) : port_(port) {}

  grpc::Status GetChain(grpc::ServerContext*,
                        const kamino::v1::GetChainRequest*,
                        kamino::v1::GetChainResponse* response) override {
    auto* const chain = response->mutable_chain();
    chain->set_view_id(1);
    chain->set_chain_id(1);
    auto* const node = chain->add_nodes();
    node->set_node_id("n1");
    node->set_address(absl::StrCat("127.0.0.1:", *port_));
    return grpc::Status::OK;
  }
  grpc::Status Put(grpc::ServerContext*, const kamino::v1::PutRequest*,
                   kamino::v1::PutResponse*) override {
    return grpc::Status::OK;
  }

 private:
  const int* const port_;
};

// A hello that got no answer may come late, when its session is over.
TEST(HelloTest, NoTwoOfThemOpenTheSameSession) {
  int port = 0;
  Objects objects(&port);
  Sessions sessions;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port);
  builder.RegisterService(&objects);
  builder.RegisterService(&sessions);
  const auto server = builder.BuildAndStart();
  ClientOptions options;
  options.seeds = {absl::StrCat("127.0.0.1:", port)};
  options.carrier = "grpc";
  auto client = *Client::Connect(options);
  while (sessions.hellos() < 3) ASSERT_TRUE(client->Put("key", "value").ok());
  client.reset();
  EXPECT_EQ(sessions.ids(), static_cast<size_t>(sessions.hellos()));
  server->Shutdown();
}

}  // namespace
}  // namespace kamino::client
