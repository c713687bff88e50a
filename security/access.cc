#include "security/access.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "security/role_file.h"

namespace kamino::security {
namespace {

// Beyond this number, as with many short-lived clients, all are looked up anew.
constexpr size_t kMostKnown = 65536;

}  // namespace

absl::StatusOr<std::unique_ptr<Access>> Access::Open(std::string role_file) {
  RoleMap map;
  if (!role_file.empty()) {
    ASSIGN_OR_RETURN(map, ReadRoleFile(role_file));
  }
  return absl::WrapUnique(new Access(std::move(map), std::move(role_file)));
}

absl::Status Access::Reload() {
  if (role_file_.empty()) return absl::OkStatus();
  auto map = ReadRoleFile(role_file_);
  if (!map.ok()) {
    failed_reloads_.fetch_add(1, std::memory_order_relaxed);
    return map.status();
  }
  Replace(*std::move(map));
  reloads_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

void Access::Replace(RoleMap map) {
  RoleMap before;
  {
    absl::MutexLock lock(&mutex_);
    before = std::exchange(map_, map);
    known_.clear();
    generation_.fetch_add(1, std::memory_order_release);
  }
  for (const Changed& changed : on_change_) changed(before, map);
}

void Access::OnChange(Changed changed) {
  on_change_.push_back(std::move(changed));
}

GrantPtr Access::GrantOf(const Identity& identity) {
  return GrantOf(ToString(identity));
}

GrantPtr Access::GrantOf(absl::string_view uri) {
  absl::MutexLock lock(&mutex_);
  const auto found = known_.find(uri);
  if (found != known_.end()) return found->second;
  const std::optional<Identity> identity = IdentityFromUri(uri);
  if (!identity.has_value()) return nullptr;
  if (known_.size() >= kMostKnown) known_.clear();
  auto grant = std::make_shared<const Grant>(map_.GrantOf(*identity));
  known_.emplace(uri, grant);
  return grant;
}

absl::Status Access::Check(const Grant* grant, const AccessRule* rule,
                           absl::string_view what) {
  if (grant != nullptr && rule != nullptr &&
      grant->roles.HasAnyOf(rule->roles)) {
    return absl::OkStatus();
  }
  absl::Status why;
  if (grant == nullptr) {
    unauthenticated_.fetch_add(1, std::memory_order_relaxed);
    why = absl::UnauthenticatedError(absl::StrCat(
        what, " needs a certificate, and none came with this connection"));
  } else if (rule == nullptr) {
    denied_.fetch_add(1, std::memory_order_relaxed);
    why = absl::PermissionDeniedError(
        absl::StrCat(what, " is denied to ", grant->principal->name,
                     " and to all other identities: no access rule names it"));
  } else {
    denied_.fetch_add(1, std::memory_order_relaxed);
    why = absl::PermissionDeniedError(absl::StrCat(
        what, " requires the role ", ToString(rule->roles), "; ",
        grant->principal->name, " has ",
        grant->roles.empty() ? "" : "the role ", ToString(grant->roles)));
  }
  Deny(why, what, grant == nullptr ? "" : grant->principal->name);
  return why;
}

void Access::Note(const absl::Status& status, absl::string_view what,
                  const Principal* who) {
  if (who == nullptr || !absl::IsPermissionDenied(status)) return;
  denied_.fetch_add(1, std::memory_order_relaxed);
  Deny(absl::PermissionDeniedError(absl::StrCat(
           what, " used a key outside of ", who->scope.Describe(),
           ", which this identity may use, or another identity's session")),
       what, who->name);
}

void Access::Deny(const absl::Status& why, absl::string_view what,
                  absl::string_view who) {
  const auto end = told_.Take(MonotonicNow());
  if (!end.has_value()) return;
  LOG(WARNING) << "denied to "
               << (who.empty() ? "a caller without a certificate" : who) << ": "
               << why.message() << *end;
  if (on_denied_ != nullptr) on_denied_(why, what, who);
}

Access::Counts Access::counts() const {
  Counts counts;
  counts.unauthenticated = unauthenticated_.load(std::memory_order_relaxed);
  counts.denied = denied_.load(std::memory_order_relaxed);
  counts.reloads = reloads_.load(std::memory_order_relaxed);
  counts.failed_reloads = failed_reloads_.load(std::memory_order_relaxed);
  return counts;
}

}  // namespace kamino::security
