// A folder with a certificate authority: its key, its certificate, and the
// certificates that it has issued and revoked.
//
//   ca.pem             the certificate, for --tls_ca
//   ca.key             the key, which never leaves this folder
//   cluster_id         the cluster whose certificates it issues; no such file:
//                      the authority is for etcd
//   crl/ca.crl         the revocation list; --tls_crl_dir names crl/
//   issued/SERIAL.pem  all issued certificates, without keys
//   KIND-NAME.pem, .key
//                      issued pairs, unless they were written elsewhere
#ifndef KAMINO_CLIENT_CLI_AUTHORITY_FOLDER_H_
#define KAMINO_CLIENT_CLI_AUTHORITY_FOLDER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "security/authority.h"
#include "security/certificate_facts.h"

namespace kamino::client {

// Kinds of certificates besides roles: etcd's, and its clients'.
inline constexpr absl::string_view kOfEtcd = "etcd";
inline constexpr absl::string_view kOfEtcdsClient = "etcd-client";

struct CertificatePair {
  std::string certificate;  // paths
  std::string key;
};

// The facts of the first certificate in a file. kInvalidArgument: the file has
// none.
absl::StatusOr<security::CertificateFacts> ReadFacts(const std::string& path);

class AuthorityFolder {
 public:
  // `cluster`: "" for etcd. kAlreadyExists: the folder has an authority.
  static absl::StatusOr<AuthorityFolder> Make(const std::string& path,
                                              const std::string& cluster,
                                              absl::Duration validity);
  // kInvalidArgument: the folder has no authority, or it cannot be read.
  static absl::StatusOr<AuthorityFolder> Open(const std::string& path);

  struct Wanted {
    std::string kind;  // a role, or one of those above
    std::string name;
    std::vector<std::string> hosts;
    absl::Duration validity;
    std::string out;       // the folder for the pair; "": this one
    bool replace = false;  // otherwise kAlreadyExists if the pair exists
  };
  // kInvalidArgument: this authority cannot issue the kind. Copies ca.pem to
  // `out` if it is missing there.
  absl::StatusOr<CertificatePair> Issue(const Wanted& wanted) const;
  // Replaces the pair of a certificate with one for the same holder and hosts.
  absl::StatusOr<CertificatePair> Renew(const std::string& certificate,
                                        absl::Duration validity) const;
  // `what`: a file or a serial number. Returns the certificate's facts.
  // kInvalidArgument: it is neither.
  absl::StatusOr<security::CertificateFacts> Revoke(
      const std::string& what) const;

  // The same; if `what` is a file, also revokes all other valid certificates of
  // its holder, because each renewal leaves one.
  absl::StatusOr<std::vector<security::CertificateFacts>> RevokeHolder(
      const std::string& what) const;

  struct Issued {
    security::CertificateFacts facts;
    absl::Status good;  // OK, or why the certificate is not valid
  };
  // Sorted by name, newest first.
  absl::StatusOr<std::vector<Issued>> List() const;

  std::string certificate_path() const { return InFolder("ca.pem"); }
  std::string list_path() const { return InFolder("crl/ca.crl"); }

 private:
  AuthorityFolder(std::string path, std::string cluster,
                  security::Authority authority)
      : path_(std::move(path)),
        cluster_(std::move(cluster)),
        authority_(std::move(authority)) {}

  std::string InFolder(absl::string_view name) const;
  absl::Status CheckKind(const Wanted& wanted) const;
  absl::StatusOr<security::Issued> Sign(const Wanted& wanted,
                                        security::Validity validity) const;
  absl::StatusOr<security::Validity> ValidFor(absl::Duration duration) const;
  absl::Status Record(const security::Issued& issued) const;
  absl::Status CopyAuthority(const std::string& folder) const;

  std::string path_;
  std::string cluster_;
  security::Authority authority_;
};

// A certificate's holder, for messages: "kamino://shop/node/n1", "etcd e1",
// "authority \"Kamino authority of shop\"" with its own quotation marks.
std::string HolderText(const security::CertificateFacts& facts);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_AUTHORITY_FOLDER_H_
