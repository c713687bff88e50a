#include "membership/agent/peer_lease_calls.h"

#include <memory>
#include <utility>

#include "base/clock.h"
#include "membership/member_identity.h"
#include "rpc/answer.h"
#include "rpc/call_guard.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace kamino::membership {
namespace {

using kamino::internal::v1::VouchRequest;
using kamino::internal::v1::VouchResponse;

constexpr absl::Duration kMaxReconnect = absl::Milliseconds(200);
constexpr int kMaxAnswerBytes = 4096;

}  // namespace

struct PeerLeaseCalls::Outstanding {
  PeerLeases::Call call;
  PeerLeases::Answer answer;
  grpc::ClientContext context;
};

PeerLeaseCalls::~PeerLeaseCalls() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &PeerLeaseCalls::Idle));
}

const PeerLeaseCalls::Peer& PeerLeaseCalls::At(const std::string& address) {
  Peer& peer = peers_[address];
  if (peer.channel != nullptr) return peer;
  rpc::ChannelOptions options;
  options.max_answer_bytes = kMaxAnswerBytes;
  options.max_reconnect = kMaxReconnect;
  options.credentials = credentials_;
  peer.channel = rpc::MakeChannel(address, options);
  peer.stub = kamino::internal::v1::VouchService::NewStub(peer.channel);
  return peer;
}

void PeerLeaseCalls::KeepConnected(const std::vector<std::string>& addresses) {
  std::map<std::string, Peer> kept;
  for (const std::string& address : addresses) {
    At(address).channel->GetState(/*try_to_connect=*/true);
    kept.insert(peers_.extract(address));
  }
  peers_ = std::move(kept);
}

void PeerLeaseCalls::Begin(PeerLeases::Call call, absl::Duration deadline) {
  Stub* const stub = At(call.address).stub.get();
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

grpc::ServerUnaryReactor* PeerLeaseServer::Vouch(
    grpc::CallbackServerContext* context, const VouchRequest* request,
    VouchResponse* response) {
  const absl::Time began = MonotonicNow();
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  PeerLeases::Answer answer;
  answer.status = CheckCaller(request->cluster_id(), request->node_id(),
                              rpc::IdentityOf(*context));
  if (answer.status.ok()) {
    answer = peer_lease_grantor_->GrantPeerLease(*request);
  }
  *response = std::move(answer.response);
  rpc::Finish<VouchRequest>(reactor, began, answer.status);
  return reactor;
}

}  // namespace kamino::membership
