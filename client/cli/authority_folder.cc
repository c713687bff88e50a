#include "client/cli/authority_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <system_error>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/address.h"
#include "base/status_macros.h"
#include "client/cli/files.h"
#include "client/cli/new_files.h"
#include "security/certificate.h"
#include "security/tls_texts.h"
#include "security/trust.h"

namespace kamino::client {
namespace {

using security::Authority;
using security::CertificateFacts;
using security::InFile;
using security::Validity;

constexpr size_t kMaxFile = 1 << 20;
// Allows for clocks of other machines that are behind.
constexpr absl::Duration kEarlier = absl::Hours(1);

absl::StatusOr<std::string> Read(const std::string& path) {
  return ReadFile(path, kMaxFile, "which is more than certificates take");
}

absl::StatusOr<std::vector<security::X509Pointer>> ReadCertificates(
    const std::string& path) {
  ASSIGN_OR_RETURN(const std::string pem, Read(path));
  auto certificates = security::ParseCertificates(pem);
  if (!certificates.ok()) return InFile(path, certificates.status());
  return certificates;
}

bool IsOfEtcd(absl::string_view kind) {
  return kind == kOfEtcd || kind == kOfEtcdsClient;
}

std::string Joined(absl::string_view folder, absl::string_view name) {
  return absl::StrCat(absl::StripSuffix(folder, "/"), "/", name);
}

CertificatePair PairNamed(const std::string& stem) {
  return {stem + ".pem", stem + ".key"};
}

// Whether the file is known not to exist. False also for a path that stat
// cannot reach: the caller's read reports why.
bool IsMissing(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) != 0 && errno == ENOENT;
}

// Refuses a mistyped IPv4 address, which is also a valid host name.
absl::Status CheckHost(const std::string& host) {
  const absl::Status checked = ParseAddress(host + ":1").status();
  const size_t why = checked.message().find(host + " is no IPv4 address");
  if (why == absl::string_view::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--host: ", checked.message().substr(why)));
}

// A key and a certificate under temporary names, so that a full disk never
// leaves half a pair or replaces half of an existing one.
class NewPair {
 public:
  static absl::StatusOr<NewPair> Write(const CertificatePair& pair,
                                       const security::Issued& issued,
                                       Existing existing) {
    if (existing == Existing::kStays && IsThere(pair.certificate)) {
      return absl::AlreadyExistsError(pair.certificate + " is there already");
    }
    NewPair made;
    ASSIGN_OR_RETURN(made.key_, WriteOne(pair.key, issued.key_pem, existing));
    ASSIGN_OR_RETURN(
        made.certificate_,
        WriteOne(pair.certificate, issued.certificate_pem, existing));
    return made;
  }

  // The key first, so that no reader finds a certificate without one.
  absl::Status Publish() {
    RETURN_IF_ERROR(key_->Publish(Readers::kOwner));
    return certificate_->Publish(Readers::kAll);
  }

 private:
  static absl::StatusOr<std::unique_ptr<NewFile>> WriteOne(
      const std::string& path, absl::string_view text, Existing existing) {
    ASSIGN_OR_RETURN(auto file, NewFile::Create(path, existing));
    RETURN_IF_ERROR(file->Write(text));
    RETURN_IF_ERROR(file->GiveAway());
    return file;
  }

  std::unique_ptr<NewFile> key_;
  std::unique_ptr<NewFile> certificate_;
};

// A common name has 64 characters at most (RFC 5280, appendix A).
constexpr size_t kMaxCommonName = 64;

std::string AuthorityName(const std::string& cluster) {
  if (cluster.empty()) return "Kamino authority for etcd";
  std::string name = absl::StrCat("Kamino authority of ", cluster);
  return name.size() <= kMaxCommonName ? name : cluster;
}

}  // namespace

absl::StatusOr<CertificateFacts> ReadFacts(const std::string& path) {
  ASSIGN_OR_RETURN(const auto certificates, ReadCertificates(path));
  return security::FactsOf(*certificates.front());
}

std::string HolderText(const CertificateFacts& facts) {
  if (facts.holder.has_value()) return security::ToString(*facts.holder);
  if (facts.is_authority) {
    return absl::StrCat("authority \"", facts.name, "\"");
  }
  return absl::StrCat(facts.serves ? kOfEtcd : kOfEtcdsClient, " ", facts.name);
}

absl::StatusOr<AuthorityFolder> AuthorityFolder::Make(
    const std::string& path, const std::string& cluster,
    absl::Duration validity) {
  const std::string certificate = Joined(path, "ca.pem");
  for (const std::string& file : {certificate, Joined(path, "ca.key")}) {
    if (!IsThere(file)) continue;
    return absl::AlreadyExistsError(absl::StrCat(
        file, " is there already: another authority takes another folder"));
  }
  if (!cluster.empty()) {
    RETURN_IF_ERROR(security::CheckIdentity(
        {cluster, security::Role::kNode, /*name=*/"any"}));
  }
  const absl::Time now = absl::Now();
  ASSIGN_OR_RETURN(const security::Issued issued,
                   Authority::Make(AuthorityName(cluster),
                                   {now - kEarlier, now + validity}));
  RETURN_IF_ERROR(MakeFolder(path, Readers::kOwner));
  RETURN_IF_ERROR(MakeFolder(Joined(path, "crl"), Readers::kAll));
  RETURN_IF_ERROR(MakeFolder(Joined(path, "issued"), Readers::kAll));
  if (!cluster.empty()) {
    RETURN_IF_ERROR(WriteFile(Joined(path, "cluster_id"), cluster + "\n",
                              Readers::kAll, Existing::kIsReplaced));
  }
  ASSIGN_OR_RETURN(NewPair pair, NewPair::Write(PairNamed(Joined(path, "ca")),
                                                issued, Existing::kStays));
  RETURN_IF_ERROR(pair.Publish());
  return Open(path);
}

absl::StatusOr<AuthorityFolder> AuthorityFolder::Open(const std::string& path) {
  const CertificatePair pair = PairNamed(Joined(path, "ca"));
  if (IsMissing(pair.certificate) || IsMissing(pair.key)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        " has no authority (ca.pem and ca.key); kamino cert ca makes "
        "one, --dir says where it is"));
  }
  security::Issued own;
  ASSIGN_OR_RETURN(own.certificate_pem, Read(pair.certificate));
  ASSIGN_OR_RETURN(own.key_pem, Read(pair.key));
  auto authority = Authority::Open(own);
  if (!authority.ok()) return InFile(path, authority.status());
  std::string cluster;
  if (const std::string file = Joined(path, "cluster_id"); IsThere(file)) {
    ASSIGN_OR_RETURN(cluster, Read(file));
    absl::StripTrailingAsciiWhitespace(&cluster);
  }
  return AuthorityFolder(path, cluster, *std::move(authority));
}

