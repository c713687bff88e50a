#include "node/rpc/grpc_rendezvous.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "grpcpp/security/auth_context.h"
#include "rpc/answer.h"
#include "rpc/channel.h"
#include "rpc/peers.h"
#include "rpc/status.h"

namespace kamino::node {
namespace {

using kamino::internal::v1::ConnectRequest;
using kamino::internal::v1::ConnectResponse;
using transport::GidKind;
using transport::VerbsEndpoint;
using ProtoEndpoint = kamino::internal::v1::VerbsEndpoint;

// An endpoint takes some hundred bytes.
constexpr int kMaxAnswerBytes = 4096;
constexpr size_t kMaxNameBytes = 64;
// Drops channels to former neighbours when there are more.
constexpr size_t kMaxStubs = 16;
constexpr uint32_t k24Bits = 0xffffff;

kamino::internal::v1::GidKind ToProto(GidKind kind) {
  switch (kind) {
    case GidKind::kInfiniBand:
      return kamino::internal::v1::GID_KIND_INFINIBAND;
    case GidKind::kRoceV1:
      return kamino::internal::v1::GID_KIND_ROCE_V1;
    case GidKind::kRoceV2:
      return kamino::internal::v1::GID_KIND_ROCE_V2;
  }
  return kamino::internal::v1::GID_KIND_UNSPECIFIED;
}

std::optional<GidKind> FromProto(kamino::internal::v1::GidKind kind) {
  switch (kind) {
    case kamino::internal::v1::GID_KIND_INFINIBAND:
      return GidKind::kInfiniBand;
    case kamino::internal::v1::GID_KIND_ROCE_V1:
      return GidKind::kRoceV1;
    case kamino::internal::v1::GID_KIND_ROCE_V2:
      return GidKind::kRoceV2;
    default:
      return std::nullopt;
  }
}

void ToProto(const VerbsEndpoint& from, ProtoEndpoint* to) {
  to->set_version(from.version);
  to->set_device(from.device.substr(0, kMaxNameBytes));
  to->set_port(from.port);
  to->set_gid_index(from.gid_index);
  to->set_queue_pair(from.address.number);
  to->set_packet_number(from.address.psn);
  to->set_lid(from.address.lid);
  to->set_gid(from.address.gid.data(), from.address.gid.size());
  to->set_gid_kind(ToProto(from.address.kind));
  to->set_mtu(static_cast<uint32_t>(from.address.mtu));
  to->set_ring_address(from.ring_address);
  to->set_ring_key(from.ring_key);
  to->set_ring_bytes(from.ring_bytes);
  to->set_max_message(from.max_message);
  to->set_view_id(from.era);
}

absl::StatusOr<VerbsEndpoint> FromProto(const ProtoEndpoint& from) {
  VerbsEndpoint to;
  const std::optional<GidKind> kind = FromProto(from.gid_kind());
  if (!kind.has_value() || from.device().size() > kMaxNameBytes ||
      from.queue_pair() > k24Bits || from.packet_number() > k24Bits ||
      from.lid() > 0xffff || from.gid().size() != to.address.gid.size()) {
    return absl::FailedPreconditionError(
        "the verbs endpoint of the peer is invalid");
  }
  to.version = from.version();
  to.device = from.device();
  to.port = from.port();
  to.gid_index = from.gid_index();
  to.address.number = from.queue_pair();
  to.address.psn = from.packet_number();
  to.address.lid = static_cast<uint16_t>(from.lid());
  std::copy(from.gid().begin(), from.gid().end(), to.address.gid.begin());
  to.address.kind = *kind;
  to.address.mtu = from.mtu();
  to.ring_address = from.ring_address();
  to.ring_key = from.ring_key();
  to.ring_bytes = from.ring_bytes();
  to.max_message = from.max_message();
  to.era = from.view_id();
  return to;
}

// The peer's certificate; nothing without TLS.
std::optional<security::Certificate> SenderOf(
    const grpc::AuthContext* context) {
  if (context == nullptr) return std::nullopt;
  auto sender = rpc::PeerOf(*context);
  if (!sender.ok()) return std::nullopt;
  return *std::move(sender);
}

absl::StatusOr<VerbsEndpoint> From(
    const ProtoEndpoint& endpoint,
    std::optional<security::Certificate> sender) {
  ASSIGN_OR_RETURN(VerbsEndpoint from, FromProto(endpoint));
  from.sender = std::move(sender);
  return from;
}

}  // namespace

GrpcRendezvous::GrpcRendezvous(
    std::string cluster_id, ChainId chain_id,
    std::shared_ptr<const rpc::Credentials> credentials)
    : cluster_id_(std::move(cluster_id)),
      chain_id_(chain_id),
      credentials_(std::move(credentials)) {}

GrpcRendezvous::~GrpcRendezvous() { Stop(); }

void GrpcRendezvous::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    answerer_ = nullptr;
  }
  calls_.Stop();
  absl::MutexLock lock(&mutex_);
  stubs_.clear();
}

