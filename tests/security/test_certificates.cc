#include "tests/security/test_certificates.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/time/clock.h"
#include "glog/logging.h"
#include "gtest/gtest.h"

namespace kamino::security {
namespace {

Validity Usual() {
  return {absl::Now() - absl::Hours(1), absl::Now() + absl::Hours(23)};
}

Authority Make(const std::string& name, Validity validity) {
  absl::StatusOr<Issued> issued = Authority::Make(name, validity);
  CHECK(issued.ok()) << issued.status();
  absl::StatusOr<Authority> authority = Authority::Open(*issued);
  CHECK(authority.ok()) << authority.status();
  return *std::move(authority);
}

}  // namespace

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string NewFolder() {
  std::string folder = testing::TempDir() + "/certificates.XXXXXX";
  CHECK(mkdtemp(folder.data()) != nullptr);
  return folder;
}

TestAuthority::TestAuthority(const std::string& name)
    : validity_(Usual()), authority_(Make(name, validity_)) {}

Issued TestAuthority::Issue(const Identity& identity) const {
  return Issue(identity, validity_);
}

Issued TestAuthority::Issue(const Identity& identity, Validity validity) const {
  absl::StatusOr<Issued> issued =
      authority_.Issue({identity, {"localhost", "127.0.0.1"}}, validity);
  CHECK(issued.ok()) << issued.status();
  return *std::move(issued);
}

TlsFiles TestAuthority::Write(const Issued& issued) const {
  const std::string folder = NewFolder();
  TlsFiles files = {folder + "/own.pem", folder + "/own.key",
                    folder + "/ca.pem", folder + "/revoked"};
  std::filesystem::create_directory(files.revoked);
  WriteText(files.certificate, issued.certificate_pem);
  WriteText(files.key, issued.key_pem);
  WriteText(files.authorities, std::string(authority_.certificate_pem()));
  return files;
}

std::unique_ptr<Certificates> TestAuthority::Load(
    const Identity& identity, std::function<absl::Time()> now) const {
  Certificates::Options options;
  options.files = Write(identity);
  options.now = std::move(now);
  options.look = absl::InfiniteDuration();
  auto made = Certificates::Load(options);
  CHECK(made.ok()) << made.status();
  return *std::move(made);
}

void TestAuthority::Revoke(const std::string& certificate_pem,
                           const TlsFiles& files) const {
  const std::string path = files.revoked + "/list.pem";
  const std::string before =
      std::filesystem::exists(path) ? ReadText(path) : "";
  absl::StatusOr<std::string> list = authority_.Revoke(
      before, certificate_pem, validity_.from, validity_.until);
  CHECK(list.ok()) << list.status();
  WriteText(path, *list);
}

}  // namespace kamino::security
