// Peers whose links were ended for what they sent. Links with a peer that
// repeats it are accepted only after growing pauses.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_LINK_REJECTED_PEERS_H_
#define KAMINO_REPLICA_LINK_REJECTED_PEERS_H_

#include <map>
#include <string>

#include "absl/time/time.h"

namespace kamino::replica {

class RejectedPeers {
 public:
  // The first pause is zero; later ones double from the least to the most. A
  // peer that has sent nothing of the kind for the longest pause begins anew.
  static constexpr absl::Duration kLeastPause = absl::Milliseconds(20);
  static constexpr absl::Duration kMostPause = absl::Seconds(1);
  static constexpr absl::Duration kForgotten = absl::Seconds(5);

  // A link with `peer` was ended at `now`. Returns the end of the pause.
  absl::Time Note(const std::string& peer, absl::Time now);
  // The end of the peer's pause; in the past if it has none.
  absl::Time PausedUntil(const std::string& peer) const;

 private:
  struct Peer {
    int in_a_row = 0;
    absl::Time last;
    absl::Time until;
  };

  void Forget(absl::Time now);

  std::map<std::string, Peer> peers_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_REJECTED_PEERS_H_
