#include "membership/vouch_calls.h"

#include <utility>

#include "absl/synchronization/blocking_counter.h"
#include "rpc/answer.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace kamino::membership {
namespace {

using kamino::internal::v1::VouchRequest;
using kamino::internal::v1::VouchResponse;

constexpr absl::Duration kMaxReconnect = absl::Milliseconds(200);
constexpr int kMaxAnswerBytes = 4096;
// Channels to former members are dropped when there are more.
constexpr size_t kMaxStubs = 16;

}  // namespace

std::vector<Vouching::Answer> VouchCalls::CarryOut(
    const std::vector<Vouching::Call>& calls, absl::Duration deadline) {
  if (stubs_.size() > kMaxStubs) stubs_.clear();
  std::vector<Vouching::Answer> answers(calls.size());
  std::vector<grpc::ClientContext> contexts(calls.size());
  absl::BlockingCounter outstanding(static_cast<int>(calls.size()));
  for (size_t i = 0; i < calls.size(); ++i) {
    std::unique_ptr<Stub>& stub = stubs_[calls[i].address];
    if (stub == nullptr) {
      rpc::ChannelOptions options;
      options.max_answer_bytes = kMaxAnswerBytes;
      options.max_reconnect = kMaxReconnect;
      stub = kamino::internal::v1::VouchService::NewStub(
          rpc::MakeChannel(calls[i].address, options));
    }
    rpc::SetTimeout(deadline, &contexts[i]);
    stub->async()->Vouch(
        &contexts[i], &calls[i].request, &answers[i].response,
        [answer = &answers[i], &outstanding](const grpc::Status& status) {
          answer->status = rpc::FromGrpc(status);
          outstanding.DecrementCount();
        });
  }
  outstanding.Wait();
  return answers;
}

grpc::ServerUnaryReactor* VouchServer::Vouch(
    grpc::CallbackServerContext* context, const VouchRequest* request,
    VouchResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Vouching::Answer answer = voucher_->Vouch(*request);
  *response = std::move(answer.response);
  rpc::Finish<VouchRequest>(reactor, answer.status);
  return reactor;
}

}  // namespace kamino::membership
