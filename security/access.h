// Whether somebody may do what he asks for: who has which grant now, by the
// table of what can be asked (security/access_table.h). Whoever serves others
// asks here, and nobody else decides.
//
// Where servers ask nobody who he is there is no Access, and everybody may do
// everything.
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
  // `role_file`: security/role_file.h; "": what certificates say.
  // kInvalidArgument: it is wrong.
  static absl::StatusOr<std::unique_ptr<Access>> Open(std::string role_file);
  explicit Access(RoleMap map) : map_(std::move(map)) {}

  // Reads the file again, and calls those of OnChange. An error: what was there
  // before goes on.
  absl::Status Reload();
  void Replace(RoleMap map);
  // For those who hold connections open. Before others use this.
  using Changed =
      std::function<void(const RoleMap& before, const RoleMap& now)>;
  void OnChange(Changed changed);
  // Called with those denials that the log has, for who keeps a record: what
  // was asked for, and by whom. Likewise.
  using OnDenied = std::function<void(
      const absl::Status& why, absl::string_view what, absl::string_view who)>;
  void SetOnDenied(OnDenied denied) { on_denied_ = std::move(denied); }
  // Another number once grants may have changed.
  uint64_t generation() const {
    return generation_.load(std::memory_order_acquire);
  }

  // What it may do, as of now.
  GrantPtr GrantOf(const Identity& identity);
  // The same by the identity's URI. Null: it is nobody's.
  GrantPtr GrantOf(absl::string_view uri);

  // OK: one of the rule's roles is granted. kUnauthenticated: nobody was told
  // (`grant` is null). kPermissionDenied: it has none of them, or there is no
  // such rule. Those are counted, and some a second logged. `what`: as the
  // message names it, the method.
  absl::Status Check(const Grant* grant, const AccessRule* rule,
                     absl::string_view what);
  // Counts and logs, if `status` is a kPermissionDenied of elsewhere, for a key
  // or for a session, of what was asked for. The log has words of its own:
  // those of `status` are for who has asked, and name keys.
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
  // Of identities that were asked for lately, by URI.
  absl::flat_hash_map<std::string, GrantPtr> known_ ABSL_GUARDED_BY(mutex_);

  Access(RoleMap map, std::string role_file)
      : role_file_(std::move(role_file)), map_(std::move(map)) {}
};

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_ACCESS_H_
