#include "security/tls_flags.h"

#include <arpa/inet.h>

#include <string>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

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
          "Goes without certificates even where others than this machine can "
          "listen and call: whoever reaches a port may do everything.");

namespace kamino::security {

absl::StatusOr<std::unique_ptr<Certificates>> CertificatesOfFlags(
    const Identity& own) {
  Certificates::Options options;
  options.files = {absl::GetFlag(FLAGS_tls_cert), absl::GetFlag(FLAGS_tls_key),
                   absl::GetFlag(FLAGS_tls_ca),
                   absl::GetFlag(FLAGS_tls_crl_dir)};
  options.cluster = own.cluster;
  const TlsFiles& files = options.files;
  if (files.certificate.empty() && files.key.empty() &&
      files.authorities.empty() && files.revoked.empty()) {
    return nullptr;
  }
  if (files.certificate.empty() || files.key.empty() ||
      files.authorities.empty()) {
    return absl::InvalidArgumentError(
        "--tls_cert, --tls_key and --tls_ca go together");
  }
  if (absl::GetFlag(FLAGS_insecure)) {
    return absl::InvalidArgumentError("--insecure and --tls_cert contradict");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Certificates> made,
                   Certificates::Load(options));
  if (made->identity() != own) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--tls_cert: ", files.certificate, " is the certificate of ",
        ToString(made->identity()), ", and this is ", ToString(own)));
  }
  return made;
}

bool IsLoopback(absl::string_view address) {
  const size_t colon = address.rfind(':');
  absl::string_view host = address;
  // An IPv6 address without brackets has no port.
  if (colon != absl::string_view::npos &&
      (address.find(':') == colon || absl::StrContains(address, ']'))) {
    host = address.substr(0, colon);
  }
  absl::ConsumePrefix(&host, "[");
  absl::ConsumeSuffix(&host, "]");
  const std::string text = absl::AsciiStrToLower(host);
  if (text == "localhost") return true;
  in_addr ip4;
  if (inet_pton(AF_INET, text.c_str(), &ip4) == 1) {
    return (ntohl(ip4.s_addr) >> 24) == 127;
  }
  in6_addr ip6;
  return inet_pton(AF_INET6, text.c_str(), &ip6) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&ip6);
}

absl::Status CheckInTheClear(absl::string_view what, absl::string_view address,
                             bool insecure) {
  if (insecure || IsLoopback(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, ": ", address,
      " is not of this machine alone: give certificates (--tls_cert, "
      "--tls_key, --tls_ca), or say --insecure, which lets in everybody"));
}

absl::Status CheckInTheClear(absl::string_view what,
                             absl::string_view address) {
  return CheckInTheClear(what, address, absl::GetFlag(FLAGS_insecure));
}

}  // namespace kamino::security
