#include "rpc/peers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "grpc/grpc_security_constants.h"
#include "grpcpp/security/auth_context.h"

namespace kamino::rpc {
namespace {

constexpr size_t kMaxCached = 4096;
constexpr size_t kFewPeers = 64;

// Parsed certificates, by their texts.
class Cache {
 public:
  absl::StatusOr<security::Certificate> Get(absl::string_view own,
                                            const grpc::AuthContext& context) {
    {
      absl::ReaderMutexLock lock(&mutex_);
      const auto found = certificates_.find(own);
      if (found != certificates_.end()) return found->second;
    }
    std::string text(own);
    for (const grpc::string_ref& chain :
         context.FindPropertyValues(GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME)) {
      text.append(chain.data(), chain.size());
    }
    ASSIGN_OR_RETURN(security::Certificate read,
                     security::Certificate::Parse(text));
    absl::MutexLock lock(&mutex_);
    if (certificates_.size() >= kMaxCached) certificates_.clear();
    certificates_.emplace(std::string(own), read);
    return read;
  }

 private:
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, security::Certificate> certificates_
      ABSL_GUARDED_BY(mutex_);
};

absl::Status NoCertificate() {
  return absl::UnauthenticatedError("the caller has shown no certificate");
}

class Factory final
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(std::shared_ptr<Peers> peers) : peers_(std::move(peers)) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* call) override {
    peers_->OnCall(*call->server_context());
    return nullptr;
  }

 private:
  const std::shared_ptr<Peers> peers_;
};

}  // namespace

absl::StatusOr<security::Certificate> PeerOf(
    const grpc::ServerContextBase& context) {
  const auto known = context.auth_context();
  return known != nullptr ? PeerOf(*known) : NoCertificate();
}

absl::StatusOr<security::Certificate> PeerOf(const grpc::AuthContext& known) {
  static Cache* const cache = new Cache;
  const auto found = known.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (found.empty()) return NoCertificate();
  return cache->Get({found.front().data(), found.front().size()}, known);
}

void Peers::OnCall(const grpc::ServerContextBase& context) {
  const auto peer = PeerOf(context);
  if (!peer.ok()) return;  // the connection was refused
  const std::string address = AddressOfPeer(context.peer());
  {
    absl::ReaderMutexLock lock(&mutex_);
    const auto found = peers_.find(address);
    if (found != peers_.end() &&
        found->second.fingerprint == peer->fingerprint()) {
      return;
    }
  }
  Add(address, *peer);
}

bool Peers::Knows(const std::string& address) {
  absl::ReaderMutexLock lock(&mutex_);
  return peers_.contains(address);
}

void Peers::Add(const std::string& address, const security::Certificate& peer) {
  // Watches begin and end without the lock.
  Peer added = {peer.fingerprint(),
                credentials_->certificates()->watches()->WatchPeer(
                    peer, [ends = credentials_->ends(), port = port_,
                           address](const absl::Status& why) {
                      LOG(WARNING) << "ends the connection from " << address
                                   << ": " << why.message();
                      ends->AddPeer(port, address);
                    })};
  std::vector<Peer> left;
  absl::MutexLock lock(&mutex_);
  std::swap(peers_[address], added);
  if (peers_.size() <= most_) return;
  const auto here = PeersOf(port_);
  for (auto each = peers_.begin(); each != peers_.end();) {
    const auto next = std::next(each);
    if (!here.contains(each->first) && each->first != address) {
      left.push_back(std::move(each->second));
      peers_.erase(each);
    }
    each = next;
  }
  most_ = std::max(kFewPeers, 2 * peers_.size());
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> TellOf(
    std::shared_ptr<Peers> peers) {
  return std::make_unique<Factory>(std::move(peers));
}

}  // namespace kamino::rpc
