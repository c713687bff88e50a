#include "security/tls_texts.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "openssl/err.h"
#include "openssl/x509.h"
#include "security/regular_file.h"

namespace kamino::security {
namespace {

constexpr size_t kMaxLists = 256;

absl::StatusOr<std::vector<Trust::Source>> ReadLists(
    const std::string& folder) {
  std::vector<Trust::Source> lists;
  if (folder.empty()) return lists;
  std::error_code error;
  std::vector<std::string> paths;
  for (std::filesystem::directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!absl::EndsWith(name, ".pem") && !absl::EndsWith(name, ".crl")) {
      continue;
    }
    paths.push_back(entry->path().string());
    if (paths.size() > kMaxLists) {
      return absl::InvalidArgumentError(
          absl::StrCat(folder, " has more than ", kMaxLists, " files"));
    }
  }
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, " cannot be read: ", error.message()));
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(std::string pem, ReadRegularFile(path));
    lists.push_back({path, std::move(pem)});
  }
  return lists;
}

}  // namespace

bool operator==(const TlsTexts& a, const TlsTexts& b) {
  const auto same = [](const Trust::Source& x, const Trust::Source& y) {
    return x.name == y.name && x.pem == y.pem;
  };
  return a.certificate == b.certificate && a.key == b.key &&
         a.authorities == b.authorities && a.unreadable == b.unreadable &&
         std::equal(a.revoked.begin(), a.revoked.end(), b.revoked.begin(),
                    b.revoked.end(), same);
}

TlsTexts ReadTlsFiles(const TlsFiles& files) {
  TlsTexts texts;
  const auto read = [&texts](const std::string& path, std::string* text) {
    if (path.empty()) return;
    absl::StatusOr<std::string> found = ReadRegularFile(path);
    if (found.ok()) {
      *text = *std::move(found);
    } else {
      texts.unreadable = std::string(found.status().message());
    }
  };
  read(files.certificate, &texts.certificate);
  read(files.key, &texts.key);
  read(files.authorities, &texts.authorities);
  absl::StatusOr<std::vector<Trust::Source>> lists = ReadLists(files.revoked);
  if (lists.ok()) {
    texts.revoked = *std::move(lists);
  } else {
    texts.unreadable = std::string(lists.status().message());
  }
  return texts;
}

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, " ", status.message()));
}

absl::StatusOr<OwnPair> ParseOwnPair(const TlsFiles& files,
                                     const TlsTexts& texts) {
  auto chain = ParseCertificates(texts.certificate);
  if (!chain.ok()) return InFile(files.certificate, chain.status());
  auto key = ParseKey(texts.key);
  if (!key.ok()) return InFile(files.key, key.status());
  if (X509_check_private_key(chain->front().get(), key->get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        absl::StrCat(files.key, " is not the key of the certificate in ",
                     files.certificate));
  }
  return OwnPair{*std::move(chain), *std::move(key)};
}

}  // namespace kamino::security
