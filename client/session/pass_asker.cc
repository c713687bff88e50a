#include "client/session/pass_asker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "grpcpp/client_context.h"
#include "rpc/channel.h"
#include "rpc/peers.h"
#include "rpc/status.h"

namespace kamino::client {

// The context holds the channel, which must not end on a thread of gRPC's: it
// is let go of before the call counts as done.
struct PassAsker::Call {
  std::unique_ptr<grpc::ClientContext> context =
      std::make_unique<grpc::ClientContext>();
  kamino::v1::GetLinkPassRequest request;
  kamino::v1::GetLinkPassResponse response;
  Reply reply;

  absl::StatusOr<Granted> Answer(const grpc::Status& status) const {
    if (!status.ok()) return rpc::FromGrpc(status);
    const auto known = context->auth_context();
    if (known == nullptr) {
      return absl::UnauthenticatedError("the node has shown no certificate");
    }
    ASSIGN_OR_RETURN(security::Certificate node, rpc::PeerOf(*known));
    return Granted{{response.token(), response.proof(), response.user()},
                   std::move(node)};
  }
};

void PassAsker::Know(const std::string& address, std::shared_ptr<Stub> stub) {
  absl::MutexLock lock(&mutex_);
  if (!stopped_) stubs_[address] = std::move(stub);
}

void PassAsker::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  for (const std::shared_ptr<Call>& call : calls_) call->context->TryCancel();
  mutex_.Await(absl::Condition(this, &PassAsker::NoCalls));
  stubs_.clear();
}

void PassAsker::Ask(const std::string& address, absl::Duration timeout,
                    Reply reply) {
  auto call = std::make_shared<Call>();
  rpc::SetTimeout(timeout, call->context.get());
  call->reply = std::move(reply);
  absl::ReleasableMutexLock lock(&mutex_);
  const auto stub = stubs_.find(address);
  if (stub == stubs_.end()) {
    lock.Release();
    return call->reply(absl::UnavailableError(
        absl::StrCat("there is no node to ask at ", address)));
  }
  calls_.insert(call);
  stub->second->async()->GetLinkPass(call->context.get(), &call->request,
                                     &call->response,
                                     [this, call](const grpc::Status& status) {
                                       call->reply(call->Answer(status));
                                       call->reply = nullptr;
                                       absl::MutexLock done(&mutex_);
                                       call->context = nullptr;
                                       calls_.erase(call);
                                     });
}

}  // namespace kamino::client
