// A member's memory for nodes that left the chain and may return: up to which
// mutation the chain has kept what they held, and, by StateCopy, what changed
// since. A returning node that holds a state of the chain, apart from entries
// that it can name, catches up by the changes instead of receiving the whole
// heap (replica/repair/donor.h).
//
// Within a view a number names one mutation only. So of a node that was last in
// view V, the chain has kept the mutations before the first one of a later
// view, as applied at this node; beyond that the chain may have others under
// the same numbers. This is known from the moment when this process became a
// member.
//
// When a member leaves, changes are remembered from the last mutation that all
// are known to have applied; the node that left has it. Bounded: from at most
// kMostGenerations such moments, each for at most options.keep_changes or until
// the nodes that left since are back.
//
//   state    input                        next     effects
//   kApart   OnView, becomes a member     kMember  history begins
//   kMember  OnView, none leaves          kMember
//            OnView, some do              kMember  changes are remembered
//            OnView, they are back        kMember  forgotten, if they were the
//            OnTick, late                 kMember  last to be gone for so long
//   any      OnView, not a member, or of  kApart   everything is forgotten
//            another epoch
//            Forget                       kApart   the same
//
// Volatile: lost when the process restarts.
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_REPAIR_CATCH_UP_HISTORY_H_
#define KAMINO_REPLICA_REPAIR_CATCH_UP_HISTORY_H_

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
#include "replica/link/chain_options.h"
#include "replica/log/log_ring.h"
#include "replica/state/state_copy.h"

namespace kamino::replica {

class CatchUpHistory {
 public:
  static constexpr size_t kMostGenerations = 8;

  enum class State {
    kApart,   // remembers nothing
    kMember,  // of the chain, without a break since view since()
  };

  // All pointers must outlive it.
  CatchUpHistory(const ChainOptions& options, const LogRing* ring,
                 StateCopy* copy)
      : options_(options), ring_(ring), copy_(copy) {}

  State state() const { return since_ == 0 ? State::kApart : State::kMember; }
  uint64_t since() const { return since_; }
  size_t generations() const { return generations_.size(); }

  // A view replaces another one; with each, whether this process is a member.
  // `whole`: the heap is not torn.
  void OnView(const membership::View& last, bool was_member,
              const membership::View& next, bool is_member, bool whole,
              absl::Time now);
  // More entries may be applied; none of them is cleaned yet.
  void OnApplied();
  // Drops outdated memory. Not while changes are being sent.
  void OnTick(absl::Time now);
  // The heap is void.
  void Forget();

  // The content for a joining node: the changes after a mutation, or the whole
  // heap.
  struct Plan {
    std::optional<uint64_t> changes_after;
    WholeHeapFor reason = WholeHeapFor::kNothingHeld;  // if not
    std::string why;                                   // as text
  };
  Plan For(const kamino::internal::v1::Hello& hello) const;

 private:
  struct Generation {
    uint64_t since = 0;  // mutation
    absl::Time begun;
    std::set<std::string> gone;  // node ids
  };

  // The last mutation that the chain has kept from views up to that one, as far
  // as this node has applied them; nothing: it is not known.
  std::optional<uint64_t> EndOf(uint64_t view_id) const;
  // The digest of that view, if known.
  std::optional<uint64_t> DigestOf(uint64_t view_id) const;
  void BeginGeneration(std::set<std::string> gone, absl::Time now);
  void DropOld(absl::Time now);

  const ChainOptions& options_;
  const LogRing* const ring_;
  StateCopy* const copy_;

  uint64_t since_ = 0;
  membership::View view_;
  uint64_t noted_ = 0;   // mutations up to here were examined
  uint64_t newest_ = 0;  // the newest view of those; at least since_
  // Views after since_, each with its first mutation applied here.
  std::deque<std::pair<uint64_t, uint64_t>> begins_;
  std::deque<Generation> generations_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_REPAIR_CATCH_UP_HISTORY_H_
