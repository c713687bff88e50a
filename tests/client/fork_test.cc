// A client in a child of fork, which has its sockets and none of its threads.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/client.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/credentials.h"

namespace kamino::client {
namespace {

// Head and tail at once.
class Service final : public kamino::v1::KaminoService::Service {
 public:
  grpc::Status GetChain(grpc::ServerContext*,
                        const kamino::v1::GetChainRequest*,
                        kamino::v1::GetChainResponse* response) override {
    absl::MutexLock lock(&mutex_);
    response->mutable_chain()->set_view_id(1);
    response->mutable_chain()->set_chain_id(1);
    auto* const node = response->mutable_chain()->add_nodes();
    node->set_node_id("n1");
    node->set_address(address_);
    return grpc::Status::OK;
  }

  grpc::Status Put(grpc::ServerContext*, const kamino::v1::PutRequest*,
                   kamino::v1::PutResponse*) override {
    return grpc::Status::OK;
  }

  void Begin(const std::string& address) {
    absl::MutexLock lock(&mutex_);
    address_ = address;
  }

 private:
  absl::Mutex mutex_;
  std::string address_ ABSL_GUARDED_BY(mutex_);
};

constexpr unsigned kChildSeconds = 20;  // then SIGALRM ends it

// The status, as of waitpid, of a child that does this; 0: it returned true.
int InChild(const std::function<bool()>& does) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kChildSeconds);
    _exit(does() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

class ForkTest : public ::testing::Test {
 protected:
  ForkTest() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    const std::string address = absl::StrCat("127.0.0.1:", port);
    service_.Begin(address);
    ClientOptions options;
    options.seeds = {address};
    client_ = *Client::Connect(options);
  }

  Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(ForkTest, CallsInAChildFailAtOnce) {
  ASSERT_TRUE(client_->Put("a", "1").ok());
  EXPECT_EQ(InChild([this] {
              bool failed = false;
              client_->PutAsync({}, [&failed](const auto& put) {
                failed = absl::IsFailedPrecondition(put.status());
              });
              return failed && absl::IsFailedPrecondition(
                                   client_->Put("a", "2").status());
            }),
            0);
  EXPECT_TRUE(client_->Put("a", "3").ok());
}

TEST_F(ForkTest, DestroyingAClientInAChildHasNoEffect) {
  EXPECT_EQ(InChild([this] {
              client_.reset();
              return true;
            }),
            0);
  EXPECT_TRUE(client_->Put("a", "1").ok());
}

}  // namespace
}  // namespace kamino::client
