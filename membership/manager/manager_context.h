// The data that all parts of a manager use.
#ifndef KAMINO_MEMBERSHIP_MANAGER_MANAGER_CONTEXT_H_
#define KAMINO_MEMBERSHIP_MANAGER_MANAGER_CONTEXT_H_

#include <optional>
#include <utility>

#include "membership/manager/manager_options.h"
#include "membership/manager/next_view.h"
#include "membership/progress.h"
#include "membership/view.h"

namespace kamino::membership {

struct ManagerContext {
  explicit ManagerContext(ManagerOptions given) : options(std::move(given)) {
    SetView(View());
  }

  const ManagerOptions options;
  View view;                     // the stored one; id 0: none
  std::optional<View> proposed;  // may already be stored
  // `proposed` is the view of an operator's recovery.
  bool recovers = false;
  Exclusions excluded;  // requested by operators; stored with the next view
  // The chain's, for the store, while this manager leads and after.
  Progress progress;

  void SetView(const View& stored);
  void Propose(std::optional<View> next);
  // Whether the view names that heap of that node.
  bool HasPlace(const Member& member) const;
  // Whether the view names that process, which has not been restarted since.
  bool ActsInView(const Member& member) const;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_MANAGER_CONTEXT_H_
