// The credentials of every server and channel: either certificates on both
// sides, or no TLS.
//
// A peer's identity decides (security/identity.h), not its address. OpenSSL,
// inside gRPC, verifies that a peer has the key of its certificate;
// security::Certificates decides whether to trust the certificate, so that the
// log names its holder and the reason, and so that authorities and revocation
// lists may change at any time.
#ifndef KAMINO_RPC_CREDENTIALS_H_
#define KAMINO_RPC_CREDENTIALS_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "rpc/connection_ends.h"
#include "security/certificates.h"
#include "security/identity.h"

namespace kamino::rpc {

// Without TLS.
std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials();
std::shared_ptr<grpc::ServerCredentials> ServerCredentials();

// With certificates. Thread-safe; channels and servers keep it alive.
class Credentials {
 public:
  // kUnavailable: the key cannot be passed to gRPC.
  static absl::StatusOr<std::shared_ptr<const Credentials>> Make(
      std::shared_ptr<security::Certificates> certificates);
  // The same; null if `certificates` is null.
  static absl::StatusOr<std::shared_ptr<const Credentials>> MakeIfAny(
      std::shared_ptr<security::Certificates> certificates);

  // To the server at host:port, which must have this role.
  std::shared_ptr<grpc::ChannelCredentials> ToCall(const std::string& address,
                                                   security::Role role) const;
  // `listen`: the server's name in the log.
  std::shared_ptr<grpc::ServerCredentials> ToServe(
      const std::string& listen) const;

  const std::shared_ptr<security::Certificates>& certificates() const {
    return certificates_;
  }
  // Connections that end with the next check of the certificates.
  const std::shared_ptr<ConnectionEnds>& ends() const { return ends_; }

 private:
  explicit Credentials(std::shared_ptr<security::Certificates> certificates);

  const std::shared_ptr<security::Certificates> certificates_;
  const std::shared_ptr<ConnectionEnds> ends_;
  std::shared_ptr<grpc::experimental::CertificateProviderInterface> provider_;
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CREDENTIALS_H_
