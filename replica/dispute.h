// What becomes of a log entry whose execution here left something else than the
// head's did. One of the two computes wrongly, or on wrong data; which of them,
// others have to say.
//
// Such an entry is neither applied nor sent on, and nothing after it is
// executed. The successor is asked: it tries the entry without any effect, and
// says what it comes to. Then one has two against it:
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
// A copy: the successor's data and this node's are of one origin, and nobody
// has borne them out since (replica/scrub.h), so that they err alike.
//
// Who erred discards its state and ends; it joins anew. A node whose result
// was borne out, or whose head has gone, goes on with it as the next head; one
// that could not execute the entry to its end is rolled back by its successor
// then, and drops it: no one was answered. What is undecided waits for an
// operator.
//
// A dispute is in the node's record: a restart does not end it, nor is the
// entry mended by a neighbour then, as one that was interrupted is.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_DISPUTE_H_
#define KAMINO_REPLICA_DISPUTE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "replica/log_entry.h"
#include "replica/node_record.h"

namespace kamino::replica {

class Dispute {
 public:
  enum class Judgement { kAsk, kThisNodeErred, kHeadErred, kUndecided };

  struct Votes {
    size_t before = 1;             // nodes before this one, the head among them
    uint64_t head = 0;             // hashes of what each came to
    uint64_t own = 0;              // 0: it could not be executed to its end
    bool successor = false;        // there is one
    std::optional<uint64_t> vote;  // of the successor
    bool one_origin = false;       // its data and this node's are copies
  };
  static Judgement Judge(const Votes& votes);

  // `record` must outlive it. `retry`: between two questions.
  Dispute(NodeRecord* record, absl::Duration retry)
      : record_(record), retry_(retry) {}

  bool open() const { return entry_.has_value(); }
  // While it is open: numbers of the entry's mutations.
  uint64_t first() const { return entry_->first; }
  uint64_t last() const { return entry_->last; }
  uint64_t own_hash() const { return entry_->own; }
  bool whole() const { return entry_->whole; }
  // The successor says what this node does, but its data are the same copy.
  bool a_copy_agrees() const { return one_origin_ && vote_ == entry_->own; }

  // `why`: an error that the execution ended with, or OK where it came to
  // another image, whose hash is `own`. Everything before the entry is applied,
  // durably, and so is what it has stored. Durable on return.
  void Begin(const LogEntry& entry, const absl::Status& why, uint64_t own);
  // After a restart.
  void Resume(const LogEntry& entry, bool whole, uint64_t own);
  // It is over, durably.
  void End();

  // A new view: others may be asked.
  void ForgetVotes();
  // `one_origin`: as Votes has it.
  void OnVote(uint64_t first, uint64_t hash, bool one_origin);
  Judgement Judge(size_t before, bool successor) const;
  // At most once in `retry`.
  bool MaySpeak(absl::Time now);
  // The first time that it is undecided in this view.
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

#endif  // KAMINO_REPLICA_DISPUTE_H_
