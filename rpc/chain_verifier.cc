#include "rpc/chain_verifier.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kamino::rpc {
namespace {

using grpc::experimental::ExternalCertificateVerifier;
using grpc::experimental::TlsCustomVerificationCheckRequest;

class ChainVerifier final : public ExternalCertificateVerifier {
 public:
  explicit ChainVerifier(CheckChain check) : check_(std::move(check)) {}

  bool Verify(TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)>,
              grpc::Status* sync_status) override {
    // Only a client's chain, as the server sees it, includes its own
    // certificate.
    const grpc::string_ref own = request->peer_cert();
    const grpc::string_ref rest = request->peer_cert_full_chain();
    const absl::Status status = check_(security::ParseCertificates(
        absl::StrCat(absl::string_view(own.data(), own.size()),
                     absl::string_view(rest.data(), rest.size()))));
    if (!status.ok()) {
      *sync_status = grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                                  std::string(status.message()));
    }
    return true;
  }
  void Cancel(TlsCustomVerificationCheckRequest*) override {}

 private:
  const CheckChain check_;
};

}  // namespace

std::shared_ptr<grpc::experimental::CertificateVerifier> VerifierBy(
    CheckChain check) {
  return ExternalCertificateVerifier::Create<ChainVerifier>(std::move(check));
}

}  // namespace kamino::rpc
