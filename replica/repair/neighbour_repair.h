// Repairs log entries that a restart interrupted from a neighbour's data
// (Kamino-Tx, section 5.3): the predecessor's, which has executed them, or, at
// a node that is head now, the successor's, which has not.
//
// A neighbour with entries of its own to repair still answers: its entries are
// others, and entries in flight share no object. Where they may share some
// (base/chain_mode.h, Pipelines) this repairs only a diverging entry of a new
// head, by a successor that has applied all before it.
//
// NeighbourRepair, at the node that was interrupted:
//
//   state      input                  next       effects
//   kWhole     any but Adopt, Tear    kWhole     none
//   kWhole     Adopt                  kFetching  as Begin, forward
//   kTorn      Begin                  kFetching  Fetch of the first part
//              Begin, all is whole    kWhole     repaired
//              Forget                 kWhole
//              any other              kTorn      none
//   kFetching  Begin                  kFetching  the same again, from the start
//              Fetched, more to come  kFetching  takes it over; Fetch of the
//                                                next part
//              Fetched, the last part kWhole     takes it over; repaired
//              Fetched, other number,
//              count or link          kFetching  none
//              OnTick, when due       kFetching  Fetch of the same part, under
//                                                another number
//              OnLinkClosed, Leave    kTorn; of adopted entries of which
//                                    nothing was taken over yet: kWhole
//              Forget                 kWhole
//
// Adopted entries were not interrupted: a node may have crashed on them, so
// this one does not execute them, but takes over the predecessor's result.
//
// Invariants:
//   1. torn() until all is repaired: nothing is appended or executed meanwhile.
//   2. Bytes are taken over only if they were asked for last, in that order.
//   3. Repeating the repair from the start has the same result, so a link or a
//      process may be lost at any moment.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_REPAIR_NEIGHBOUR_REPAIR_H_
#define KAMINO_REPLICA_REPAIR_NEIGHBOUR_REPAIR_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/transaction.h"
#include "kamino/internal/v1/chain.pb.h"
#include "replica/link/chain_actions.h"
#include "replica/link/outbox.h"
#include "replica/log/log_ring.h"
#include "replica/state/executor.h"

namespace kamino::replica {

class NeighbourRepair {
 public:
  enum class State {
    kWhole,     // nothing is interrupted
    kTorn,      // mutations (applied, received] may be torn
    kFetching,  // the same, and a neighbour was asked for its state of them
  };

  // All pointers must outlive it. Torn if the ring has entries that are not
  // marked applied. A Fetch without an answer is repeated after
  // `fetch_timeout`.
  NeighbourRepair(const LogRing* ring, Executor* executor, Outbox* outbox,
                  absl::Duration fetch_timeout);

  State state() const { return state_; }
  bool torn() const { return state_ != State::kWhole; }
  // Whether nothing of what must be repaired has been touched yet.
  bool untouched() const { return untouched_; }
  // Whether this is the link to the neighbour that is asked.
  bool Asks(LinkId link) const {
    return state_ == State::kFetching && link == link_;
  }

  // Returns a direction once everything is repaired, durably: with kForward the
  // entries count as applied, after kBack they must be executed again. A
  // failure stops the node.
  using Repaired = std::optional<RepairDirection>;

  // Asks the neighbour behind `link` for everything that must be repaired.
  Repaired Begin(LinkId link, RepairDirection direction, absl::Time now);
  // The same, forward, for entries that are not executed yet.
  Repaired Adopt(LinkId link, absl::Time now);
  Repaired OnFetched(LinkId link, const kamino::internal::v1::Fetched& fetched,
                     absl::Time now);
  void OnTick(absl::Time now);
  void OnLinkClosed(LinkId link);
  void Leave();   // the view has ended
  void Forget();  // the heap is void, and so are interrupted entries
  void Tear();    // an operation could not be executed to its end

 private:
  // The question to the neighbour.
  struct Asking {
    engine::WriteSet intents;  // in the order of repair
    size_t done = 0;
    size_t asked = 0;     // [done, asked) are on their way
    uint64_t number = 0;  // of the last Fetch
    absl::Time again_at = absl::InfiniteFuture();
  };

  absl::StatusOr<engine::WriteSet> Interrupted() const;
  void SendFetch(absl::Time now);
  Repaired End();
  // Whether hashes show that the repaired state is the head's result.
  bool IsConfirmed() const;

  const LogRing* const ring_;
  Executor* const executor_;
  Outbox* const outbox_;
  const absl::Duration fetch_timeout_;

  State state_;
  // While kFetching.
  LinkId link_ = kNoLink;
  RepairDirection direction_ = RepairDirection::kForward;
  bool untouched_ = false;  // adopted, and nothing was taken over
  // The heap may differ from this process's knowledge of it: an entry was cut
  // short.
  bool interrupted_;
  Asking asking_;
};

// The neighbour's side: answers a Fetch. Keeps no state.
class RepairSource {
 public:
  // All pointers must outlive it.
  RepairSource(const LogRing* ring, Executor* executor, Outbox* outbox)
      : ring_(ring), executor_(executor), outbox_(outbox) {}

  // Answers with Fetched, or Reject when the Fetch asks for missing objects, or
  // too much.
  void Answer(LinkId link, const kamino::internal::v1::Fetch& fetch);
  // The same for a successor, unless this node's later entries have touched the
  // objects: then its state is of no use.
  void AnswerSuccessor(LinkId link, const kamino::internal::v1::Fetch& fetch);

 private:
  // The first entry after fetch.received() in this node's ring that touches the
  // fetched objects; 0: none.
  absl::StatusOr<uint64_t> FirstToTouch(
      const kamino::internal::v1::Fetch& fetch) const;

  const LogRing* const ring_;
  Executor* const executor_;
  Outbox* const outbox_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_REPAIR_NEIGHBOUR_REPAIR_H_
