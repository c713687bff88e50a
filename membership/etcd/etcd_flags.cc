#include "membership/etcd/etcd_flags.h"

#include <utility>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "security/in_the_clear.h"

ABSL_FLAG(std::string, etcd_tls_ca, "",
          "File (PEM) with the authorities that sign etcd's certificates: "
          "connections to etcd use TLS. Without it, they use no TLS.");
ABSL_FLAG(std::string, etcd_tls_cert, "",
          "File (PEM) with the certificate that the manager presents to etcd, "
          "if etcd requires one (--client-cert-auth). Read again when it "
          "changes.");
ABSL_FLAG(std::string, etcd_tls_key, "",
          "File (PEM) with the private key of --etcd_tls_cert.");
ABSL_FLAG(std::string, etcd_tls_crl_dir, "",
          "Folder with lists (PEM, *.pem or *.crl) of revoked certificates of "
          "etcd.");
ABSL_FLAG(std::string, etcd_user, "",
          "User at etcd, if etcd has authentication enabled.");
ABSL_FLAG(std::string, etcd_password_file, "",
          "File with the password of --etcd_user in its first line. Read at "
          "each login.");

// security/tls_flags.cc
ABSL_DECLARE_FLAG(bool, insecure);
ABSL_DECLARE_FLAG(std::string, tls_cert);

namespace kamino::membership {
namespace {

security::TlsFiles Files() {
  return {absl::GetFlag(FLAGS_etcd_tls_cert), absl::GetFlag(FLAGS_etcd_tls_key),
          absl::GetFlag(FLAGS_etcd_tls_ca),
          absl::GetFlag(FLAGS_etcd_tls_crl_dir)};
}

absl::Status CheckInTheClear(const std::string& endpoint) {
  if (absl::GetFlag(FLAGS_insecure) || security::IsLoopback(endpoint)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--etcd: ", endpoint,
      " is not a loopback address: give "
      "--etcd_tls_ca (and --etcd_tls_cert and --etcd_tls_key, if etcd requires "
      "a certificate)",
      absl::GetFlag(FLAGS_tls_cert).empty()
          ? ", or say --insecure: then data travels to and from etcd "
            "unprotected"
          : ""));
}

}  // namespace

absl::Status CheckEtcdFlags(const std::vector<std::string>& endpoints) {
  const security::TlsFiles files = Files();
  if (files.any() && files.authorities.empty()) {
    return absl::InvalidArgumentError(
        "--etcd_tls_ca is missing: it names the authorities of etcd");
  }
  if (files.certificate.empty() != files.key.empty()) {
    return absl::InvalidArgumentError(
        "--etcd_tls_cert and --etcd_tls_key go together");
  }
  if (absl::GetFlag(FLAGS_etcd_user).empty() !=
      absl::GetFlag(FLAGS_etcd_password_file).empty()) {
    return absl::InvalidArgumentError(
        "--etcd_user and --etcd_password_file go together");
  }
  if (files.any()) return absl::OkStatus();
  for (const std::string& endpoint : endpoints) {
    RETURN_IF_ERROR(CheckInTheClear(endpoint));
  }
  return absl::OkStatus();
}

absl::StatusOr<EtcdAccess> EtcdAccessOfFlags() {
  EtcdAccess access;
  access.user = {absl::GetFlag(FLAGS_etcd_user),
                 absl::GetFlag(FLAGS_etcd_password_file)};
  if (!access.user.name.empty()) {
    const auto password = ReadPassword(access.user.password_file);
    if (!password.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--etcd_password_file: ", password.status().message()));
    }
  }
  EtcdTls::Options options;
  options.files = Files();
  if (options.files.any()) {
    ASSIGN_OR_RETURN(access.tls, EtcdTls::Load(std::move(options)));
  }
  return access;
}

}  // namespace kamino::membership
