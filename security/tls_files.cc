#include "security/tls_files.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kamino::security {
namespace {

// "--a", "--a and --b", "--a, --b and --c".
std::string Listed(const std::vector<std::string>& names) {
  const std::vector<std::string> most(names.begin(), names.end() - 1);
  return absl::StrCat(absl::StrJoin(most, ", "), most.empty() ? "" : " and ",
                      names.back());
}

}  // namespace

absl::Status CheckComplete(const TlsFiles& files, TlsNamedBy by) {
  const std::vector<std::pair<std::string, const std::string*>> all = {
      {"tls_cert", &files.certificate},
      {"tls_key", &files.key},
      {"tls_ca", &files.authorities}};
  std::vector<std::string> given, missing, keys, flags, variables;
  for (const auto& [name, file] : all) {
    if (!file->empty()) {
      given.push_back(absl::StrCat("--", name));
      continue;
    }
    missing.push_back(absl::StrCat("--", name));
    keys.push_back(name);
    flags.push_back(absl::StrCat("--", name, "=FILE"));
    variables.push_back(absl::StrCat("KAMINO_", absl::AsciiStrToUpper(name)));
  }
  if (!files.revoked.empty()) given.push_back("--tls_crl_dir");
  if (missing.empty() || given.empty()) return absl::OkStatus();
  const bool environment = by == TlsNamedBy::kEnvironmentToo;
  const bool half = files.certificate.empty() != files.key.empty();
  return absl::InvalidArgumentError(absl::StrCat(
      Listed(given), given.size() == 1 ? " is" : " are", " given, but ",
      Listed(missing), missing.size() == 1 ? " is" : " are",
      " missing, and they go together: give ", Listed(flags),
      environment ? ", set " : ", or set ", Listed(keys),
      " in the configuration file",
      environment ? absl::StrCat(", or export ", Listed(variables)) : "",
      environment && half
          ? "; a certificate and its key are taken from one of these places"
          : ""));
}

}  // namespace kamino::security
