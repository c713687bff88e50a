// Lets gRPC ask this process whether it trusts a peer's certificate.
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

// Receives the peer's certificates, its own first, or the error of parsing
// them. An error ends the handshake. Runs on gRPC's threads; must not block.
using CheckChain = std::function<absl::Status(
    absl::StatusOr<std::vector<security::X509Pointer>> shown)>;

std::shared_ptr<grpc::experimental::CertificateVerifier> VerifierBy(
    CheckChain check);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CHAIN_VERIFIER_H_
