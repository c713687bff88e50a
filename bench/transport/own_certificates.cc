#include "bench/transport/own_certificates.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "security/authority.h"
#include "security/identity.h"

namespace kamino::bench {

absl::StatusOr<std::shared_ptr<security::Certificates>> MakeOwnCertificates() {
  // Whatever the calendar says.
  const absl::Time then = absl::UnixEpoch() + absl::Hours(1);
  const security::Validity validity = {absl::UnixEpoch(),
                                       absl::UnixEpoch() + absl::Hours(2)};
  ASSIGN_OR_RETURN(const security::Issued root,
                   security::Authority::Make("bench", validity));
  ASSIGN_OR_RETURN(const security::Authority authority,
                   security::Authority::Open(root));
  ASSIGN_OR_RETURN(
      const security::Issued own,
      authority.Issue({{"bench", security::Role::kNode, "n1"}, {}}, validity));
  char folder[] = "/tmp/kamino-bench-XXXXXX";
  if (::mkdtemp(folder) == nullptr) {
    return absl::UnavailableError("there is no place for certificates in /tmp");
  }
  const auto write = [&](const char* name, absl::string_view text) {
    std::string path = std::string(folder) + "/" + name;
    std::ofstream(path) << text;
    return path;
  };
  security::Certificates::Options options;
  options.files.certificate = write("own.pem", own.certificate_pem);
  options.files.key = write("own.key", own.key_pem);
  options.files.authorities = write("ca.pem", authority.certificate_pem());
  options.now = [then] { return then; };
  options.look = absl::InfiniteDuration();
  auto loaded = security::Certificates::Load(options);
  std::filesystem::remove_all(folder);
  if (!loaded.ok()) return loaded.status();
  return std::shared_ptr<security::Certificates>(*std::move(loaded));
}

}  // namespace kamino::bench
