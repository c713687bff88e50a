// A seed that answers late.
#ifndef KAMINO_TESTS_CLIENT_LATE_SEED_H_
#define KAMINO_TESTS_CLIENT_LATE_SEED_H_

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "grpcpp/grpcpp.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/credentials.h"

namespace kamino::client {

// A seed of another cluster. It answers once the test lets it.
class LateSeed final : public kamino::v1::KaminoService::Service {
 public:
  LateSeed() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~LateSeed() override { Answer(); }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  void Answer() {
    if (!answers_.HasBeenNotified()) answers_.Notify();
  }

 private:
  grpc::Status GetChain(grpc::ServerContext*,
                        const kamino::v1::GetChainRequest*,
                        kamino::v1::GetChainResponse* response) override {
    answers_.WaitForNotification();
    response->mutable_chain()->set_cluster_id("another");
    response->mutable_chain()->set_chain_id(1);
    response->mutable_chain()->set_view_id(1);
    response->mutable_chain()->add_nodes()->set_address(address());
    return grpc::Status::OK;
  }

  int port_ = 0;
  absl::Notification answers_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace kamino::client

#endif  // KAMINO_TESTS_CLIENT_LATE_SEED_H_
