// Detects a store that is behind. If a node knows a later view than the stored
// one, or another view with its id, or the stored progress is of a later view,
// the store was emptied or restored from an older copy. The manager then grants
// no lease and makes no view until an operator recovers
// (membership/manager/recoveries.h), another leader finds another store, or no
// node has reported such a view for some time.
#ifndef KAMINO_MEMBERSHIP_MANAGER_STORE_WATCH_H_
#define KAMINO_MEMBERSHIP_MANAGER_STORE_WATCH_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "membership/manager/manager_context.h"
#include "membership/manager/next_view.h"
#include "membership/manager/node_registry.h"
#include "membership/node_report.h"
#include "membership/view.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class StoreWatch {
 public:
  StoreWatch(const ManagerContext* context, NodeRegistry* registry)
      : context_(context), registry_(registry) {}

  // A leadership begins, with the view and the progress of the context. Leases
  // of former leaders are valid for up to `former_leases`.
  void Begin(absl::Duration former_leases, absl::Time now);
  // The view of the context is stored.
  void OnView();

  bool behind() const { return !ahead_.empty(); }
  // Why the store is behind; "": it is not.
  std::string WhyBehind() const;
  // If no node has reported for long that the store is behind, trusts the store
  // again and returns true. The caller then begins anew with the stored view,
  // as a new leader does.
  bool ForgetOldClaims(absl::Time now);

  // Whether the node reports a later view than the store.
  bool IsAhead(const NodeReport& report) const;
  // `newest_in_full`: the newest view that the node's process knows in full; id
  // 0: none. kUnavailable: the store is behind. kFailedPrecondition: the node's
  // data is of another history, or it reports a later view without evidence.
  absl::Status CheckHistory(const std::string& node_id,
                            const NodeReport& report,
                            const View& newest_in_full, absl::Time now);
  // Learns a view that a node knows in full.
  void Learn(const View& view);
  // Notes, while the store is behind, a node that a recovery may use.
  // kAlreadyExists, kFailedPrecondition: as ManagerCore::Register.
  absl::Status NoteWhileBehind(const NodeRegistry::Node& node, absl::Time now);

  // Whether this leader grants no lease before it has heard all members: it has
  // just begun to lead, or to trust the store again.
  bool awaits_members(absl::Time now) const { return now < hear_all_until_; }
  // kUnavailable: this leader has just begun, and has not yet heard another
  // member, which may know a later view; no lease is granted.
  absl::Status CheckOthersHeard(const Member& member, absl::Time now) const;
  // kUnavailable: earlier leases may be valid.
  absl::Status CheckLeasesEnded(absl::Time now) const;

  // The newest view that a node knows in full; id 0: none.
  const View& learned() const { return learned_; }
  // The newest reported view that shows that the store is behind, if it is.
  const KnownView& ahead_view() const { return ahead_view_; }
  // The newest view that nodes know, as far as they know it.
  View NewestKnown(absl::Time now) const;
  // The first setting in which the node differs from the processes of `newest`,
  // the newest known view, because it was restarted with other settings. "":
  // none, or no such process is there: all of them may have been changed.
  std::string MismatchWhileBehind(const KnownNode& node, const View& newest,
                                  absl::Time now) const;

 private:
  using Node = NodeRegistry::Node;

  // Checks whether the stored progress shows that the store is behind: a former
  // leader that saw the same store wrote it.
  void GoByProgress();

  const ManagerContext* const context_;
  NodeRegistry* const registry_;
  // Which node says that the store is behind, what it knows, and until when
  // earlier leases may be valid.
  std::string ahead_;  // "node n1 knows"; "": it is not behind
  KnownView ahead_view_;
  absl::Time leases_until_ = absl::InfinitePast();
  // Until then no node gets a lease before all members of the view were heard.
  absl::Time hear_all_until_ = absl::InfinitePast();
  absl::Time ahead_said_ = absl::InfinitePast();  // last report of it
  View learned_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_STORE_WATCH_H_
