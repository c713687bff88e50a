// The source of a node's views and of its lease.
#ifndef KAMINO_MEMBERSHIP_AGENT_VIEW_SOURCE_H_
#define KAMINO_MEMBERSHIP_AGENT_VIEW_SOURCE_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "membership/node_report.h"
#include "membership/view.h"

namespace kamino::membership {

struct ViewSourceCallbacks {
  // A view newer than all before. On the source's thread.
  std::function<void(const View&)> on_view;
  // Whether the chain lacks a member and invites this node, which is not one.
  // May repeat. On the source's thread; may be null.
  std::function<void(bool)> on_invited;
  // The cluster refuses this node, and the source has stopped. On the source's
  // thread.
  std::function<void(absl::Status)> on_refused;
  // The answer to a node that is stopping. May repeat. On the source's thread;
  // may be null.
  std::function<void(StopPermission)> on_stop_permission;
};

// Thread-safe but for Start and Stop.
class ViewSource {
 public:
  virtual ~ViewSource() = default;

  // Call before Start, if at all: delays the first call to a manager.
  virtual void RestBeforeStart(absl::Duration rest) = 0;

  // Announces `self` and continues until Stop. Call once.
  virtual absl::Status Start(const Member& self,
                             ViewSourceCallbacks callbacks) = 0;
  // After Stop no callback runs. Idempotent.
  virtual void Stop() = 0;

  // Whether a node in view `view_id` may serve now: it holds a lease of the
  // manager, granted under that view or an older one, or peer leases of all
  // other members of that view (membership/agent/peer_leases.h).
  virtual bool LeaseValid(uint64_t view_id) const = 0;

  // Derived from the manager's leases; infinite: it has granted none.
  virtual absl::Duration FailureTimeout() const {
    return absl::InfiniteDuration();
  }

  // A newer view exists: asks the manager at once.
  virtual void RequestView() = 0;

  // The thread that owns the node's data makes progress. Call it on that thread
  // many times per lease. While the thread hangs, the node neither sends nor
  // accepts anything, and counts as absent.
  virtual void NoteProgress() = 0;

  // --- A planned stop (docs/design/membership.md). Both at any time after
  // Start; the manager's answers arrive repeatedly by on_stop_permission.

  // Asks to leave the chain; the node serves meanwhile.
  virtual void AskToLeave() {}
  // From now on this process ignores all leases, and tells the manager so.
  // Views still arrive.
  virtual void Surrender() {}

  // Sets the report to the manager. Call once before Start; the view's id never
  // goes back.
  virtual void SetReport(const NodeReport& report) = 0;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGENT_VIEW_SOURCE_H_
