#include "security/trust.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "openssl/err.h"
#include "openssl/pem.h"
#include "openssl/x509_vfy.h"
#include "openssl/x509v3.h"
#include "security/certificate_facts.h"

namespace kamino::security {
namespace {

constexpr size_t kMaxLists = 1024;

Verdict Refusal(int error, absl::string_view who, absl::string_view what) {
  return {absl::UnauthenticatedError(absl::StrCat(who, ": ", what)), error};
}

std::string Describe(int error) {
  const std::string text = X509_verify_cert_error_string(error);
  switch (error) {
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
      return absl::StrCat("no trusted authority has signed it (", text, ")");
    default:
      return text;
  }
}

absl::Time NextOf(const X509_CRL* list) {
  const ASN1_TIME* const next = X509_CRL_get0_nextUpdate(list);
  return next == nullptr ? absl::InfiniteFuture() : ToTime(next);
}

std::string SubjectOf(const X509& certificate) {
  char* const text =
      X509_NAME_oneline(X509_get_subject_name(&certificate), nullptr, 0);
  std::string subject = text == nullptr ? "" : text;
  OPENSSL_free(text);
  return subject;
}

}  // namespace

void Trust::StoreDeleter::operator()(X509_STORE* store) const {
  X509_STORE_free(store);
}

void Trust::ListDeleter::operator()(X509_CRL* list) const {
  X509_CRL_free(list);
}

absl::StatusOr<std::shared_ptr<const Trust>> Trust::Parse(
    absl::string_view authorities, const std::vector<Source>& revoked) {
  return ParseNew(authorities, revoked);
}

absl::StatusOr<std::shared_ptr<const Trust>> Trust::Parse(
    absl::string_view authorities, const std::vector<Source>& revoked,
    const Trust& before) {
  ASSIGN_OR_RETURN(std::shared_ptr<Trust> trust,
                   ParseNew(authorities, revoked));
  trust->KeepLists(before);
  return trust;
}

absl::StatusOr<std::shared_ptr<Trust>> Trust::ParseNew(
    absl::string_view authorities, const std::vector<Source>& revoked) {
  std::shared_ptr<Trust> trust(new Trust);
  ASSIGN_OR_RETURN(trust->authorities_, ParseCertificates(authorities));
  trust->store_.reset(X509_STORE_new());
  if (trust->store_ == nullptr) {
    return absl::ResourceExhaustedError(OpenSslError());
  }
  for (const X509Pointer& authority : trust->authorities_) {
    if (X509_check_ca(authority.get()) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          SubjectOf(*authority), " is not the certificate of an authority"));
    }
    if (X509_STORE_add_cert(trust->store_.get(), authority.get()) != 1) {
      return absl::InvalidArgumentError(OpenSslError());
    }
  }
  for (const Source& source : revoked) {
    RETURN_IF_ERROR(trust->AddLists(source));
  }
  return trust;
}

void Trust::KeepLists(const Trust& before) {
  const size_t given = lists_.size();
  for (const ListPointer& list : before.lists_) {
    const bool has_one = std::any_of(
        lists_.begin(), lists_.begin() + given,
        [&list](const ListPointer& own) {
          return X509_NAME_cmp(X509_CRL_get_issuer(own.get()),
                               X509_CRL_get_issuer(list.get())) == 0;
        });
    if (has_one || !IsSigned(list.get())) continue;
    X509_CRL_up_ref(list.get());
    lists_.emplace_back(list.get());
    next_lists_ = std::min(next_lists_, NextOf(list.get()));
    ++kept_lists_;
  }
}