std::string AuthorityFolder::InFolder(absl::string_view name) const {
  return Joined(path_, name);
}

absl::Status AuthorityFolder::CheckKind(const Wanted& wanted) const {
  const bool of_etcd = IsOfEtcd(wanted.kind);
  if (of_etcd && !cluster_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path_, " has the authority of cluster ", cluster_,
        ", whose readers and writers would all be believed by etcd: make one "
        "for etcd by kamino cert ca --etcd --dir=..."));
  }
  if (!of_etcd && cluster_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path_,
        " has an authority for etcd, and none of a cluster: kamino cert "
        "ca --cluster_id=... makes one"));
  }
  if (wanted.kind == kOfEtcd && wanted.hosts.empty()) {
    return absl::InvalidArgumentError(
        "--host is missing: etcd's members and managers look at the name or "
        "address by which they call it");
  }
  for (const std::string& host : wanted.hosts) {
    RETURN_IF_ERROR(CheckHost(host));
  }
  if (of_etcd &&
      (wanted.name.empty() || wanted.name.find('/') != std::string::npos)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", wanted.name,
        "\" cannot be a name: a name is not empty and has no slash"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Validity> AuthorityFolder::ValidFor(
    absl::Duration duration) const {
  const absl::Time now = absl::Now();
  if (now >= authority_.not_after()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the authority in ", path_, " has expired at ",
        absl::FormatTime(authority_.not_after(), absl::UTCTimeZone())));
  }
  // The authority's own certificate limits the validity.
  return Validity{now - kEarlier,
                  std::min(now + duration, authority_.not_after())};
}

