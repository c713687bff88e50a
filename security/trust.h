// Decides whether a certificate is trusted: an authority has signed it, it is
// valid, and it is not revoked.
#ifndef KAMINO_SECURITY_TRUST_H_
#define KAMINO_SECURITY_TRUST_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "openssl/types.h"
#include "security/certificate.h"

namespace kamino::security {

// The result of a check.
struct Verdict {
  absl::Status status;  // kUnauthenticated: one line gives holder and reason
  int x509_error = 0;   // as OpenSSL reports it to the peer; 0: none
};

// Immutable.
class Trust {
 public:
  struct Source {
    std::string name;  // of the file
    std::string pem;
  };
  // kInvalidArgument: an authority or a list cannot be read, or no authority
  // has signed the list.
  static absl::StatusOr<std::shared_ptr<const Trust>> Parse(
      absl::string_view authorities, const std::vector<Source>& revoked);

  // The same, but keeps a list of `before` for each authority that is still
  // trusted and has no list in `revoked`: a removed file must not undo
  // revocations.
  static absl::StatusOr<std::shared_ptr<const Trust>> Parse(
      absl::string_view authorities, const std::vector<Source>& revoked,
      const Trust& before);

  // Checks the certificate of a holder of `cluster` at `now`. If an authority
  // has no list, none of its certificates is revoked. A list counts even after
  // the time of its next update.
  Verdict Check(const Certificate& certificate, absl::string_view cluster,
                absl::Time now) const;
  // The same for any holder.
  Verdict CheckChain(const std::vector<X509Pointer>& chain,
                     absl::Time now) const;

  // The earliest time of next update of all lists.
  absl::Time next_lists() const { return next_lists_; }
  size_t revoked_lists() const { return lists_.size(); }
  // The number of lists kept from `before`.
  size_t kept_lists() const { return kept_lists_; }

 private:
  struct StoreDeleter {
    void operator()(X509_STORE* store) const;
  };
  struct ListDeleter {
    void operator()(X509_CRL* list) const;
  };
  using ListPointer = std::unique_ptr<X509_CRL, ListDeleter>;

  Trust() = default;
  static absl::StatusOr<std::shared_ptr<Trust>> ParseNew(
      absl::string_view authorities, const std::vector<Source>& revoked);
  absl::Status AddLists(const Source& source);
  void KeepLists(const Trust& before);
  bool IsSigned(X509_CRL* list) const;
  bool IsRevoked(X509* certificate) const;

  std::vector<X509Pointer> authorities_;
  std::unique_ptr<X509_STORE, StoreDeleter> store_;
  std::vector<ListPointer> lists_;
  size_t kept_lists_ = 0;
  absl::Time next_lists_ = absl::InfiniteFuture();
};

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_TRUST_H_
