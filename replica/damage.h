// What this node holds is wrong, or cannot be read. That is sticky: it is
// recorded before the node ends, so that nothing of it is served by whatever
// process comes next, which joins as a new node.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_DAMAGE_H_
#define KAMINO_REPLICA_DAMAGE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "replica/chain_actions.h"
#include "replica/node_record.h"
#include "replica/outbox.h"

namespace kamino::replica {

class Damage {
 public:
  // Both must outlive it.
  Damage(NodeRecord* record, Outbox* outbox)
      : record_(record), outbox_(outbox) {}

  // Both are recorded durably on return. Ends the node with this input.
  void EndNow(absl::string_view why);
  // Ends the node with the first tick after the peer, which was sent the
  // reason, has closed the link `listener`, or after `until`. kNoLink: with the
  // next tick.
  void Condemn(absl::string_view why, LinkId listener, absl::Time until);
  bool condemned() const { return !condemned_.ok(); }
  void OnLinkClosed(LinkId link);
  void OnTick(absl::Time now);  // ends the node that is condemned

 private:
  // Durably; returns what the node is to end with.
  absl::Status Record(absl::string_view why);

  NodeRecord* const record_;
  Outbox* const outbox_;
  absl::Status condemned_;
  // While it is condemned.
  LinkId listener_ = kNoLink;
  absl::Time until_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_DAMAGE_H_
