#include "membership/etcd/etcd_tls.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "rpc/chain_verifier.h"
#include "security/certificate_facts.h"

namespace kamino::membership {
namespace {

using grpc::experimental::StaticDataCertificateProvider;
using security::TlsTexts;
using security::Trust;
using security::X509Pointer;

std::string HostOf(absl::string_view endpoint) {
  absl::string_view host = endpoint.substr(0, endpoint.rfind(':'));
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return std::string(host);
}

}  // namespace

EtcdPeer::EtcdPeer(const std::string& endpoint) : host_(HostOf(endpoint)) {}

absl::Status EtcdPeer::CheckChain(const Trust& trust,
                                  const std::vector<X509Pointer>& chain,
                                  absl::Time now) const {
  RETURN_IF_ERROR(trust.CheckChain(chain, now).status);
  const security::CertificateFacts facts = security::FactsOf(*chain.front());
  if (!facts.serves) {
    return absl::UnauthenticatedError(absl::StrCat("its certificate (",
                                                   facts.name,
                                                   ") is not a "
                                                   "server certificate"));
  }
  if (!security::IsOfHost(*chain.front(), host_)) {
    return absl::UnauthenticatedError(absl::StrCat(
        "its certificate is not for ", host_, ", but for ",
        facts.hosts.empty() ? "no host" : absl::StrJoin(facts.hosts, ", ")));
  }
  return absl::OkStatus();
}

absl::Status EtcdPeer::Check(const Trust& trust, std::vector<X509Pointer> chain,
                             absl::Time now) {
  absl::Status status = CheckChain(trust, chain, now);
  absl::MutexLock lock(&mutex_);
  shown_ = std::move(chain);
  refusal_ = status;
  return status;
}

absl::Status EtcdPeer::CheckAgain(const Trust& trust, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (shown_.empty()) return absl::OkStatus();
  refusal_ = CheckChain(trust, shown_, now);
  return refusal_;
}

absl::Status EtcdPeer::refusal() {
  absl::MutexLock lock(&mutex_);
  return refusal_;
}

EtcdTls::EtcdTls(Options options)
    : options_(std::move(options)),
      now_(options_.now != nullptr ? options_.now
                                   : [] { return absl::Now(); }) {}

absl::StatusOr<std::unique_ptr<EtcdTls>> EtcdTls::Load(Options options) {
  auto made = absl::WrapUnique(new EtcdTls(std::move(options)));
  made->seen_ = security::ReadTlsFiles(made->options_.files);
  ASSIGN_OR_RETURN(made->trust_, made->Check(made->seen_));
  made->current_ = made->seen_;
  return made;
}

absl::StatusOr<std::shared_ptr<const Trust>> EtcdTls::Check(
    const TlsTexts& texts) const {
  const security::TlsFiles& files = options_.files;
  if (!texts.unreadable.empty()) {
    return absl::InvalidArgumentError(texts.unreadable);
  }
  if (!files.certificate.empty()) {
    RETURN_IF_ERROR(security::ParseOwnPair(files, texts).status());
  }
  // A removed list must not undo revocations.
  auto trust = trust_ == nullptr
                   ? Trust::Parse(texts.authorities, texts.revoked)
                   : Trust::Parse(texts.authorities, texts.revoked, *trust_);
  if (!trust.ok())
    return security::InFile(files.authorities + ":", trust.status());
  return trust;
}

std::shared_ptr<grpc::ChannelCredentials> EtcdTls::ToCall(
    std::shared_ptr<EtcdPeer> peer) const {
  grpc::experimental::TlsChannelCredentialsOptions options;
  std::vector<grpc::experimental::IdentityKeyCertPair> own;
  if (!current_.certificate.empty()) {
    own.push_back({current_.key, current_.certificate});
  }
  options.set_certificate_provider(
      std::make_shared<StaticDataCertificateProvider>(current_.authorities,
                                                      own));
  options.watch_root_certs();
  if (!own.empty()) options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(false);  // the verifier checks instead
  options.set_check_call_host(false);
  options.set_certificate_verifier(
      rpc::VerifierBy([trust = trust_, peer = std::move(peer), now = now_](
                          absl::StatusOr<std::vector<X509Pointer>> shown) {
        return shown.ok() ? peer->Check(*trust, *std::move(shown), now())
                          : shown.status();
      }));
  return grpc::experimental::TlsCredentials(options);
}

bool EtcdTls::Look() {
  TlsTexts texts = security::ReadTlsFiles(options_.files);
  if (texts == seen_) return false;
  auto trust = Check(texts);
  seen_ = std::move(texts);
  if (!trust.ok()) {
    LOG(ERROR) << "certificates for etcd have changed, but are invalid; the "
                  "previous ones stay in use: "
               << trust.status().message();
    return false;
  }
  if (seen_ == current_) return false;  // as before the invalid files
  LOG(INFO) << "certificates for etcd have changed";
  current_ = seen_;
  trust_ = *std::move(trust);
  LOG_IF(WARNING, trust_->kept_lists() > 0)
      << trust_->kept_lists()
      << " lists of revoked certificates of etcd are gone from "
      << options_.files.revoked
      << "; they stay in force until other lists of these authorities are "
         "there, or until a restart";
  return true;
}

absl::Status EtcdTls::CheckAgain(EtcdPeer* peer) const {
  return peer->CheckAgain(*trust_, now_());
}

}  // namespace kamino::membership
