// Where a node gets its views and its lease from.
#ifndef KAMINO_MEMBERSHIP_VIEW_SOURCE_H_
#define KAMINO_MEMBERSHIP_VIEW_SOURCE_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "membership/node_report.h"
#include "membership/view.h"

namespace kamino::membership {

struct ViewSourceCallbacks {
  // A view that is newer than any before. On the source's thread.
  std::function<void(const View&)> on_view;
  // Whether the chain is short of this node, which is outside; the same may
  // come again. Likewise; may be null.
  std::function<void(bool)> on_invited;
  // The cluster does not take this node; the source has stopped. Likewise.
  std::function<void(absl::Status)> on_refused;
  // What a node that is stopping was told; the same may come again. Likewise;
  // may be null.
  std::function<void(Parting)> on_parting;
};

// Thread-safe but for Start and Stop.
class ViewSource {
 public:
  virtual ~ViewSource() = default;

  // Before Start, if at all: managers hear of this node only so much later.
  virtual void RestBeforeStart(absl::Duration rest) = 0;

  // Announces `self` and goes on until Stop. Once.
  virtual absl::Status Start(const Member& self,
                             ViewSourceCallbacks callbacks) = 0;
  // No callback runs after it. Idempotent.
  virtual void Stop() = 0;

  // Whether a node that is in view `view_id` may answer by itself now: it holds
  // a lease of the manager's, given under that view or an older one, or the
  // word of all other members of that view (membership/vouching.h).
  virtual bool LeaseValid(uint64_t view_id) const = 0;

  // As the manager's leases say; infinite: it has granted none.
  virtual absl::Duration FailureTimeout() const {
    return absl::InfiniteDuration();
  }

  // Someone has a newer view: asks the manager at once.
  virtual void RequestView() = 0;

  // The thread that the node's data belongs to runs, as it did until now; to be
  // called many times a lease. A node whose thread hangs is told nothing and
  // tells nothing: it is not there. On that thread.
  virtual void NoteProgress() = 0;

  // --- A planned stop (docs/design/membership.md). Both at any time after
  // Start; what the manager says comes by on_parting, and again and again.

  // Asks for the chain to go on without this node, which serves meanwhile.
  virtual void AskToPart() {}
  // From now on this process holds no lease, whatever it is granted, and tells
  // the manager so. Views still come.
  virtual void Surrender() {}

  // What the manager is told of this node. Once before Start; the view's id
  // never goes back.
  virtual void SetReport(const NodeReport& report) = 0;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_VIEW_SOURCE_H_
