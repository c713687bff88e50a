// Resolves a divergence: a log entry whose execution here has another result
// than the head's. One of the two computes wrongly, or on wrong data; other
// nodes decide which.
//
// Such an entry is neither applied nor sent on, and no later entry is executed.
// The successor is asked to try the entry without effect and to report its
// result. Then the votes decide:
//
//   comes before   the successor says      then
//   the head       nothing yet             kAsk
//                  as the head             kThisNodeErred
//                  as this node            kHeadErred
//                  as this node, a copy    kUndecided: one against one
//                  something else          kUndecided
//                  there is none           kUndecided
//   more nodes     nothing yet             kAsk
//                  as the head             kThisNodeErred
//                  as this node, a copy    kThisNodeErred: two against one
//                  anything else           kUndecided: two against two
//                  there is none           kThisNodeErred
//
// A copy: the successor's data and this node's have one origin, and no other
// node has confirmed them since (replica/integrity/scrub.h), so both err alike.
//
// The node that erred discards its state, ends, and joins anew. A node whose
// result was confirmed, or whose head is gone, continues with its result as the
// next head. If it could not execute the entry to its end, its successor rolls
// it back, and it drops the entry: no client has an answer. An undecided
// divergence waits for an operator.
//
// The node's record keeps the divergence: a restart does not end it, and no
// neighbour then repairs the entry, as it does an interrupted one.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_INTEGRITY_DIVERGENCE_H_
#define KAMINO_REPLICA_INTEGRITY_DIVERGENCE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "replica/log/log_entry.h"
#include "replica/log/node_record.h"

namespace kamino::replica {

class Divergence {
 public:
  enum class Judgement { kAsk, kThisNodeErred, kHeadErred, kUndecided };

  struct Votes {
    size_t before = 1;             // nodes before this one, including the head
    uint64_t head = 0;             // hashes of the results
    uint64_t own = 0;              // 0: it could not be executed to its end
    bool successor = false;        // whether there is one
    std::optional<uint64_t> vote;  // the successor's hash
    bool one_origin = false;       // its data and this node's are copies
  };
  static Judgement Judge(const Votes& votes);

  // `record` must outlive it. `retry`: between two questions.
  Divergence(NodeRecord* record, absl::Duration retry)
      : record_(record), retry_(retry) {}

  bool open() const { return entry_.has_value(); }
  // While it is open: the numbers of the entry's mutations.
  uint64_t first() const { return entry_->first; }
  uint64_t last() const { return entry_->last; }
  uint64_t own_hash() const { return entry_->own; }
  bool whole() const { return entry_->whole; }
  // The successor has this node's result, but its data is the same copy.
  bool a_copy_agrees() const { return one_origin_ && vote_ == entry_->own; }

  // `why`: the error of the execution, or OK if it had another image; `own` is
  // its hash. Everything before the entry, and all that the entry has stored,
  // is durable. Durable on return.
  void Begin(const LogEntry& entry, const absl::Status& why, uint64_t own);
  // After a restart.
  void Resume(const LogEntry& entry, bool whole, uint64_t own);
  // It is over, durably.
  void End();

  // A new view: other nodes may be asked.
  void ForgetVotes();
  // `one_origin`: as in Votes.
  void OnVote(uint64_t first, uint64_t hash, bool one_origin);
  Judgement Judge(size_t before, bool successor) const;
  // At most once in `retry`.
  bool MaySpeak(absl::Time now);
  // True the first time that it is undecided in this view.
  bool FirstUndecided();

 private:
  struct Entry {
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t head = 0;
    uint64_t own = 0;
    bool whole = true;
  };

  NodeRecord* const record_;
  const absl::Duration retry_;
  std::optional<Entry> entry_;
  std::optional<uint64_t> vote_;
  bool one_origin_ = false;
  absl::Time speak_at_ = absl::InfinitePast();
  bool told_ = false;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_INTEGRITY_DIVERGENCE_H_