absl::Status Trust::AddLists(const Source& source) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(source.pem.data(), static_cast<int>(source.pem.size())),
      &BIO_free);
  if (bio == nullptr) return absl::ResourceExhaustedError(OpenSslError());
  size_t found = 0;
  while (ListPointer list{
      PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr)}) {
    ++found;
    if (!IsSigned(list.get())) {
      return absl::InvalidArgumentError(absl::StrCat(
          source.name, " is a list that no trusted authority has signed"));
    }
    next_lists_ = std::min(next_lists_, NextOf(list.get()));
    lists_.push_back(std::move(list));
    if (lists_.size() > kMaxLists) {
      return absl::InvalidArgumentError(
          absl::StrCat("there are more than ", kMaxLists, " lists"));
    }
  }
  const bool at_end =
      ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string error = OpenSslError();
  if (found == 0 || !at_end) {
    return absl::InvalidArgumentError(absl::StrCat(
        source.name, " is not a list of revoked certificates in PEM: ", error));
  }
  return absl::OkStatus();
}

bool Trust::IsSigned(X509_CRL* list) const {
  for (const X509Pointer& authority : authorities_) {
    if (X509_NAME_cmp(X509_CRL_get_issuer(list),
                      X509_get_subject_name(authority.get())) == 0 &&
        X509_CRL_verify(list, X509_get0_pubkey(authority.get())) == 1) {
      return true;
    }
  }
  ERR_clear_error();
  return false;
}

bool Trust::IsRevoked(X509* certificate) const {
  for (const ListPointer& list : lists_) {
    X509_REVOKED* entry = nullptr;
    if (X509_NAME_cmp(X509_CRL_get_issuer(list.get()),
                      X509_get_issuer_name(certificate)) == 0 &&
        X509_CRL_get0_by_cert(list.get(), &entry, certificate) == 1) {
      return true;
    }
  }
  return false;
}

Verdict Trust::Check(const Certificate& certificate, absl::string_view cluster,
                     absl::Time now) const {
  const Identity& holder = certificate.identity();
  const std::string who = absl::StrCat(ToString(holder), " (certificate ",
                                       certificate.serial(), ")");
  if (holder.cluster != cluster) {
    return Refusal(X509_V_ERR_APPLICATION_VERIFICATION, who,
                   absl::StrCat("is of another cluster than ", cluster));
  }
  Verdict verdict = CheckChain(certificate.chain(), now);
  if (!verdict.status.ok()) {
    return Refusal(verdict.x509_error, who, verdict.status.message());
  }
  return verdict;
}

Verdict Trust::CheckChain(const std::vector<X509Pointer>& chain,
                          absl::Time now) const {
  if (chain.empty()) {
    return {absl::UnauthenticatedError("no certificate"),
            X509_V_ERR_UNSPECIFIED};
  }
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> check(
      X509_STORE_CTX_new(), &X509_STORE_CTX_free);
  const auto free_stack = [](STACK_OF(X509) * stack) { sk_X509_free(stack); };
  const std::unique_ptr<STACK_OF(X509), decltype(free_stack)> others(
      sk_X509_new_null(), free_stack);
  for (size_t i = 1; i < chain.size() && others != nullptr; ++i) {
    sk_X509_push(others.get(), chain[i].get());
  }
  if (check == nullptr || others == nullptr ||
      X509_STORE_CTX_init(check.get(), store_.get(), chain.front().get(),
                          others.get()) != 1) {
    return {absl::UnauthenticatedError(OpenSslError()), X509_V_ERR_OUT_OF_MEM};
  }
  X509_STORE_CTX_set_time(check.get(), 0, absl::ToTimeT(now));
  if (X509_verify_cert(check.get()) != 1) {
    const int error = X509_STORE_CTX_get_error(check.get());
    ERR_clear_error();
    return {absl::UnauthenticatedError(Describe(error)), error};
  }
  STACK_OF(X509)* const verified = X509_STORE_CTX_get0_chain(check.get());
  for (int i = 0; i < sk_X509_num(verified); ++i) {
    if (IsRevoked(sk_X509_value(verified, i))) {
      return {absl::UnauthenticatedError(
                  X509_verify_cert_error_string(X509_V_ERR_CERT_REVOKED)),
              X509_V_ERR_CERT_REVOKED};
    }
  }
  return {absl::OkStatus(), X509_V_OK};
}

}  // namespace kamino::security
