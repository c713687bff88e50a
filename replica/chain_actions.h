// What the chain protocol core wants done by whoever drives it.
#ifndef KAMINO_REPLICA_CHAIN_ACTIONS_H_
#define KAMINO_REPLICA_CHAIN_ACTIONS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"

namespace kamino::replica {

// Names a link between this node and another. Chosen by the core for links it
// opens (odd numbers), by the caller for links it accepted (even numbers).
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
    // Of an Append: the log entry, as it lies in the ring. It holds until the
    // core's next input.
    absl::string_view payload;
  };

  std::vector<LinkId> close;  // carried out first
  std::vector<Open> open;     // then these; the answer is OnLinkOpened/Closed
  std::vector<Send> send;     // then these
  bool fetch_view = false;    // someone has a newer view
  // At the head: everything up to here is applied by the whole chain.
  uint64_t completed = 0;
  // Not OK: this node must stop; going on would make it differ from others.
  absl::Status fatal;
};

// Messages that were not taken in. Some are normal while a view changes.
struct TurnedDown {
  uint64_t rejected = 0;  // answered with Reject
  uint64_t stray = 0;     // out of turn on their link; ignored
  // At odds with what the sender can know, or on a link on which only somebody
  // else may send that: they have ended their links.
  uint64_t malformed = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CHAIN_ACTIONS_H_
