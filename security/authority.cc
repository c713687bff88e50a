#include "security/authority.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "openssl/bn.h"
#include "openssl/ec.h"
#include "openssl/err.h"
#include "openssl/evp.h"
#include "openssl/pem.h"
#include "openssl/x509v3.h"
#include "security/certificate_facts.h"

namespace kamino::security {
namespace {

constexpr int kSerialBits = 127;  // positive in 16 bytes
constexpr size_t kMaxName = 64;   // of a common name
constexpr size_t kMaxHosts = 32;

struct ListDeleter {
  void operator()(X509_CRL* list) const { X509_CRL_free(list); }
};
using List = std::unique_ptr<X509_CRL, ListDeleter>;
using Time = std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)>;

absl::Status Failed(absl::string_view what) {
  return absl::InternalError(
      absl::StrCat("cannot make ", what, ": ", OpenSslError()));
}

Time ToAsn1(absl::Time time) {
  return Time(ASN1_TIME_set(nullptr, absl::ToTimeT(time)), &ASN1_TIME_free);
}

template <typename Write>
absl::StatusOr<std::string> ToPem(Write write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()),
                                                      &BIO_free);
  if (bio == nullptr || write(bio.get()) != 1) return Failed("PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

absl::Status Add(int kind, const std::string& value, X509* issuer, X509* to) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> made(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()),
      &X509_EXTENSION_free);
  if (made == nullptr || X509_add_ext(to, made.get(), -1) != 1) {
    return Failed(OBJ_nid2ln(kind));
  }
  return absl::OkStatus();
}

absl::Status SetSerial(X509* certificate) {
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(BN_new(), &BN_free);
  if (number == nullptr ||
      BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) !=
          1 ||
      BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) ==
          nullptr) {
    return Failed("a serial number");
  }
  return absl::OkStatus();
}

// A certificate without its purpose and its signature.
absl::StatusOr<X509Pointer> Blank(absl::string_view name, Validity validity,
                                  EVP_PKEY* key, X509* issuer) {
  if (name.empty() || name.size() > kMaxName) {
    return absl::InvalidArgumentError(
        absl::StrCat("a name has 1 to ", kMaxName, " characters"));
  }
  X509Pointer made(X509_new());
  if (made == nullptr || X509_set_version(made.get(), 2) != 1) {
    return Failed("a certificate");
  }
  RETURN_IF_ERROR(SetSerial(made.get()));
  X509_NAME* const subject = X509_get_subject_name(made.get());
  const auto* const bytes = reinterpret_cast<const unsigned char*>(name.data());
  const Time from = ToAsn1(validity.from);
  const Time until = ToAsn1(validity.until);
  if (X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, bytes,
                                 static_cast<int>(name.size()), -1, 0) != 1 ||
      X509_set_issuer_name(
          made.get(),
          issuer == nullptr ? subject : X509_get_subject_name(issuer)) != 1 ||
      X509_set1_notBefore(made.get(), from.get()) != 1 ||
      X509_set1_notAfter(made.get(), until.get()) != 1 ||
      X509_set_pubkey(made.get(), key) != 1) {
    return Failed("a certificate");
  }
  return made;
}

absl::StatusOr<Issued> Sign(X509* certificate, EVP_PKEY* own,
                            EVP_PKEY* signer) {
  if (X509_sign(certificate, signer, EVP_sha256()) == 0) {
    return Failed("a signature");
  }
  Issued issued;
  ASSIGN_OR_RETURN(issued.certificate_pem, ToPem([&](BIO* to) {
                     return PEM_write_bio_X509(to, certificate);
                   }));
  ASSIGN_OR_RETURN(issued.key_pem, ToPem([&](BIO* to) {
                     return PEM_write_bio_PKCS8PrivateKey(
                         to, own, nullptr, nullptr, 0, nullptr, nullptr);
                   }));
  return issued;
}

bool IsHostName(const std::string& host) {
  return !host.empty() && host.size() <= 253 &&
         !IdentityFromDnsName(host).has_value() &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '*';
         });
}

// Adds hosts to `names` in OpenSSL's syntax for alternative names, which splits
// at commas.
absl::StatusOr<std::string> AlternativeNames(
    std::vector<std::string> names, const std::vector<std::string>& hosts) {
  if (hosts.size() > kMaxHosts) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are more than ", kMaxHosts, " hosts"));
  }
  for (const std::string& host : hosts) {
    in6_addr address;
    const bool is_ip = inet_pton(AF_INET, host.c_str(), &address) == 1 ||
                       inet_pton(AF_INET6, host.c_str(), &address) == 1;
    if (!is_ip && !IsHostName(host)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", host,
                       "\" is neither the name of a host nor an IP "
                       "address"));
    }
    names.push_back(absl::StrCat(is_ip ? "IP:" : "DNS:", host));
  }
  return absl::StrJoin(names, ",");
}

KeyPointer NewKey() { return KeyPointer(EVP_EC_gen("P-256")); }

}  // namespace

Authority::Authority(std::string pem, X509Pointer certificate, KeyPointer key)
    : pem_(std::move(pem)),
      certificate_(std::move(certificate)),
      key_(std::move(key)),
      not_after_(ToTime(X509_get0_notAfter(certificate_.get()))) {}

