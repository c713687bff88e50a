// Finalizes a release: puts its new features in force, and takes those that it
// withdraws out of force. Until then nodes of the older release may return.
#ifndef KAMINO_MEMBERSHIP_MANAGER_FINALIZING_H_
#define KAMINO_MEMBERSHIP_MANAGER_FINALIZING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "membership/manager/manager_context.h"
#include "membership/manager/node_registry.h"
#include "membership/manager/store_watch.h"
#include "membership/view.h"

namespace kamino::membership {

// A level that finalizing changes. `to` is below `from` if all members withdraw
// the feature.
struct Rise {
  std::string name;
  uint64_t from = 0;
  uint64_t to = 0;
};
std::vector<Rise> NotFinalized(const View& view);

// Not thread-safe. `now` is monotonic.
class Finalizing {
 public:
  Finalizing(const ManagerContext* context, const NodeRegistry* registry,
             const StoreWatch* watch)
      : context_(context), registry_(registry), watch_(watch) {}

  // Finalizes with the next view in which nothing else changes; NotFinalized is
  // then empty. kFailedPrecondition: a member is not there, there is no chain,
  // or the store is behind; or, without `force`, a node that is not in the
  // chain could not return.
  absl::Status Finalize(bool force, absl::Time now);
  // The view that finalizes, if an operator asked for it; nothing else changes.
  std::optional<View> FinalizedView() const;
  // The view of the context is stored.
  void OnView();
  void Cancel() { asked_ = false; }

 private:
  using Node = NodeRegistry::Node;

  const ManagerContext* const context_;
  const NodeRegistry* const registry_;
  const StoreWatch* const watch_;
  bool asked_ = false;  // by an operator
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_FINALIZING_H_
