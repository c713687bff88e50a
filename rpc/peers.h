// The certificates of a server's callers.
#ifndef KAMINO_RPC_PEERS_H_
#define KAMINO_RPC_PEERS_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/security/auth_context.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_interceptor.h"
#include "rpc/connection_ends.h"
#include "rpc/credentials.h"
#include "security/certificates.h"

namespace kamino::rpc {

// The certificate of the call's connection. kUnauthenticated: none, as without
// TLS. Cheap, because each certificate is parsed once. Thread-safe.
absl::StatusOr<security::Certificate> PeerOf(
    const grpc::ServerContextBase& context);
absl::StatusOr<security::Certificate> PeerOf(const grpc::AuthContext& known);

// The connections of one server, known from their calls. Ends each one once its
// peer is no longer trusted. Thread-safe.
class Peers {
 public:
  Peers(std::shared_ptr<const Credentials> credentials, int port)
      : credentials_(std::move(credentials)), port_(port) {}

  void OnCall(const grpc::ServerContextBase& context);
  // Whether a call has arrived over the connection from `address`.
  bool Knows(const std::string& address);

 private:
  struct Peer {
    std::string fingerprint;
    std::unique_ptr<security::PeerWatches::Watch> watch;
  };
  void Add(const std::string& address, const security::Certificate& peer);

  const std::shared_ptr<const Credentials> credentials_;
  const int port_;

  absl::Mutex mutex_;
  // By address.
  absl::flat_hash_map<std::string, Peer> peers_ ABSL_GUARDED_BY(mutex_);
  size_t most_ ABSL_GUARDED_BY(mutex_) =
      64;  // before ended connections are dropped
};

// Reports every call to `peers`. It makes no interceptors and only observes:
// this is the only hook of gRPC that sees the calls of all services.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> TellOf(
    std::shared_ptr<Peers> peers);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_PEERS_H_
