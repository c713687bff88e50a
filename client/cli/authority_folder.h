// A folder with an authority: its key, its certificate, and what it has issued
// and revoked.
//
//   ca.pem             the certificate: what --tls_ca names
//   ca.key             the key, which leaves this folder never
//   cluster_id         the cluster whose certificates it issues; no such file:
//                      it is for etcd
//   crl/ca.crl         the list of what is revoked: --tls_crl_dir names crl/
//   issued/SERIAL.pem  all certificates that it has issued, without keys
//   KIND-NAME.pem, .key
//                      pairs that it has issued, unless they went elsewhere
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

// Kinds of certificates besides roles: of etcd, and of who calls it.
inline constexpr absl::string_view kOfEtcd = "etcd";
inline constexpr absl::string_view kOfEtcdsClient = "etcd-client";

struct CertificatePair {
  std::string certificate;  // paths
  std::string key;
};

// Of the certificates in a file, the first one. kInvalidArgument: there is
// none.
absl::StatusOr<security::CertificateFacts> ReadFacts(const std::string& path);

class AuthorityFolder {
 public:
  // `cluster`: "" for etcd's. kAlreadyExists: there is one.
  static absl::StatusOr<AuthorityFolder> Make(const std::string& path,
                                              const std::string& cluster,
                                              absl::Duration validity);
  // kInvalidArgument: there is none, or it cannot be read.
  static absl::StatusOr<AuthorityFolder> Open(const std::string& path);

  struct Wanted {
    std::string kind;  // a role, or one of those above
    std::string name;
    std::vector<std::string> hosts;
    absl::Duration validity;
    std::string out;       // the folder for the pair; "": this one
    bool replace = false;  // else kAlreadyExists: the pair is there
  };
  // kInvalidArgument: this authority issues no such thing. Where `out` has no
  // ca.pem it gets one.
  absl::StatusOr<CertificatePair> Issue(const Wanted& wanted) const;
  // Replaces the pair of a certificate with one for the same holder and hosts.
  absl::StatusOr<CertificatePair> Renew(const std::string& certificate,
                                        absl::Duration validity) const;
  // `what`: a file, or a serial number. Returns what it was.
  // kInvalidArgument: it is neither.
  absl::StatusOr<security::CertificateFacts> Revoke(
      const std::string& what) const;

  // The same; and where it is a file, all others of its holder that are good:
  // each renewal leaves one.
  absl::StatusOr<std::vector<security::CertificateFacts>> RevokeHolder(
      const std::string& what) const;

  struct Issued {
    security::CertificateFacts facts;
    absl::Status good;  // why it is not, if so
  };
  // By name, the newest first.
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

// What a certificate is of, as people call it: "kamino://shop/node/n1", "etcd
// e1".
std::string HolderText(const security::CertificateFacts& facts);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_AUTHORITY_FOLDER_H_
