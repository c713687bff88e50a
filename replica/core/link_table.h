// The node's links by their peers: the use of each link, whether all of them
// are up, and the peers that must wait before they connect again, because they
// sent messages that they may not send (RejectedPeers) or because an address
// leads to this node itself.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_CORE_LINK_TABLE_H_
#define KAMINO_REPLICA_CORE_LINK_TABLE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/log_limit.h"
#include "kamino/internal/v1/chain.pb.h"
#include "kamino/v1/kamino.pb.h"
#include "membership/view.h"
#include "replica/core/chain_parts.h"
#include "replica/link/chain_actions.h"
#include "replica/link/chain_context.h"
#include "replica/link/link_watch.h"
#include "replica/link/message_rules.h"
#include "replica/link/rejected_peers.h"

namespace kamino::replica {

class LinkTable {
 public:
  struct LinkState {
    std::string peer;
    kamino::v1::LinkRole role;
    LinkId link;
    bool connected;
  };

  // `chain` and all pointers must outlive it.
  LinkTable(const ChainContext& chain, LinkParts* links, DataParts* data)
      : chain_(chain), links_(links), data_(data) {}

  // The links that the node has or should have.
  std::vector<LinkState> All() const;
  LinkUse UseOf(LinkId link) const;
  bool Uses(LinkId link) const { return UseOf(link) != LinkUse::kNone; }
  // As of the last tick: for how long this view's links have never been up
  // together. Zero: they have, or the view has none.
  absl::Duration never_linked() const { return link_watch_.never_up(); }
  // When the node accepts a link from that peer again; in the past if it does
  // now.
  absl::Time PausedUntil(const std::string& peer) const {
    return rejected_peers_.PausedUntil(peer);
  }

  void OnView(absl::Time now);  // a view has begun
  void OnTick(absl::Time now);
  // A link is gone, or will be.
  void Lose(LinkId link, absl::Time now);
  // Ends links that carried messages they may not carry.
  void EndFailedLinks(absl::Time now);
  // True when this process has sent the Hello itself: its link ended, and the
  // next attempt waits.
  bool EndSelfDial(LinkId link, const kamino::internal::v1::Hello& hello,
                   absl::Time now);

 private:
  // The peer of a link in use.
  std::string PeerOf(LinkId link) const;
  // The member to which a link of that purpose is being opened; null: there is
  // no such link, or it is established.
  const membership::Member* Dials(
      kamino::internal::v1::LinkPurpose purpose) const;

  const ChainContext& chain_;
  LinkParts* const links_;
  DataParts* const data_;
  LinkWatch link_watch_;
  RejectedPeers rejected_peers_;
  LogLimit told_failed_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CORE_LINK_TABLE_H_
