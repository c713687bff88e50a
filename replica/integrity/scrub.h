// The members of a chain compare their data, range by range and again and
// again, so that corruption of data that clients do not read is found while
// other members still hold the correct data.
//
// The head asks: a Compare travels down the chain in order with the log
// entries. Each member takes the digest of that range of its own heap after the
// same operations, before it executes more. With the tail's vote all are there
// (replica/integrity/range_votes.h) and travel up again. One range is under way
// at a time. A member that cannot take part says nothing, and the head asks
// again; losses are handled the same way.
//
//   state   input                         next    effects
//   kRests  Next, due                     kAsked  the question, with the vote
//           Next, not due, or not         kRests
//           reached yet
//           OnCompare                     kAsked  adds the vote
//           OnCompare, of another range   kRests  says which comes first
//           than the unresolved one
//           OnCompare, not reached yet    kRests  goes on with reaching it
//   kAsked  Next                          kAsked
//           OnCompare                     as in kRests
//           Conclude, agreed              kRests  the next range is due
//           Conclude, a member is wrong   kRests  the same again, later;
//                                                 unresolved, durably, if
//                                                 this one is wrong and
//                                                 another goes first
//           Conclude, undecided           kRests  the same again, later;
//                                                 unresolved, durably
//           OnFirst, another one          kRests  that one is next, later
//           OnTick, the head, late        kRests  the same again
//   any     Leave                         kRests
//           Tell, unresolved, not asked   as is   says which comes first
//           for long
//
// While a range is undecided, nothing is served until the remaining members
// agree, or one is left. So the head asks about such a range regardless of the
// rate, and a member that knows of one and is not asked reports it. A wrong
// member that is not the first to be expelled records the range as unresolved;
// otherwise the next joining node would receive a copy of it before its turn.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_INTEGRITY_SCRUB_H_
#define KAMINO_REPLICA_INTEGRITY_SCRUB_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "replica/integrity/range_votes.h"
#include "replica/link/chain_options.h"
#include "replica/repair/pacer.h"
#include "replica/state/scrubbed_heap.h"

namespace kamino::replica {

struct ScrubStats {
  bool on = false;      // asks about other ranges than unresolved ones
  uint64_t ranges = 0;  // 0: this node takes no part
  uint64_t range_bytes = 0;
  uint64_t next = 0;    // next range to compare; an unresolved one first
  uint64_t passes = 0;  // over the whole heap, from its begin
  // A pass has ended, and none has begun since: reports that the head receives
  // meanwhile are not part of the next.
  bool between_passes = false;
  absl::Time ended = absl::InfinitePast();  // of the last pass
  absl::Duration took;
  uint64_t differences = 0;
  std::string last_found;
  uint64_t unanswered = 0;
};

class Scrub {
 public:
  enum class State {
    kRests,
    kAsked,  // the members' votes are awaited
  };

  using Compare = kamino::internal::v1::Compare;
  using Compared = kamino::internal::v1::Compared;

  // Both must outlive it. `heap` may be null: then this node takes no part.
  Scrub(const ChainOptions& options, ScrubbedHeap* heap);

  State state() const {
    return asked_.has_value() ? State::kAsked : State::kRests;
  }
  bool takes_part() const { return heap_ != nullptr; }
  bool has_unresolved_range() const { return unresolved_range().has_value(); }
  std::optional<uint64_t> unresolved_range() const;
  // This node's data is not an unconfirmed copy.
  bool confirmed() const;
  // The node whose data this is: this one or, until the copy is confirmed, its
  // source; "": unknown.
  std::string origin() const;
  const ScrubStats& stats() const { return stats_; }

  // The heap's content is void; a copy from that node replaces it. "": the
  // source is an unconfirmed copy of unknown origin. Durable on return.
  void OnCopied(const std::string& source);
  // No other member is left: this one's data counts. Durable on return.
  void OnAlone();
  void Leave();  // the view has ended
  // An operation of this head has stored to these.
  void OnWritten(const engine::WriteSet& write_set);
  void OnTick(absl::Time now);

  // At the head: the next question, if it is due, after mutation `position`.
  std::optional<Compare> Next(uint64_t position, absl::Time now);

  // At the others.
  enum class Answer {
    kNone,
    kVoted,  // the vote is added to the question
    kFirst,  // *unresolved_range() has to come first
  };
  // Everything up to the question's position is executed here, and no more.
  Answer OnCompare(Compare* compare, absl::Time now);
  // A range that is unresolved here, of which the head may not know, as it has
  // not asked for long; at most once in scrub_retry.
  std::optional<uint64_t> Tell(absl::Time now);
  // Whether that is the question this node has voted on last.
  bool Awaits(uint64_t number) const {
    return asked_.has_value() && asked_->number == number;
  }
  // `range` has to come first.
  void OnFirst(uint64_t range, absl::Time now);
  // All have voted on the open question; this node's own vote is the one at
  // `own`.
  RangeJudgement Conclude(const RangeVotes& votes, size_t own, absl::Time now);

 private:
  struct Asked {
    uint64_t number;
    uint64_t range;
    absl::Time at;
    bool by_this_node;
  };

  void AddVote(uint64_t range, RangeVotes* votes);
  void SetUnresolved(std::optional<uint64_t> range);
  void CountAgreed(uint64_t range, absl::Time asked_at, absl::Time now);
  void Describe(uint64_t range, const RangeVotes& votes,
                const RangeJudgement& judgement);

  const ChainOptions& options_;
  ScrubbedHeap* const heap_;

  std::optional<Asked> asked_;
  uint64_t last_number_ = 0;  // of this node's questions
  uint64_t next_ = 0;         // range
  bool told_ = false;         // that next_ is unresolved
  absl::Time tell_at_ = absl::InfiniteFuture();
  std::optional<uint64_t> walking_;               // to that range
  absl::Time not_before_ = absl::InfinitePast();  // the next question
  absl::Time rest_until_ = absl::InfinitePast();  // unless a range is reported
  Pacer pacer_;
  // For the current pass: ranges agreed on without a gap from the first on, and
  // since when.
  uint64_t in_a_row_ = 0;
  absl::Time pass_began_;
  bool pass_is_of_view_ = false;  // from its first range on
  ScrubStats stats_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_INTEGRITY_SCRUB_H_
