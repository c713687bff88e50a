#include "client/session/pass_asker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "grpcpp/client_context.h"
#include "rpc/peers.h"
#include "rpc/status.h"

namespace kamino::client {
namespace {

absl::StatusOr<transport::PassSource::Granted> Answer(
    const grpc::Status& status, const kamino::v1::GetLinkPassResponse& response,
    const grpc::ClientContext& context) {
  if (!status.ok()) return rpc::FromGrpc(status);
  const auto known = context.auth_context();
  if (known == nullptr) {
    return absl::UnauthenticatedError("the node has shown no certificate");
  }
  ASSIGN_OR_RETURN(security::Certificate node, rpc::PeerOf(*known));
  return transport::PassSource::Granted{
      {response.token(), response.proof(), response.user()}, std::move(node)};
}

}  // namespace

void PassAsker::Know(const std::string& address, std::shared_ptr<Stub> stub) {
  absl::MutexLock lock(&mutex_);
  if (!stopped_) stubs_[address] = std::move(stub);
}

void PassAsker::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  calls_.Stop();
  absl::MutexLock lock(&mutex_);
  stubs_.clear();
}

void PassAsker::Ask(const std::string& address, absl::Duration timeout,
                    Reply reply) {
  absl::ReleasableMutexLock lock(&mutex_);
  const auto stub = stubs_.find(address);
  if (stopped_ || stub == stubs_.end()) {
    lock.Release();
    return reply(absl::UnavailableError(
        absl::StrCat("there is no node to ask at ", address)));
  }
  auto* const async = stub->second->async();
  const bool begun = calls_.Start(
      timeout, {},
      [async](auto* context, auto* request, auto* response, auto done) {
        async->GetLinkPass(context, request, response, std::move(done));
      },
      [reply = std::move(reply)](const grpc::Status& status,
                                 const Calls::Call& call) {
        reply(Answer(status, call.response, *call.context));
      });
  CHECK(begun);  // because it is not stopped
}

}  // namespace kamino::client