absl::StatusOr<security::Issued> AuthorityFolder::Sign(
    const Wanted& wanted, Validity validity) const {
  if (IsOfEtcd(wanted.kind)) {
    return authority_.IssueTo(
        {wanted.name, wanted.hosts, /*serves=*/wanted.kind == kOfEtcd},
        validity);
  }
  const auto role = security::RoleNamed(wanted.kind);
  if (!role.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no role ", wanted.kind));
  }
  return authority_.Issue({{cluster_, *role, wanted.name}, wanted.hosts},
                          validity);
}

// Called before the pair is handed out, so that every issued certificate can be
// revoked.
absl::Status AuthorityFolder::Record(const security::Issued& issued) const {
  ASSIGN_OR_RETURN(const auto certificates,
                   security::ParseCertificates(issued.certificate_pem));
  RETURN_IF_ERROR(MakeFolder(InFolder("issued"), Readers::kAll));
  return WriteFile(
      InFolder(absl::StrCat("issued/",
                            security::SerialOf(*certificates.front()), ".pem")),
      issued.certificate_pem, Readers::kAll, Existing::kStays);
}

absl::Status AuthorityFolder::CopyAuthority(const std::string& folder) const {
  const std::string path = Joined(folder, "ca.pem");
  if (!IsThere(path)) {
    return WriteFile(path, authority_.certificate_pem(), Readers::kAll,
                     Existing::kStays);
  }
  ASSIGN_OR_RETURN(const std::string there, Read(path));
  if (absl::StrContains(there, authority_.certificate_pem())) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(absl::StrCat(
      path, " is there already, and does not have the authority of ", path_,
      ": choose another --out"));
}

absl::StatusOr<CertificatePair> AuthorityFolder::Issue(
    const Wanted& wanted) const {
  RETURN_IF_ERROR(CheckKind(wanted));
  ASSIGN_OR_RETURN(const Validity validity, ValidFor(wanted.validity));
  ASSIGN_OR_RETURN(const security::Issued issued, Sign(wanted, validity));
  const std::string folder = wanted.out.empty() ? path_ : wanted.out;
  const CertificatePair pair =
      PairNamed(Joined(folder, absl::StrCat(wanted.kind, "-", wanted.name)));
  for (const std::string& file : {pair.certificate, pair.key}) {
    if (wanted.replace || !IsThere(file)) continue;
    return absl::AlreadyExistsError(absl::StrCat(
        file,
        " is there already; kamino cert renew gives its holder a new "
        "pair, --force replaces it"));
  }
  RETURN_IF_ERROR(MakeFolder(folder, Readers::kOwner));
  if (folder != path_) RETURN_IF_ERROR(CopyAuthority(folder));
  ASSIGN_OR_RETURN(NewPair made,
                   NewPair::Write(pair, issued,
                                  wanted.replace ? Existing::kIsReplaced
                                                 : Existing::kStays));
  RETURN_IF_ERROR(Record(issued));
  RETURN_IF_ERROR(made.Publish());
  return pair;
}

