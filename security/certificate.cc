#include "security/certificate.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "openssl/err.h"
#include "openssl/pem.h"
#include "openssl/ssl.h"
#include "openssl/x509.h"
#include "security/certificate_facts.h"

namespace kamino::security {
namespace {

constexpr size_t kMaxCertificates = 64;
constexpr size_t kMaxPem = 1 << 20;

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

absl::StatusOr<Bio> Open(absl::string_view pem) {
  if (pem.size() > kMaxPem) {
    return absl::InvalidArgumentError("is more than a MiB");
  }
  Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  if (bio == nullptr) return absl::ResourceExhaustedError(OpenSslError());
  return bio;
}

// There is no user to ask for a pass phrase.
int NoPassPhrase(char*, int, int, void*) { return -1; }

}  // namespace

std::string OpenSslError() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(error);
  return reason == nullptr ? "OpenSSL gives no reason" : reason;
}

void X509Deleter::operator()(X509* certificate) const {
  X509_free(certificate);
}

void KeyDeleter::operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }

absl::StatusOr<std::vector<X509Pointer>> ParseCertificates(
    absl::string_view pem) {
  ASSIGN_OR_RETURN(const Bio bio, Open(pem));
  std::vector<X509Pointer> found;
  while (X509* const one =
             PEM_read_bio_X509(bio.get(), nullptr, &NoPassPhrase, nullptr)) {
    found.emplace_back(one);
    if (found.size() > kMaxCertificates) {
      return absl::InvalidArgumentError(
          absl::StrCat("has more than ", kMaxCertificates, " certificates"));
    }
  }
  const bool at_end =
      ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string error = OpenSslError();
  if (!at_end) {
    return absl::InvalidArgumentError(
        absl::StrCat("has a certificate that cannot be read: ", error));
  }
  if (found.empty()) {
    return absl::InvalidArgumentError("has no certificate in PEM");
  }
  return found;
}

absl::StatusOr<KeyPointer> ParseKey(absl::string_view pem) {
  ASSIGN_OR_RETURN(const Bio bio, Open(pem));
  KeyPointer key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, &NoPassPhrase, nullptr));
  const std::string error = key == nullptr ? OpenSslError() : "";
  if (key == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has no private key in PEM, without a pass phrase: ", error));
  }
  return key;
}

absl::StatusOr<Certificate> Certificate::Parse(absl::string_view pem) {
  absl::StatusOr<std::vector<X509Pointer>> chain = ParseCertificates(pem);
  if (!chain.ok()) {
    return absl::Status(chain.status().code(),
                        absl::StrCat("a text ", chain.status().message()));
  }
  return Of(*std::move(chain));
}

absl::StatusOr<Certificate> Certificate::OfPeer(const SSL& connection) {
  std::vector<X509Pointer> chain;
  if (X509* const own = SSL_get1_peer_certificate(&connection)) {
    chain.emplace_back(own);
  }
  // OpenSSL includes the peer's own certificate on the client side only.
  STACK_OF(X509)* const rest = SSL_get_peer_cert_chain(&connection);
  for (int i = 0; i < sk_X509_num(rest); ++i) {
    X509* const one = sk_X509_value(rest, i);
    if (!chain.empty() && X509_cmp(one, chain.front().get()) == 0) continue;
    X509_up_ref(one);
    chain.emplace_back(one);
  }
  return Of(std::move(chain));
}

absl::StatusOr<Certificate> Certificate::Of(std::vector<X509Pointer> chain) {
  if (chain.empty()) {
    return absl::UnauthenticatedError("no certificate was shown");
  }
  auto facts = std::make_shared<Facts>();
  const X509& own = *chain.front();
  ASSIGN_OR_RETURN(facts->identity, IdentityIn(own));
  facts->not_before = ToTime(X509_get0_notBefore(&own));
  facts->not_after = ToTime(X509_get0_notAfter(&own));
  facts->serial = SerialOf(own);
  facts->fingerprint = FingerprintOf(own);
  facts->chain = std::move(chain);
  return Certificate(std::move(facts));
}

}  // namespace kamino::security
