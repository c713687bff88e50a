// Whose certificates are believed: those that authorities have signed, for as
// long as they are valid and not revoked.
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

// What is wrong with a certificate.
struct Verdict {
  absl::Status status;  // kUnauthenticated: one line says who, and what
  int x509_error = 0;   // as OpenSSL tells it to the peer; 0: nothing is wrong
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

  // The same, and with the lists of `before` of those authorities that had one
  // there, are believed still, and have none in `revoked`: who takes a file
  // away has not said that nobody is revoked any more.
  static absl::StatusOr<std::shared_ptr<const Trust>> Parse(
      absl::string_view authorities, const std::vector<Source>& revoked,
      const Trust& before);

  // Of a holder of `cluster`, at `now`. Where an authority has given out no
  // list, none of its certificates is revoked; a list counts even after the
  // time by which the next should have come.
  Verdict Check(const Certificate& certificate, absl::string_view cluster,
                absl::Time now) const;
  // The same of one whose holder does not matter.
  Verdict CheckChain(const std::vector<X509Pointer>& chain,
                     absl::Time now) const;

  // The earliest time by which a next list should have come.
  absl::Time next_lists() const { return next_lists_; }
  size_t revoked_lists() const { return lists_.size(); }
  // Of these, those of before.
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
