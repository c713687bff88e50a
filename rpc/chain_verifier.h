// Who decides, for gRPC, whether the certificate that a peer has shown is
// believed.
#ifndef KAMINO_RPC_CHAIN_VERIFIER_H_
#define KAMINO_RPC_CHAIN_VERIFIER_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/security/tls_certificate_verifier.h"
#include "security/certificate.h"

namespace kamino::rpc {

// Gets what the peer has shown, its own certificate first, or why that cannot
// be read; an error ends the handshake. On threads of gRPC's; must not block.
using CheckChain = std::function<absl::Status(
    absl::StatusOr<std::vector<security::X509Pointer>> shown)>;

std::shared_ptr<grpc::experimental::CertificateVerifier> VerifierBy(
    CheckChain check);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CHAIN_VERIFIER_H_
