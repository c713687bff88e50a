#include "rpc/credentials.h"

#include <functional>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log_limit.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "grpc/support/log.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "rpc/chain_verifier.h"
#include "rpc/staged_pair.h"

namespace kamino::rpc {
namespace {

using grpc::experimental::CertificateVerifier;
using security::Certificates;
using security::PeerWatches;

constexpr unsigned int kRefreshSeconds = 1;

StagedPair::Texts TextsOf(const Certificates::Set& set) {
  return {set.certificate_pem, set.key_pem, set.authorities_pem};
}

// Peers can cause log lines of gRPC, for example by bytes that are not a
// handshake.
void Log(gpr_log_func_args* args) {
  static LogLimit* const limit = new LogLimit;
  if (args->severity == GPR_LOG_SEVERITY_DEBUG) return;
  const auto more = limit->Take(MonotonicNow());
  if (!more.has_value()) return;
  if (args->severity == GPR_LOG_SEVERITY_ERROR) {
    LOG(WARNING) << "gRPC: " << args->message << *more;
  } else {
    LOG(INFO) << "gRPC: " << args->message << *more;
  }
}

// One side's check of the other side's certificate. `who`: the other side's
// name in the log. `admitted`: further checks or actions; null: none.
using Admitted = std::function<absl::Status(const security::Certificate&)>;
std::shared_ptr<CertificateVerifier> Verifier(
    std::shared_ptr<const Certificates> certificates, Certificates::Peer side,
    std::string who, Admitted admitted) {
  const auto check =
      [certificates, side, admitted = std::move(admitted)](
          std::vector<security::X509Pointer> shown) -> absl::Status {
    Certificates::Admission admission =
        certificates->Admit(std::move(shown), side);
    RETURN_IF_ERROR(admission.peer.status());
    return admitted == nullptr ? absl::OkStatus() : admitted(*admission.peer);
  };
  return VerifierBy(
      [certificates, who = std::move(who),
       check](absl::StatusOr<std::vector<security::X509Pointer>> shown) {
        const absl::Status status =
            shown.ok() ? check(*std::move(shown)) : shown.status();
        if (!status.ok()) certificates->TellRefused(who, status);
        return status;
      });
}

absl::Status CheckRole(const security::Certificate& peer, security::Role role) {
  if (peer.identity().role == role) return absl::OkStatus();
  return absl::UnauthenticatedError(absl::StrCat(
      security::ToString(peer.identity()), " (certificate ", peer.serial(),
      "): only a ", security::RoleName(role), " may serve there"));
}

// The peer of a channel's connection, while its certificate is trusted.
class Connected {
 public:
  Connected(std::shared_ptr<Certificates> certificates,
            std::shared_ptr<ConnectionEnds> ends, std::string target)
      : certificates_(std::move(certificates)),
        ends_(std::move(ends)),
        target_(std::move(target)) {}

  void To(const security::Certificate& peer) {
    auto watch = certificates_->watches()->WatchPeer(
        peer, [ends = ends_, target = target_](const absl::Status& why) {
          LOG(WARNING) << "ends its connections to " << target << ": "
                       << why.message();
          ends->AddTarget(target);
        });
    absl::MutexLock lock(&mutex_);
    watch.swap(watch_);
  }

 private:
  const std::shared_ptr<Certificates> certificates_;
  const std::shared_ptr<ConnectionEnds> ends_;
  const std::string target_;
  absl::Mutex mutex_;
  std::unique_ptr<PeerWatches::Watch> watch_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials() {
  return grpc::InsecureChannelCredentials();
}

std::shared_ptr<grpc::ServerCredentials> ServerCredentials() {
  return grpc::InsecureServerCredentials();
}

Credentials::Credentials(std::shared_ptr<Certificates> certificates)
    : certificates_(std::move(certificates)),
      ends_(std::make_shared<ConnectionEnds>()) {}

absl::StatusOr<std::shared_ptr<const Credentials>> Credentials::Make(
    std::shared_ptr<Certificates> certificates) {
  gpr_set_log_function(&Log);
  auto made = absl::WrapUnique(new Credentials(std::move(certificates)));
  ASSIGN_OR_RETURN(std::shared_ptr<StagedPair> staged,
                   StagedPair::Make(TextsOf(*made->certificates_->Current())));
  made->provider_ =
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          staged->key_path(), staged->certificate_path(),
          staged->authorities_path(), kRefreshSeconds);
  made->certificates_->OnChange([staged](const Certificates::Set& set) {
    const absl::Status status = staged->Replace(TextsOf(set));
    LOG_IF(ERROR, !status.ok())
        << "the new certificate is not shown to peers: " << status.message();
  });
  made->certificates_->OnLook([ends = made->ends_] { ends->End(); });
  return std::shared_ptr<const Credentials>(std::move(made));
}

absl::StatusOr<std::shared_ptr<const Credentials>> Credentials::MakeIfAny(
    std::shared_ptr<Certificates> certificates) {
  if (certificates == nullptr) return nullptr;
  return Make(std::move(certificates));
}

std::shared_ptr<grpc::ChannelCredentials> Credentials::ToCall(
    const std::string& address, security::Role role) const {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(provider_);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(false);  // the verifier checks instead
  options.set_check_call_host(false);
  auto connected = std::make_shared<Connected>(certificates_, ends_, address);
  options.set_certificate_verifier(
      Verifier(certificates_, Certificates::Peer::kServes,
               absl::StrCat("the server at ", address),
               [role, connected](const security::Certificate& peer) {
                 RETURN_IF_ERROR(CheckRole(peer, role));
                 connected->To(peer);
                 return absl::OkStatus();
               }));
  return grpc::experimental::TlsCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> Credentials::ToServe(
    const std::string& listen) const {
  grpc::experimental::TlsServerCredentialsOptions options(provider_);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  // The verifier checks instead.
  options.set_cert_request_type(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
  options.set_certificate_verifier(
      Verifier(certificates_, Certificates::Peer::kCalls,
               absl::StrCat("a connection to ", listen), nullptr));
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace kamino::rpc
