// Who has called a server, by their certificates.
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

// Of a call: the certificate that its connection began with. kUnauthenticated:
// it has none, as all calls in the clear. Cheap: each is read once.
// Thread-safe.
absl::StatusOr<security::Certificate> PeerOf(
    const grpc::ServerContextBase& context);
absl::StatusOr<security::Certificate> PeerOf(const grpc::AuthContext& known);

// Of the connections of one server, as calls come by them: ends each once its
// peer is believed no more. Thread-safe.
class Peers {
 public:
  Peers(std::shared_ptr<const Credentials> credentials, int port)
      : credentials_(std::move(credentials)), port_(port) {}

  void OnCall(const grpc::ServerContextBase& context);
  // Whether a call has come by the connection from there.
  bool Knows(const std::string& address);

 private:
  struct Peer {
    std::string fingerprint;
    std::unique_ptr<security::Certificates::Watch> watch;
  };
  void Add(const std::string& address, const security::Certificate& peer);

  const std::shared_ptr<const Credentials> credentials_;
  const int port_;

  absl::Mutex mutex_;
  // By address.
  absl::flat_hash_map<std::string, Peer> peers_ ABSL_GUARDED_BY(mutex_);
  size_t most_ ABSL_GUARDED_BY(mutex_) =
      64;  // before it is looked who has left
};

// Tells `peers` of every call. It makes no interceptors, only hears of calls:
// that is the one place where gRPC tells of all of them, whatever the service.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> TellOf(
    std::shared_ptr<Peers> peers);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_PEERS_H_
