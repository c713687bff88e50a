// The client's way to the chain, past nodes that say nothing.
#include "client/directory.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
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
    asked_.Notify();
    return new Question;
  }

  absl::Notification& asked() { return asked_; }

 private:
  absl::Notification asked_;
};

TEST(DirectoryTest, ItsEndDoesNotWaitForANodeThatSaysNothing) {
  Silent silent;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port);
  builder.RegisterService(&silent);
  const auto server = builder.BuildAndStart();
  auto directory = std::make_unique<Directory>(
      std::vector<std::string>{absl::StrCat("127.0.0.1:", port)},
      /*chain_id=*/0, /*credentials=*/nullptr,
      /*question_timeout=*/absl::Hours(1));
  absl::Status told;
  directory->Refresh(
      [&told, asked = directory.get()] { told = asked->last_error(); });
  silent.asked().WaitForNotification();
  directory.reset();
  // Not kDeadlineExceeded, which a channel's own limits bring at last.
  EXPECT_EQ(told.code(), absl::StatusCode::kCancelled) << told;
  server->Shutdown();
}

}  // namespace
}  // namespace kamino::client