absl::StatusOr<Issued> Authority::Make(absl::string_view name,
                                       Validity validity) {
  const KeyPointer key = NewKey();
  if (key == nullptr) return Failed("a key");
  ASSIGN_OR_RETURN(const X509Pointer made,
                   Blank(name, validity, key.get(), nullptr));
  for (const auto& [kind, value] :
       {std::pair{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
        std::pair{NID_key_usage, "critical,keyCertSign,cRLSign"},
        std::pair{NID_subject_key_identifier, "hash"}}) {
    RETURN_IF_ERROR(Add(kind, value, made.get(), made.get()));
  }
  return Sign(made.get(), key.get(), key.get());
}

absl::StatusOr<Authority> Authority::Open(const Issued& issued) {
  ASSIGN_OR_RETURN(auto certificates,
                   ParseCertificates(issued.certificate_pem));
  ASSIGN_OR_RETURN(KeyPointer key, ParseKey(issued.key_pem));
  X509Pointer own = std::move(certificates.front());
  if (X509_check_ca(own.get()) == 0) {
    return absl::InvalidArgumentError(
        "has a certificate that is not of an authority");
  }
  if (X509_check_private_key(own.get(), key.get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        "has a key that is not that of its certificate");
  }
  return Authority(issued.certificate_pem, std::move(own), std::move(key));
}

absl::StatusOr<Issued> Authority::Issue(const Holder& holder,
                                        Validity validity) const {
  RETURN_IF_ERROR(CheckIdentity(holder.identity));
  ASSIGN_OR_RETURN(
      const std::string names,
      AlternativeNames({absl::StrCat("URI:", ToString(holder.identity))},
                       holder.hosts));
  const bool serves = holder.identity.role == Role::kNode ||
                      holder.identity.role == Role::kManager;
  return Issue(holder.identity.name, names, serves, validity);
}

absl::StatusOr<Issued> Authority::IssueTo(const Outsider& outsider,
                                          Validity validity) const {
  ASSIGN_OR_RETURN(const std::string names,
                   AlternativeNames({}, outsider.hosts));
  return Issue(outsider.name, names, outsider.serves, validity);
}

absl::StatusOr<Issued> Authority::Issue(const std::string& name,
                                        const std::string& alternative_names,
                                        bool serves, Validity validity) const {
  const KeyPointer key = NewKey();
  if (key == nullptr) return Failed("a key");
  ASSIGN_OR_RETURN(const X509Pointer made,
                   Blank(name, validity, key.get(), certificate_.get()));
  std::vector<std::pair<int, std::string>> extensions = {
      {NID_basic_constraints, "critical,CA:FALSE"},
      {NID_key_usage, "critical,digitalSignature"},
      {NID_ext_key_usage, serves ? "serverAuth,clientAuth" : "clientAuth"},
      {NID_subject_key_identifier, "hash"},
      {NID_authority_key_identifier, "keyid"}};
  if (!alternative_names.empty()) {
    extensions.emplace_back(NID_subject_alt_name, alternative_names);
  }
  for (const auto& [kind, value] : extensions) {
    RETURN_IF_ERROR(Add(kind, value, certificate_.get(), made.get()));
  }
  return Sign(made.get(), key.get(), key_.get());
}

bool Authority::HasSigned(X509* certificate) const {
  const bool signed_here = X509_verify(certificate, key_.get()) == 1;
  ERR_clear_error();
  return signed_here;
}

absl::StatusOr<std::string> Authority::Revoke(absl::string_view list,
                                              absl::string_view certificate_pem,
                                              absl::Time now,
                                              absl::Time next_list) const {
  ASSIGN_OR_RETURN(const auto certificates, ParseCertificates(certificate_pem));
  X509* const revoked = certificates.front().get();
  if (!HasSigned(revoked)) {
    return absl::InvalidArgumentError("is not of this authority");
  }
  const List made(X509_CRL_new());
  const Time from = ToAsn1(now);
  const Time until = ToAsn1(next_list);
  if (made == nullptr || X509_CRL_set_version(made.get(), 1) != 1 ||
      X509_CRL_set_issuer_name(
          made.get(), X509_get_subject_name(certificate_.get())) != 1 ||
      X509_CRL_set1_lastUpdate(made.get(), from.get()) != 1 ||
      X509_CRL_set1_nextUpdate(made.get(), until.get()) != 1) {
    return Failed("a list");
  }
  if (!list.empty()) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
        BIO_new_mem_buf(list.data(), static_cast<int>(list.size())), &BIO_free);
    const List before(
        PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr));
    if (before == nullptr || X509_CRL_verify(before.get(), key_.get()) != 1) {
      ERR_clear_error();
      return absl::InvalidArgumentError("is not a list of this authority");
    }
    STACK_OF(X509_REVOKED)* const entries = X509_CRL_get_REVOKED(before.get());
    for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
      X509_REVOKED* const copy =
          X509_REVOKED_dup(sk_X509_REVOKED_value(entries, i));
      if (X509_CRL_add0_revoked(made.get(), copy) != 1) return Failed("a list");
    }
  }
  X509_REVOKED* entry = nullptr;
  if (X509_CRL_get0_by_cert(made.get(), &entry, revoked) == 0) {
    entry = X509_REVOKED_new();
    if (entry == nullptr ||
        X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(revoked)) !=
            1 ||
        X509_REVOKED_set_revocationDate(entry, from.get()) != 1 ||
        X509_CRL_add0_revoked(made.get(), entry) != 1) {
      return Failed("a list");
    }
  }
  if (X509_CRL_sort(made.get()) != 1 ||
      X509_CRL_sign(made.get(), key_.get(), EVP_sha256()) == 0) {
    return Failed("a list");
  }
  return ToPem([&](BIO* to) { return PEM_write_bio_X509_CRL(to, made.get()); });
}

}  // namespace kamino::security
