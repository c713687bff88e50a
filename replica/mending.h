// Log entries that a restart interrupted are mended by what a neighbour holds
// (Kamino-Tx, section 5.3): by the predecessor, which has executed them, or, at
// a node that is head now, by the successor, which has not.
//
// A neighbour that has entries of its own to mend answers all the same: they
// are others, and those in flight share no object. Where they may share some
// (base/chain_mode.h, Pipelines) nobody is mended so but a new head, of a
// disputed entry, by a successor that has applied all before it.
//
// Mending, at the node that was interrupted:
//
//   state      input                  next       effects
//   kWhole     any but Adopt, Tear    kWhole     none
//   kWhole     Adopt                  kFetching  as Begin, forward
//   kTorn      Begin                  kFetching  Fetch of the first part
//              Begin, nothing to mend kWhole     mended
//              Forget                 kWhole
//              any other              kTorn      none
//   kFetching  Begin                  kFetching  the same again, from the start
//              Fetched, more to come  kFetching  takes it over; Fetch of the
//                                                next part
//              Fetched, the last part kWhole     takes it over; mended
//              Fetched, other number,
//              count or link          kFetching  none
//              OnTick, when due       kFetching  Fetch of the same part, under
//                                                another number
//              OnLinkClosed, Leave    kTorn; of adopted entries of which
//                                    nothing was taken over yet: kWhole
//              Forget                 kWhole
//
// Adopted entries were not interrupted: a node may have died of executing them,
// so this one does not, but takes what the predecessor holds of them.
//
// Invariants:
//   1. torn() until all is mended: nothing is appended or executed meanwhile.
//   2. What is taken over is what was asked for last, in that order.
//   3. Mending again from the start leads to the same, so a link or a process
//      may be lost at any moment.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_MENDING_H_
#define KAMINO_REPLICA_MENDING_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/transaction.h"
#include "kamino/internal/v1/chain.pb.h"
#include "replica/chain_actions.h"
#include "replica/executor.h"
#include "replica/log_ring.h"
#include "replica/outbox.h"

namespace kamino::replica {

class Mending {
 public:
  enum class State {
    kWhole,     // nothing is interrupted
    kTorn,      // mutations (applied, received] may be half executed
    kFetching,  // the same, and a neighbour is asked what it holds of them
  };

  // All pointers must outlive it. Torn if the ring has entries that are not
  // marked applied. A Fetch without an answer is sent anew after
  // `fetch_timeout`.
  Mending(const LogRing* ring, Executor* executor, Outbox* outbox,
          absl::Duration fetch_timeout);

  State state() const { return state_; }
  bool torn() const { return state_ != State::kWhole; }
  // Whether what is to be mended is not touched yet.
  bool untouched() const { return untouched_; }
  // Whether this is the link to the neighbour that is asked.
  bool Asks(LinkId link) const {
    return state_ == State::kFetching && link == link_;
  }

  // Returns a direction once everything is mended, durably: with kForward the
  // entries count as applied, after kBack they are to be executed again.
  // What fails stops the node.
  using Mended = std::optional<Mend>;

  // Asks the neighbour behind `link` for all there is to be mended.
  Mended Begin(LinkId link, Mend mend, absl::Time now);
  // The same, forward, for entries that are not executed yet.
  Mended Adopt(LinkId link, absl::Time now);
  Mended OnFetched(LinkId link, const kamino::internal::v1::Fetched& fetched,
                   absl::Time now);
  void OnTick(absl::Time now);
  void OnLinkClosed(LinkId link);
  void Leave();   // the view has ended
  void Forget();  // the heap is void, and so is what was interrupted
  void Tear();    // an operation could not be executed to its end

 private:
  // What is asked of the neighbour.
  struct Asking {
    engine::WriteSet intents;  // in the order they are mended in
    size_t done = 0;
    size_t asked = 0;     // [done, asked) are on their way
    uint64_t number = 0;  // of the last Fetch
    absl::Time again_at = absl::InfiniteFuture();
  };

  absl::StatusOr<engine::WriteSet> Interrupted() const;
  void SendFetch(absl::Time now);
  Mended End();
  // What was mended is what the head made of the entries, by their hashes.
  bool IsBorneOut() const;

  const LogRing* const ring_;
  Executor* const executor_;
  Outbox* const outbox_;
  const absl::Duration fetch_timeout_;

  State state_;
  // While kFetching.
  LinkId link_ = kNoLink;
  Mend mend_ = Mend::kForward;
  bool untouched_ = false;  // adopted, and nothing was taken over
  // What is on the heap may not be what this process knows of it: an entry was
  // cut short.
  bool interrupted_;
  Asking asking_;
};

// The neighbour's side: what this node holds of what is fetched. Keeps nothing.
class MendingSource {
 public:
  // All pointers must outlive it.
  MendingSource(const LogRing* ring, Executor* executor, Outbox* outbox)
      : ring_(ring), executor_(executor), outbox_(outbox) {}

  // Answers with Fetched, or Reject when it asks for what is not there, or too
  // much.
  void Answer(LinkId link, const kamino::internal::v1::Fetch& fetch);
  // The same for a successor: unless this node's later entries have touched
  // what it asks for. Then its state is of no use.
  void AnswerSuccessor(LinkId link, const kamino::internal::v1::Fetch& fetch);

 private:
  // The first entry after fetch.received() in this node's ring that touches
  // what is fetched; 0: none.
  absl::StatusOr<uint64_t> FirstToTouch(
      const kamino::internal::v1::Fetch& fetch) const;

  const LogRing* const ring_;
  Executor* const executor_;
  Outbox* const outbox_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_MENDING_H_
