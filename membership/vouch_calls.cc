#include "membership/vouch_calls.h"

#include <memory>
#include <utility>

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

struct VouchCalls::Outstanding {
  Vouching::Call call;
  Vouching::Answer answer;
  grpc::ClientContext context;
};

VouchCalls::~VouchCalls() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &VouchCalls::Idle));
}

void VouchCalls::Begin(Vouching::Call call, absl::Duration deadline) {
  if (stubs_.size() > kMaxStubs) stubs_.clear();
  std::unique_ptr<Stub>& stub = stubs_[call.address];
  if (stub == nullptr) {
    rpc::ChannelOptions options;
    options.max_answer_bytes = kMaxAnswerBytes;
    options.max_reconnect = kMaxReconnect;
    stub = kamino::internal::v1::VouchService::NewStub(
        rpc::MakeChannel(call.address, options));
  }
  const auto each = std::make_shared<Outstanding>();
  each->call = std::move(call);
  rpc::SetTimeout(deadline, &each->context);
  {
    absl::MutexLock lock(&mutex_);
    ++outstanding_;
  }
  stub->async()->Vouch(&each->context, &each->call.request,
                       &each->answer.response,
                       [this, each](const grpc::Status& status) {
                         each->answer.status = rpc::FromGrpc(status);
                         done_(each->call, each->answer);
                         absl::MutexLock lock(&mutex_);
                         --outstanding_;
                       });
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
