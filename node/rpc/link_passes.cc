#include "node/rpc/link_passes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "membership/member_identity.h"
#include "rpc/answer.h"
#include "rpc/call_guard.h"
#include "rpc/channel.h"
#include "rpc/peers.h"
#include "rpc/status.h"

namespace kamino::node {
namespace {

using kamino::internal::v1::GetPassRequest;
using kamino::internal::v1::GetPassResponse;
using transport::LinkPass;

constexpr int kMaxAnswerBytes = 4096;
// Drops channels to former neighbours when there are more.
constexpr size_t kMaxStubs = 16;
// Before the host in a link address.
constexpr char kHostMark[] = "#";

absl::StatusOr<LinkPass> FromProto(const GetPassResponse& response,
                                   ChainId chain_id) {
  if (response.chain_id() != chain_id) {
    return absl::FailedPreconditionError(
        absl::StrCat("a node of chain ", response.chain_id(),
                     " has answered; this is one of chain ", chain_id));
  }
  if (response.token().size() != transport::kPassBytes ||
      response.proof().size() != transport::kPassBytes) {
    return absl::FailedPreconditionError(
        "the token or the proof of the peer's pass has a wrong length");
  }
  return LinkPass{response.token(), response.proof(), response.user()};
}

}  // namespace

LinkPasses::LinkPasses(std::string cluster_id, ChainId chain_id,
                       std::string host_id,
                       std::shared_ptr<const rpc::Credentials> credentials)
    : cluster_id_(std::move(cluster_id)),
      chain_id_(chain_id),
      host_id_(std::move(host_id)),
      credentials_(std::move(credentials)),
      registry_(std::make_shared<transport::PassRegistry>()) {}

LinkPasses::~LinkPasses() { Stop(); }

void LinkPasses::SetSelf(const std::string& node_id, uint64_t incarnation) {
  absl::MutexLock lock(&mutex_);
  node_id_ = node_id;
  incarnation_ = incarnation;
}

void LinkPasses::SetView(const membership::View& view) {
  absl::MutexLock lock(&mutex_);
  if (view.id > view_.id) view_ = view;
}

void LinkPasses::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  calls_.Stop();
  absl::MutexLock lock(&mutex_);
  stubs_.clear();
}

// --- For links of this node.

// Members on other hosts may have the same paths. An unknown or ambiguous host
// counts as this one if shared memory was asked for.
std::string LinkPasses::PeerAt(const std::string& address) const {
  const std::string here = absl::StrCat(address, kHostMark, host_id_);
  std::string elsewhere;
  for (const membership::Member& member : view_.members) {
    for (const auto& [transport, where] : member.link_addresses) {
      if (where == here) return member.peer_address();
      if (elsewhere.empty() &&
          where.substr(0, where.rfind(kHostMark)) == address) {
        elsewhere = member.peer_address();
      }
    }
  }
  return elsewhere;
}

LinkPasses::Stub* LinkPasses::StubLocked(const std::string& peer) {
  auto found = stubs_.find(peer);
  if (found != stubs_.end()) return found->second.get();
  if (stubs_.size() >= kMaxStubs && calls_.none()) stubs_.clear();
  rpc::ChannelOptions options;
  options.max_answer_bytes = kMaxAnswerBytes;
  options.credentials = credentials_;
  stubs_[peer] = kamino::internal::v1::ChainLinks::NewStub(
      rpc::MakeChannel(peer, options));
  return stubs_[peer].get();
}

void LinkPasses::Ask(const std::string& address, absl::Duration timeout,
                     Reply reply) {
  GetPassRequest request;
  request.set_cluster_id(cluster_id_);
  request.set_chain_id(chain_id_);
  absl::ReleasableMutexLock lock(&mutex_);
  const std::string peer = PeerAt(address);
  if (stopped_ || peer.empty()) {
    const bool stopped = stopped_;
    lock.Release();
    reply(absl::UnavailableError(
        stopped ? "the node is stopping"
                : absl::StrCat("no member of the view is at ", address)));
    return;
  }
  request.set_node_id(node_id_);
  request.set_incarnation(incarnation_);
  request.set_view_id(view_.id);
  auto* const async = StubLocked(peer)->async();
  const bool begun = calls_.Start(
      timeout, std::move(request),
      [async](auto* context, auto* request, auto* response, auto done) {
        async->GetPass(context, request, response, std::move(done));
      },
      [this, reply = std::move(reply)](const grpc::Status& status,
                                       const Calls::Call& call) {
        absl::StatusOr<Granted> granted = Answer(status, call);
        if (granted.ok()) return reply(std::move(granted));
        reply(absl::Status(
            granted.status().code(),
            absl::StrCat("a pass for a link: ", granted.status().message())));
      });
  CHECK(begun);  // it is not stopped
}

absl::StatusOr<LinkPasses::Granted> LinkPasses::Answer(
    const grpc::Status& status, const Calls::Call& call) const {
  RETURN_IF_ERROR(rpc::FromGrpc(status));
  ASSIGN_OR_RETURN(LinkPass pass, FromProto(call.response, chain_id_));
  const auto known = call.context->auth_context();
  if (known == nullptr) {
    return absl::UnauthenticatedError(
        "the call for the pass was not encrypted");
  }
  ASSIGN_OR_RETURN(auto issuer, rpc::PeerOf(*known));
  return Granted{std::move(pass), std::move(issuer)};
}

// --- For links to this node.

absl::StatusOr<LinkPass> LinkPasses::Give(
    const grpc::CallbackServerContext& context, const GetPassRequest& request) {
  auto holder = rpc::PeerOf(context);
  if (!holder.ok()) {
    return absl::FailedPreconditionError(
        "a pass for a link requires a certificate");
  }
  if (request.cluster_id() != cluster_id_) {
    return absl::FailedPreconditionError(
        absl::StrCat("this is a node of cluster ", cluster_id_));
  }
  if (absl::Status chain = CheckChain(request.chain_id(), chain_id_);
      !chain.ok()) {
    return absl::FailedPreconditionError(chain.message());
  }
  RETURN_IF_ERROR(membership::CheckCaller(cluster_id_, request.node_id(),
                                          rpc::IdentityOf(context)));
  {
    absl::MutexLock lock(&mutex_);
    if (!view_.formed() || request.view_id() < view_.id) {
      return absl::UnavailableError(
          absl::StrCat("this node is in view ", view_.id, ", and ",
                       request.node_id(), " in view ", request.view_id()));
    }
    for (const membership::Member& member : view_.members) {
      // In a later view it may have another incarnation.
      if (member.node_id != request.node_id() ||
          member.incarnation == request.incarnation() ||
          request.view_id() > view_.id) {
        continue;
      }
      return absl::FailedPreconditionError(
          absl::StrCat("this is ", request.node_id(),
                       " in another life than that of view ", view_.id));
    }
  }
  return registry_->Issue(*holder);
}

grpc::ServerUnaryReactor* LinkPasses::GetPass(
    grpc::CallbackServerContext* context, const GetPassRequest* request,
    GetPassResponse* response) {
  const absl::Time began = MonotonicNow();
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto pass = Give(*context, *request);
  if (pass.ok()) {
    response->set_chain_id(chain_id_);
    response->set_token(pass->token);
    response->set_proof(pass->proof);
    response->set_user(pass->user);
  }
  rpc::Finish<GetPassRequest>(reactor, began, pass.status());
  return reactor;
}

}  // namespace kamino::node
