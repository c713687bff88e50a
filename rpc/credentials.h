// Who may talk to whom, and whether others can listen. Every server and channel
// takes its credentials from here: certificates on both sides, or all in the
// clear.
//
// Who a peer is decides (security/identity.h), not at which address it is.
// OpenSSL, as gRPC uses it, makes sure that a peer has the key of the
// certificate that it shows; what that certificate is worth is decided here, by
// security::Certificates: so that the log says whose it is and what is wrong
// with it, and so that authorities and lists of revoked certificates may change
// at any time.
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

// In the clear.
std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials();
std::shared_ptr<grpc::ServerCredentials> ServerCredentials();

// By certificates. Thread-safe; channels and servers keep it.
class Credentials {
 public:
  // kUnavailable: the key cannot be handed to gRPC.
  static absl::StatusOr<std::shared_ptr<const Credentials>> Make(
      std::shared_ptr<security::Certificates> certificates);
  // The same, of certificates that may be null: so is what is made then.
  static absl::StatusOr<std::shared_ptr<const Credentials>> MakeIfAny(
      std::shared_ptr<security::Certificates> certificates);

  // To host:port, where one with this role serves.
  std::shared_ptr<grpc::ChannelCredentials> ToCall(const std::string& address,
                                                   security::Role role) const;
  // `listen`: as the log names the server.
  std::shared_ptr<grpc::ServerCredentials> ToServe(
      const std::string& listen) const;

  const std::shared_ptr<security::Certificates>& certificates() const {
    return certificates_;
  }
  // Ended with the next look of the certificates.
  const std::shared_ptr<ConnectionEnds>& ends() const { return ends_; }

 private:
  explicit Credentials(std::shared_ptr<security::Certificates> certificates);

  const std::shared_ptr<security::Certificates> certificates_;
  const std::shared_ptr<ConnectionEnds> ends_;
  std::shared_ptr<grpc::experimental::CertificateProviderInterface> provider_;
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CREDENTIALS_H_
