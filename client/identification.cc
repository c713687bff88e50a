#include "client/identification.h"

#include <utility>

#include "base/address.h"
#include "base/status_macros.h"
#include "security/certificates.h"
#include "security/in_the_clear.h"

namespace kamino::client {

absl::StatusOr<std::shared_ptr<const rpc::Credentials>> Identify(
    const security::TlsFiles& files, bool insecure,
    const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) {
    RETURN_IF_ERROR(CheckAddress(address));
  }
  RETURN_IF_ERROR(security::CheckComplete(files));
  if (!files.any()) {
    for (const std::string& address : addresses) {
      RETURN_IF_ERROR(security::CheckInTheClear("the cluster is elsewhere",
                                                address, insecure));
    }
    return nullptr;
  }
  if (insecure) {
    return absl::InvalidArgumentError("--insecure and --tls_cert contradict");
  }
  security::Certificates::Options options;
  options.files = files;
  ASSIGN_OR_RETURN(std::shared_ptr<security::Certificates> certificates,
                   security::Certificates::Load(options));
  return rpc::Credentials::Make(std::move(certificates));
}

}  // namespace kamino::client