absl::StatusOr<CertificatePair> AuthorityFolder::Renew(
    const std::string& certificate, absl::Duration duration) const {
  if (!absl::EndsWith(certificate, ".pem")) {
    return absl::InvalidArgumentError(absl::StrCat(
        certificate, ": a certificate's name ends in .pem, its key's in .key"));
  }
  ASSIGN_OR_RETURN(const auto before, ReadCertificates(certificate));
  if (!authority_.HasSigned(before.front().get())) {
    return absl::InvalidArgumentError(
        absl::StrCat(certificate, " is not of the authority in ", path_));
  }
  const CertificateFacts facts = security::FactsOf(*before.front());
  if (facts.is_authority) {
    return absl::InvalidArgumentError(absl::StrCat(
        certificate,
        " is the authority's own: to replace it, make a new authority and "
        "first add its certificate to each process's --tls_ca"));
  }
  const CertificatePair pair =
      PairNamed(std::string(absl::StripSuffix(certificate, ".pem")));
  if (!IsThere(pair.key)) {
    return absl::InvalidArgumentError(absl::StrCat(
        pair.key, " is not there: pairs are renewed where they are used"));
  }
  ASSIGN_OR_RETURN(const Validity validity, ValidFor(duration));
  ASSIGN_OR_RETURN(
      const security::Issued issued,
      facts.holder.has_value()
          ? authority_.Issue({*facts.holder, facts.hosts}, validity)
          : authority_.IssueTo({facts.name, facts.hosts, facts.serves},
                               validity));
  ASSIGN_OR_RETURN(NewPair made,
                   NewPair::Write(pair, issued, Existing::kIsReplaced));
  RETURN_IF_ERROR(Record(issued));
  RETURN_IF_ERROR(made.Publish());
  return pair;
}

absl::StatusOr<CertificateFacts> AuthorityFolder::Revoke(
    const std::string& what) const {
  std::string file = what;
  if (!IsThere(file)) file = InFolder(absl::StrCat("issued/", what, ".pem"));
  if (!IsThere(file)) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        " is neither a file nor the serial number of a certificate that "
        "is in ",
        InFolder("issued")));
  }
  ASSIGN_OR_RETURN(const std::string pem, Read(file));
  ASSIGN_OR_RETURN(const CertificateFacts facts, ReadFacts(file));
  std::string list;
  if (IsThere(list_path())) {
    ASSIGN_OR_RETURN(list, Read(list_path()));
  }
  // No other list follows automatically, so it is valid as long as the
  // authority.
  auto made = authority_.Revoke(list, pem, absl::Now(), authority_.not_after());
  if (!made.ok()) return InFile(file, made.status());
  RETURN_IF_ERROR(MakeFolder(InFolder("crl"), Readers::kAll));
  RETURN_IF_ERROR(
      WriteFile(list_path(), *made, Readers::kAll, Existing::kIsReplaced));
  return facts;
}

absl::StatusOr<std::vector<CertificateFacts>> AuthorityFolder::RevokeHolder(
    const std::string& what) const {
  std::vector<CertificateFacts> revoked;
  ASSIGN_OR_RETURN(revoked.emplace_back(), Revoke(what));
  if (!IsThere(what)) return revoked;
  ASSIGN_OR_RETURN(const std::vector<Issued> issued, List());
  for (const Issued& each : issued) {
    if (!each.good.ok() ||
        HolderText(each.facts) != HolderText(revoked.front())) {
      continue;
    }
    ASSIGN_OR_RETURN(revoked.emplace_back(), Revoke(each.facts.serial));
  }
  return revoked;
}

absl::StatusOr<std::vector<AuthorityFolder::Issued>> AuthorityFolder::List()
    const {
  std::vector<security::Trust::Source> lists;
  if (IsThere(list_path())) {
    ASSIGN_OR_RETURN(std::string list, Read(list_path()));
    lists.push_back({list_path(), std::move(list)});
  }
  ASSIGN_OR_RETURN(const auto trust,
                   security::Trust::Parse(authority_.certificate_pem(), lists));
  std::vector<Issued> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(InFolder("issued"), error),
       end;
       !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string();
    if (!absl::EndsWith(path, ".pem")) continue;
    ASSIGN_OR_RETURN(const auto certificates, ReadCertificates(path));
    found.push_back({security::FactsOf(*certificates.front()),
                     trust->CheckChain(certificates, absl::Now()).status});
  }
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot read ", InFolder("issued"), ": ", error.message()));
  }
  std::sort(found.begin(), found.end(), [](const Issued& a, const Issued& b) {
    const auto key = [](const Issued& one) {
      return std::make_tuple(HolderText(one.facts),
                             absl::InfiniteFuture() - one.facts.not_after,
                             one.facts.serial);
    };
    return key(a) < key(b);
  });
  return found;
}

}  // namespace kamino::client
