#include "security/certificate_facts.h"

#include <arpa/inet.h>

#include <cstddef>
#include <ctime>
#include <memory>
#include <utility>

#include "absl/strings/string_view.h"
#include "openssl/bn.h"
#include "openssl/evp.h"
#include "openssl/x509.h"
#include "openssl/x509v3.h"

namespace kamino::security {
namespace {

// Limits names that other issuers have chosen.
constexpr size_t kMaxName = 256;

std::string CommonName(const X509_NAME* name) {
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (at < 0) return "";
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(
      &text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
  if (size < 0) return "";
  std::string found(reinterpret_cast<char*>(text), static_cast<size_t>(size));
  OPENSSL_free(text);
  return found.substr(0, kMaxName);
}

std::string TextOf(const ASN1_STRING& string) {
  return std::string(
      reinterpret_cast<const char*>(ASN1_STRING_get0_data(&string)),
      static_cast<size_t>(ASN1_STRING_length(&string)));
}

std::string AddressOf(const ASN1_STRING& bytes) {
  char text[INET6_ADDRSTRLEN] = "";
  const int size = ASN1_STRING_length(&bytes);
  if (size == 4) {
    inet_ntop(AF_INET, ASN1_STRING_get0_data(&bytes), text, sizeof(text));
  } else if (size == 16) {
    inet_ntop(AF_INET6, ASN1_STRING_get0_data(&bytes), text, sizeof(text));
  }
  return text;
}

std::vector<std::string> HostsOf(const X509& certificate) {
  std::vector<std::string> hosts;
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(
          &certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    std::string host;
    if (name->type == GEN_DNS) host = TextOf(*name->d.dNSName);
    if (name->type == GEN_IPADD) host = AddressOf(*name->d.iPAddress);
    if (host.empty() || IdentityFromDnsName(host).has_value()) continue;
    hosts.push_back(std::move(host));
  }
  return hosts;
}

bool MayBe(X509* certificate, int purpose) {
  return X509_check_purpose(certificate, purpose, 0) == 1;
}

}  // namespace

absl::Time ToTime(const ASN1_TIME* time) {
  std::tm fields = {};
  if (ASN1_TIME_to_tm(time, &fields) != 1) return absl::InfinitePast();
  return absl::FromTM(fields, absl::UTCTimeZone());
}

std::string SerialOf(const X509& certificate) {
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(&certificate), nullptr),
      &BN_free);
  char* const text = number == nullptr ? nullptr : BN_bn2hex(number.get());
  std::string serial = text == nullptr ? "" : text;
  OPENSSL_free(text);
  return serial;
}

std::string FingerprintOf(const X509& certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (X509_digest(&certificate, EVP_sha256(), digest, &size) != 1) return "";
  return std::string(reinterpret_cast<const char*>(digest), size);
}

CertificateFacts FactsOf(const X509& certificate) {
  // OpenSSL caches results in the certificate.
  X509* const one = const_cast<X509*>(&certificate);
  CertificateFacts facts;
  facts.name = CommonName(X509_get_subject_name(one));
  absl::StatusOr<Identity> holder = IdentityIn(certificate);
  if (holder.ok()) facts.holder = *std::move(holder);
  facts.hosts = HostsOf(certificate);
  facts.issuer = CommonName(X509_get_issuer_name(one));
  facts.serial = SerialOf(certificate);
  facts.fingerprint = FingerprintOf(certificate);
  facts.not_before = ToTime(X509_get0_notBefore(one));
  facts.not_after = ToTime(X509_get0_notAfter(one));
  facts.is_authority = X509_check_ca(one) != 0;
  facts.serves = MayBe(one, X509_PURPOSE_SSL_SERVER);
  facts.calls = MayBe(one, X509_PURPOSE_SSL_CLIENT);
  return facts;
}

bool IsOfHost(const X509& certificate, const std::string& host) {
  X509* const one = const_cast<X509*>(&certificate);
  in6_addr address;
  if (inet_pton(AF_INET, host.c_str(), &address) == 1 ||
      inet_pton(AF_INET6, host.c_str(), &address) == 1) {
    return X509_check_ip_asc(one, host.c_str(), 0) == 1;
  }
  return X509_check_host(one, host.data(), host.size(),
                         X509_CHECK_FLAG_NEVER_CHECK_SUBJECT |
                             X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS,
                         nullptr) == 1;
}

}  // namespace kamino::security
