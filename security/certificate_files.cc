#include "security/certificate_files.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::security {

bool CertificateFiles::Read() {
  TlsTexts texts = ReadTlsFiles(files_);
  if (texts == texts_) return false;
  texts_ = std::move(texts);
  return true;
}

absl::StatusOr<std::shared_ptr<const CertificateSet>> CertificateFiles::Parse(
    const CertificateSet* before) const {
  if (!texts_.unreadable.empty()) {
    return absl::InvalidArgumentError(texts_.unreadable);
  }
  ASSIGN_OR_RETURN(OwnPair pair, ParseOwnPair(files_, texts_));
  absl::StatusOr<Certificate> own = Certificate::Of(std::move(pair.chain));
  if (!own.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(files_.certificate, ": ", own.status().message()));
  }
  absl::StatusOr<std::shared_ptr<const Trust>> trust =
      before == nullptr
          ? Trust::Parse(texts_.authorities, texts_.revoked)
          : Trust::Parse(texts_.authorities, texts_.revoked, *before->trust);
  if (!trust.ok()) return InFile(files_.authorities + ":", trust.status());
  return std::make_shared<const CertificateSet>(
      CertificateSet{texts_.certificate, texts_.key, texts_.authorities,
                     *std::move(own), std::move(pair.key), *std::move(trust)});
}

}  // namespace kamino::security
