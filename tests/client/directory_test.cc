// The client's way to the chain, past nodes that say nothing.
#include "client/directory.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "client/timer.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/credentials.h"

namespace kamino::client {
namespace {

// Answers a question once nobody waits for it any more.
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

TEST(DirectoryTest, ItsEndDoesNotWaitForANodeThatSaysNothing) {
  Silent silent;
  const Served served(&silent);
  auto directory =
      std::make_unique<Directory>(std::vector<std::string>{served.address()},
                                  /*chain_id=*/0, /*credentials=*/nullptr,
                                  /*question_timeout=*/absl::Hours(1));
  absl::Status told;
  directory->Refresh(
      [&told, asked = directory.get()] { told = asked->last_error(); });
  silent.asked().WaitForNotification();
  directory.reset();
  // Not kDeadlineExceeded, which a channel's own limits bring at last.
  EXPECT_EQ(told.code(), absl::StatusCode::kCancelled) << told;
}

// The second node answers each round, so that rounds follow one another; the
// first one still has the question of the first round.
TEST(DirectoryTest, ANodeThatHasNotAnsweredIsNotAskedAgain) {
  Silent silent;
  Quick quick;
  const Served silent_served(&silent);
  const Served quick_served(&quick);
  auto directory = std::make_unique<Directory>(
      std::vector<std::string>{silent_served.address(), quick_served.address()},
      /*chain_id=*/0, /*credentials=*/nullptr,
      /*question_timeout=*/absl::Hours(1));
  for (int round = 0; round < 20; ++round) {
    absl::Notification told;
    directory->Refresh([&told] { told.Notify(); });
    told.WaitForNotification();
  }
  silent.asked().WaitForNotification();
  EXPECT_EQ(silent.questions(), 1);
  EXPECT_EQ(directory->view_id(), 1u);
  directory.reset();
}

// A round is over before its questions are, and says which node is silent.
TEST(DirectoryTest, ARoundDoesNotWaitForANodeThatSaysNothing) {
  Silent silent;
  const Served served(&silent);
  auto timer = std::make_unique<Timer>();
  auto directory = std::make_unique<Directory>(
      std::vector<std::string>{served.address()},
      /*chain_id=*/0, /*credentials=*/nullptr,
      /*question_timeout=*/absl::Hours(1), timer.get());
  absl::Notification told;
  directory->Refresh([&told] { told.Notify(); });
  silent.asked().WaitForNotification();
  timer->Hurry();
  told.WaitForNotification();
  EXPECT_EQ(directory->last_error().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(directory->last_error().message()),
              ::testing::HasSubstr(served.address()));
  timer.reset();
  directory.reset();
}

}  // namespace
}  // namespace kamino::client
