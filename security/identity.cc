#include "security/identity.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "openssl/x509v3.h"

namespace kamino::security {
namespace {

constexpr absl::string_view kScheme = "kamino://";
constexpr absl::string_view kDomain = ".kamino";
constexpr size_t kMaxPart = 64;
constexpr int kMaxNames = 256;  // in one certificate

bool IsPart(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxPart &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.';
         });
}

std::optional<Identity> FromParts(absl::string_view cluster,
                                  absl::string_view role,
                                  absl::string_view name) {
  const std::optional<Role> known = RoleNamed(role);
  if (!known.has_value() || !IsPart(cluster) || !IsPart(name)) {
    return std::nullopt;
  }
  return Identity{std::string(cluster), *known, std::string(name)};
}

std::optional<Identity> FromName(const GENERAL_NAME& name) {
  int type = 0;
  const auto* const value =
      static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(&name, &type));
  if (type != GEN_URI && type != GEN_DNS) return std::nullopt;
  const absl::string_view text(
      reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
      static_cast<size_t>(ASN1_STRING_length(value)));
  return type == GEN_URI ? IdentityFromUri(text) : IdentityFromDnsName(text);
}

}  // namespace

absl::string_view RoleName(Role role) {
  switch (role) {
    case Role::kNode:
      return "node";
    case Role::kManager:
      return "manager";
    case Role::kOperator:
      return "operator";
    case Role::kWriter:
      return "writer";
    case Role::kReader:
      return "reader";
  }
  return "";
}

std::optional<Role> RoleNamed(absl::string_view name) {
  for (const Role role : kRoles) {
    if (name == RoleName(role)) return role;
  }
  return std::nullopt;
}

std::string ToString(const Identity& identity) {
  return absl::StrCat(kScheme, identity.cluster, "/", RoleName(identity.role),
                      "/", identity.name);
}

absl::Status CheckIdentity(const Identity& identity) {
  for (const std::string& part : {identity.cluster, identity.name}) {
    if (!IsPart(part)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", part.substr(0, kMaxPart),
                       "\" cannot be in a certificate: use 1 to ", kMaxPart,
                       " letters, digits, '_', '-' and '.'"));
    }
  }
  return absl::OkStatus();
}

std::optional<Identity> IdentityFromUri(absl::string_view uri) {
  if (!absl::ConsumePrefix(&uri, kScheme)) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(uri, '/');
  if (parts.size() != 3) return std::nullopt;
  return FromParts(parts[0], parts[1], parts[2]);
}

std::optional<Identity> IdentityFromDnsName(absl::string_view name) {
  if (!absl::ConsumeSuffix(&name, kDomain)) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '.');
  if (parts.size() != 3) return std::nullopt;
  return FromParts(parts[2], parts[1], parts[0]);
}

absl::StatusOr<Identity> IdentityIn(const X509& certificate) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(
          &certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  const int count = names == nullptr ? 0 : sk_GENERAL_NAME_num(names.get());
  if (count > kMaxNames) {
    return absl::UnauthenticatedError(
        absl::StrCat("the certificate has ", count, " alternative names"));
  }
  std::optional<Identity> found;
  for (int i = 0; i < count; ++i) {
    const std::optional<Identity> one =
        FromName(*sk_GENERAL_NAME_value(names.get(), i));
    if (!one.has_value()) continue;
    if (found.has_value() && *found != *one) {
      return absl::UnauthenticatedError(
          absl::StrCat("the certificate names two identities, ",
                       ToString(*found), " and ", ToString(*one)));
    }
    found = one;
  }
  if (!found.has_value()) {
    return absl::UnauthenticatedError(
        "the certificate has no alternative name kamino://CLUSTER/ROLE/NAME");
  }
  return *std::move(found);
}

}  // namespace kamino::security
