// What a member remembers for others that left the chain and may come back: how
// much of what they had the chain has kept, and, by StateCopy, what changed
// since. One that comes back, and holds a state of the chain but for what it
// can tell, then catches up instead of being sent the whole heap
// (replica/donor.h).
//
// Within a view a number stands for one mutation alone. So of who was in view V
// last, the chain has kept its mutations up to the first one, as this node has
// applied them, of a later view; beyond that the chain may have others under
// the same numbers. That is known from when this process became a member on.
//
// What changes is remembered from the last mutation on that is known to be
// applied by all when a member leaves; whoever has left has it. Bounded:
// kMostGenerations moments, each for options.keep_changes at most, and until
// those who left since have come back.
//
//   state    input                        next     effects
//   kApart   OnView, becomes a member     kMember  history begins
//   kMember  OnView, nobody leaves        kMember
//            OnView, some do              kMember  changes are remembered
//            OnView, they are back        kMember  forgotten, if they were the
//            OnTick, late                 kMember  last to be gone for so long
//   any      OnView, not a member, or of  kApart   everything is forgotten
//            another epoch
//            Forget                       kApart   the same
//
// Volatile: a process that was started again remembers nothing.
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_CATCH_UP_HISTORY_H_
#define KAMINO_REPLICA_CATCH_UP_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/chain_options.h"
#include "replica/log_ring.h"
#include "replica/state_copy.h"

namespace kamino::replica {

class CatchUpHistory {
 public:
  static constexpr size_t kMostGenerations = 8;

  enum class State {
    kApart,   // remembers nothing
    kMember,  // of the chain, without a break since view since()
  };

  // All must outlive it.
  CatchUpHistory(const ChainOptions& options, const LogRing* ring,
                 StateCopy* copy)
      : options_(options), ring_(ring), copy_(copy) {}

  State state() const { return since_ == 0 ? State::kApart : State::kMember; }
  uint64_t since() const { return since_; }
  size_t generations() const { return generations_.size(); }

  // A view takes the place of another one; each with whether this process is a
  // member. `whole`: nothing is half executed here.
  void OnView(const membership::View& last, bool was_member,
              const membership::View& next, bool is_member, bool whole,
              absl::Time now);
  // Something may be applied that was not before; nothing of that was cleaned.
  void OnApplied();
  // Drops what is out of date. Not while changes are being sent.
  void OnTick(absl::Time now);
  // The heap is void.
  void Forget();

  // What a node that joins is to be sent: what changed after a mutation, or the
  // whole heap.
  struct Plan {
    std::optional<uint64_t> changes_after;
    WholeHeapFor reason = WholeHeapFor::kNothingHeld;  // if not
    std::string why;                                   // the same
  };
  Plan For(const kamino::internal::v1::Hello& hello) const;

 private:
  struct Generation {
    uint64_t since = 0;  // mutation
    absl::Time begun;
    std::set<std::string> gone;  // node ids
  };

  // The last mutation that the chain has kept of those up to that view, as far
  // as this node has applied them; nothing: it is not known.
  std::optional<uint64_t> EndOf(uint64_t view_id) const;
  // Of that view, by what is known of it now; nothing: it is not known.
  std::optional<uint64_t> DigestOf(uint64_t view_id) const;
  void BeginGeneration(std::set<std::string> gone, absl::Time now);
  void DropOld(absl::Time now);

  const ChainOptions& options_;
  const LogRing* const ring_;
  StateCopy* const copy_;

  uint64_t since_ = 0;
  membership::View view_;
  uint64_t noted_ = 0;   // mutations up to here were looked at
  uint64_t newest_ = 0;  // view of what was; since_ at least
  // Views after since_, each with its first mutation, as applied here.
  std::deque<std::pair<uint64_t, uint64_t>> begins_;
  std::deque<Generation> generations_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CATCH_UP_HISTORY_H_
