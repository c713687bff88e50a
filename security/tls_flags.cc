#include "security/tls_flags.h"

#include <string>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "security/in_the_clear.h"

ABSL_FLAG(std::string, tls_cert, "",
          "File (PEM) with the certificate of this process, and those that "
          "lead from it to an authority. Read again when it changes.");
ABSL_FLAG(std::string, tls_key, "",
          "File (PEM) with the private key of --tls_cert.");
ABSL_FLAG(std::string, tls_ca, "",
          "File (PEM) with the authorities whose certificates are believed.");
ABSL_FLAG(std::string, tls_crl_dir, "",
          "Folder with lists (PEM, *.pem or *.crl) of revoked certificates.");
ABSL_FLAG(bool, insecure, false,
          "Runs without certificates even if other machines can listen and "
          "call: every caller that reaches a port may then do everything.");

namespace kamino::security {
namespace {

TlsFiles FilesOfFlags() {
  return {absl::GetFlag(FLAGS_tls_cert), absl::GetFlag(FLAGS_tls_key),
          absl::GetFlag(FLAGS_tls_ca), absl::GetFlag(FLAGS_tls_crl_dir)};
}

}  // namespace

absl::Status CheckTlsFlags(const std::vector<Reached>& reached) {
  const TlsFiles files = FilesOfFlags();
  RETURN_IF_ERROR(CheckComplete(files));
  const bool insecure = absl::GetFlag(FLAGS_insecure);
  if (files.any() && insecure) {
    return absl::InvalidArgumentError("--insecure and --tls_cert contradict");
  }
  if (files.any()) return absl::OkStatus();
  for (const auto& [flag, address] : reached) {
    RETURN_IF_ERROR(
        CheckInTheClear(absl::StrCat("--", flag), address, insecure));
  }
  return absl::OkStatus();
}

bool FlagsNameCertificates() { return FilesOfFlags().any(); }

absl::StatusOr<std::shared_ptr<Certificates>> CertificatesOfFlags(
    const Identity& own) {
  Certificates::Options options;
  options.files = FilesOfFlags();
  options.cluster = own.cluster;
  if (!options.files.any()) return nullptr;
  ASSIGN_OR_RETURN(std::shared_ptr<Certificates> made,
                   Certificates::Load(options));
  Identity wanted = own;
  if (own.name.empty()) wanted.name = made->identity().name;
  if (made->identity() != wanted) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--tls_cert: ", options.files.certificate, " is the certificate of ",
        ToString(made->identity()), ", and this is ", ToString(wanted)));
  }
  return made;
}

}  // namespace kamino::security
