// Authorization: decides whether an identity may make a request, from its
// present grant and the table of requests (security/access_table.h). All
// servers decide by this class only.
//
// A server without certificates has no Access and permits everything.
#ifndef KAMINO_SECURITY_ACCESS_H_
#define KAMINO_SECURITY_ACCESS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/log_limit.h"
#include "security/access_table.h"
#include "security/identity.h"
#include "security/roles.h"

namespace kamino::security {

using GrantPtr = std::shared_ptr<const Grant>;

// Thread-safe.
class Access {
 public:
  // `role_file`: see security/role_file.h; "": roles come from certificates.
  // kInvalidArgument: the file is invalid.
  static absl::StatusOr<std::unique_ptr<Access>> Open(std::string role_file);
  explicit Access(RoleMap map) : map_(std::move(map)) {}

  // Reads the file again and runs the OnChange callbacks. On an error the
  // former grants stay in force.
  absl::Status Reload();
  void Replace(RoleMap map);
  // For owners of open connections. Call before other threads use this.
  using Changed =
      std::function<void(const RoleMap& before, const RoleMap& now)>;
  void OnChange(Changed changed);
  // Called for the denials that are logged, with the request and the identity,
  // for code that keeps records. Call before other threads use this.
  using OnDenied = std::function<void(
      const absl::Status& why, absl::string_view what, absl::string_view who)>;
  void SetOnDenied(OnDenied denied) { on_denied_ = std::move(denied); }
  // Changes whenever grants may have changed.
  uint64_t generation() const {
    return generation_.load(std::memory_order_acquire);
  }

  // The present grant of an identity.
  GrantPtr GrantOf(const Identity& identity);
  // The same by the identity's URI. Null: the URI is not an identity.
  GrantPtr GrantOf(absl::string_view uri);

  // OK: the grant has one of the rule's roles. kUnauthenticated: `grant` is
  // null. kPermissionDenied: it has none of them, or there is no such rule;
  // counted, and logged at a limited rate. `what`: the request's name in the
  // message.
  absl::Status Check(const Grant* grant, const AccessRule* rule,
                     absl::string_view what);
  // Counts and logs a kPermissionDenied from elsewhere, for a key or a session;
  // ignores other statuses. The log uses its own text, because the message of
  // `status` is for the caller and names keys.
  void Note(const absl::Status& status, absl::string_view what,
            const Principal* who);

  struct Counts {
    uint64_t unauthenticated = 0;
    uint64_t denied = 0;
    uint64_t reloads = 0;
    uint64_t failed_reloads = 0;
  };
  Counts counts() const;

 private:
  void Deny(const absl::Status& why, absl::string_view what,
            absl::string_view who);

  const std::string role_file_;
  std::vector<Changed> on_change_;
  OnDenied on_denied_;
  std::atomic<uint64_t> generation_{1};
  std::atomic<uint64_t> unauthenticated_{0};
  std::atomic<uint64_t> denied_{0};
  std::atomic<uint64_t> reloads_{0};
  std::atomic<uint64_t> failed_reloads_{0};
  LogLimit told_;

  absl::Mutex mutex_;
  RoleMap map_ ABSL_GUARDED_BY(mutex_);
  // Recently used identities, by URI.
  absl::flat_hash_map<std::string, GrantPtr> known_ ABSL_GUARDED_BY(mutex_);

  Access(RoleMap map, std::string role_file)
      : role_file_(std::move(role_file)), map_(std::move(map)) {}
};

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_ACCESS_H_
