// Work for the caller of the chain protocol core.
#ifndef KAMINO_REPLICA_LINK_CHAIN_ACTIONS_H_
#define KAMINO_REPLICA_LINK_CHAIN_ACTIONS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"

namespace kamino::replica {

// Names a link between this node and another. The core chooses it for links
// that it opens (odd numbers), the caller for links that it accepted (even
// numbers).
using LinkId = uint64_t;
inline constexpr LinkId kNoLink = 0;

struct Actions {
  struct Open {
    LinkId link;
    membership::Member member;
    kamino::internal::v1::LinkPurpose purpose;
  };
  struct Send {
    LinkId link;
    kamino::internal::v1::ChainMessage message;
    // For an Append: the log entry, in place in the ring. Valid until the
    // core's next input.
    absl::string_view payload;
  };

  std::vector<LinkId> close;  // done first
  std::vector<Open> open;     // then these; OnLinkOpened/Closed answers
  std::vector<Send> send;     // then these
  bool fetch_view = false;    // another node has a newer view
  // At the head: the whole chain has applied everything up to here.
  uint64_t completed = 0;
  // Not OK: this node must stop, as it would diverge otherwise.
  absl::Status fatal;
};

// Messages that were refused. Some are normal while a view changes.
struct TurnedDown {
  uint64_t rejected = 0;  // answered with Reject
  uint64_t stray = 0;     // out of turn on its link; ignored
  // Messages that no correct sender sends, or that do not belong on their link.
  // Each ended its link.
  uint64_t malformed = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_CHAIN_ACTIONS_H_
