// This node's data is wrong or cannot be read. The node records that durably
// before it ends, so that the next process serves none of it and joins as a new
// node.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_INTEGRITY_DAMAGE_H_
#define KAMINO_REPLICA_INTEGRITY_DAMAGE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "replica/link/chain_actions.h"
#include "replica/link/outbox.h"
#include "replica/log/node_record.h"

namespace kamino::replica {

class Damage {
 public:
  // Both must outlive it.
  Damage(NodeRecord* record, Outbox* outbox)
      : record_(record), outbox_(outbox) {}

  // Records it durably. Ends the node with this input.
  void EndNow(absl::string_view why);
  // Ends the node with the first tick after the peer, which was sent the
  // reason, has closed the link `listener`, or after `until`. kNoLink: with the
  // next tick.
  void Condemn(absl::string_view why, LinkId listener, absl::Time until);
  bool condemned() const { return !condemned_.ok(); }
  void OnLinkClosed(LinkId link);
  void OnTick(absl::Time now);  // ends a condemned node

 private:
  // Records it durably; returns the node's final status.
  absl::Status Record(absl::string_view why);

  NodeRecord* const record_;
  Outbox* const outbox_;
  absl::Status condemned_;
  // While condemned.
  LinkId listener_ = kNoLink;
  absl::Time until_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_INTEGRITY_DAMAGE_H_