absl::StatusOr<std::string> GrpcRendezvous::Listen(const std::string& address,
                                                   Answerer answerer) {
  absl::MutexLock lock(&mutex_);
  if (stopped_) return absl::UnavailableError("the node is stopping");
  if (answerer_ != nullptr) {
    return absl::AlreadyExistsError("the node already listens for verbs links");
  }
  answerer_ = std::move(answerer);
  return address;
}

void GrpcRendezvous::StopListening(const std::string&) {
  absl::MutexLock lock(&mutex_);
  answerer_ = nullptr;
}

GrpcRendezvous::Stub* GrpcRendezvous::StubLocked(const std::string& address) {
  auto found = stubs_.find(address);
  if (found != stubs_.end()) return found->second.get();
  if (stubs_.size() >= kMaxStubs && calls_.none()) stubs_.clear();
  rpc::ChannelOptions options;
  options.max_answer_bytes = kMaxAnswerBytes;
  options.credentials = credentials_;
  stubs_[address] = kamino::internal::v1::VerbsLinks::NewStub(
      rpc::MakeChannel(address, options));
  return stubs_[address].get();
}

void GrpcRendezvous::Exchange(const std::string& address,
                              const VerbsEndpoint& offer,
                              absl::Duration timeout, Reply reply) {
  ConnectRequest request;
  request.set_cluster_id(cluster_id_);
  request.set_chain_id(chain_id_);
  ToProto(offer, request.mutable_endpoint());
  absl::ReleasableMutexLock lock(&mutex_);
  if (stopped_) {
    lock.Release();
    reply(absl::UnavailableError("the node is stopping"));
    return;
  }
  auto* const async = StubLocked(address)->async();
  const bool begun = calls_.Start(
      timeout, std::move(request),
      [async](auto* context, auto* request, auto* response, auto done) {
        async->Connect(context, request, response, std::move(done));
      },
      [this, reply = std::move(reply)](const grpc::Status& status,
                                       const Calls::Call& call) {
        reply(Answer(status, call));
      });
  CHECK(begun);  // it is not stopped
}

absl::StatusOr<VerbsEndpoint> GrpcRendezvous::Answer(
    const grpc::Status& status, const Calls::Call& call) const {
  if (!status.ok()) {
    const absl::Status error = rpc::FromGrpc(status);
    return absl::Status(error.code(),
                        absl::StrCat("verbs set-up: ", error.message()));
  }
  if (call.response.chain_id() != chain_id_) {
    return absl::FailedPreconditionError(
        absl::StrCat("verbs set-up: a node of chain ", call.response.chain_id(),
                     " has answered; this is one of chain ", chain_id_));
  }
  return From(call.response.endpoint(),
              SenderOf(call.context->auth_context().get()));
}

grpc::ServerUnaryReactor* GrpcRendezvous::Connect(
    grpc::CallbackServerContext* context, const ConnectRequest* request,
    ConnectResponse* response) {
  const absl::Time began = MonotonicNow();
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (request->cluster_id() != cluster_id_) {
    rpc::Finish<ConnectRequest>(
        reactor, began,
        absl::FailedPreconditionError(
            absl::StrCat("this is a node of cluster ", cluster_id_)));
    return reactor;
  }
  const absl::Status chain = CheckChain(request->chain_id(), chain_id_);
  if (!chain.ok()) {
    // As when a link's peer is not the expected one (transport/link.h).
    rpc::Finish<ConnectRequest>(reactor, began,
                                absl::FailedPreconditionError(chain.message()));
    return reactor;
  }
  response->set_chain_id(chain_id_);
  auto offer =
      From(request->endpoint(), SenderOf(context->auth_context().get()));
  if (!offer.ok()) {
    rpc::Finish<ConnectRequest>(reactor, began, offer.status());
    return reactor;
  }
  // Held for the call, which StopListening has to wait for.
  absl::ReleasableMutexLock lock(&mutex_);
  if (answerer_ == nullptr) {
    lock.Release();
    rpc::Finish<ConnectRequest>(
        reactor, began,
        absl::UnavailableError("this node accepts no verbs links"));
    return reactor;
  }
  answerer_(*offer,
            [reactor, began, response](absl::StatusOr<VerbsEndpoint> answer) {
              if (answer.ok()) ToProto(*answer, response->mutable_endpoint());
              rpc::Finish<ConnectRequest>(reactor, began, answer.status());
            });
  return reactor;
}

}  // namespace kamino::node
