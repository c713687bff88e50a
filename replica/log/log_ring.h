// A node's persistent queue of log entries (Kamino-Tx, section 5.1: the input
// queue and the queue of in-flight transactions) as one ring with three
// cursors:
//
//     cleaned <= applied <= received
//
// Entries between applied and received are the input queue; entries between
// cleaned and applied are in flight.
//
// Mutations are numbered, densely from 1: a mutation is the change of one
// request. An entry holds the mutations that a head executed as one batch, and
// covers their numbers [first, last]. Cursors stand only at the end of an
// entry.
//
// Invariants:
//   1. An entry is durable before Append returns, unless the drains of the
//      region are deferred (engine/pmem/deferred_drains.h).
//   2. Space of a cleaned entry is reused only once `cleaned` is durable past
//      it, so that a restart never begins its scan in overwritten bytes.
//   3. `applied` on media may lag until PersistApplied; it never runs ahead of
//      execution.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_LOG_LOG_RING_H_
#define KAMINO_REPLICA_LOG_LOG_RING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/chain_mode.h"
#include "engine/pmem/region.h"
#include "replica/log/applied_mark.h"
#include "replica/log/applied_marks.h"
#include "replica/log/log_entry.h"
#include "replica/log/ring_media.h"
#include "replica/log/ring_space.h"

namespace kamino::replica {

class LogRing {
 public:
  using HeapUuid = RingMedia::HeapUuid;

  // Smallest region, in bytes: the header and four of the largest entries.
  static constexpr size_t kMinBytes = 16u << 20;
  // Enough for tests, with entries of a quarter of that.
  static constexpr size_t kMinTinyBytes = 64u << 10;

  // Makes the region an empty ring for a chain of that mode. The region must
  // outlive the ring. kInvalidArgument: the region is smaller than `min_bytes`.
  static absl::StatusOr<std::unique_ptr<LogRing>> Create(
      engine::Region* region, const HeapUuid& heap,
      size_t min_bytes = kMinBytes, ChainMode mode = ChainMode::kKamino);

  // Finds the entries again; drops a torn last one, which was never
  // acknowledged. kFailedPrecondition: not a ring, of another version, or of
  // another heap; kDataLoss: damaged.
  static absl::StatusOr<std::unique_ptr<LogRing>> Open(engine::Region* region,
                                                       const HeapUuid& heap);

  // Appends an entry, whose first mutation must be received() + 1, and makes it
  // durable; its bytes stay unchanged. kResourceExhausted: no room until older
  // entries are cleaned. kInvalidArgument: larger than space().max_entry().
  absl::Status Append(const LogEntry& entry);
  // The same for an entry that is built in the ring.
  absl::Status Append(const LogEntryDraft& draft);

  // The entry that covers a mutation in (cleaned, received]. Its bytes are
  // valid until something is appended after it was cleaned, or the ring begins
  // anew.
  LogEntry EntryOf(uint64_t sequence) const;

  // Whether a cursor may stand here: it is cleaned(), or ends an entry.
  bool EndsEntry(uint64_t sequence) const { return space_.EndsEntry(sequence); }

  // Advances applied to `sequence` <= received(), which ends an entry.
  void MarkApplied(uint64_t sequence);

  // Marked positions are durable when this returns.
  void PersistApplied() { marks_.Persist(); }
  const AppliedMarks& marks() const { return marks_; }

  // Marks of other regions, which follow the ring's own from now on: they are
  // marked and made durable with it. They must be equal to it already, and
  // outlive the ring or the next call.
  void SetOtherMarks(std::vector<AppliedMark*> marks) {
    marks_.SetOthers(std::move(marks));
  }

  // Sets applied back to `sequence` >= cleaned(), which ends an entry, durably.
  // For a node of which another region holds no later entries.
  void RollBackApplied(uint64_t sequence);

  // Advances cleaned to `sequence` <= applied(), which ends an entry.
  void Clean(uint64_t sequence);

  // Called with cleaned(), where applied() is durable, before that becomes
  // durable: now and then, not with each entry. Until it returns, a restart
  // finds the entries cleaned since the last call.
  void SetBeforeCleaned(std::function<void(uint64_t cleaned)> hook) {
    before_cleaned_ = std::move(hook);
  }

  // Replaces the last entry, which is not applied, by one of the same numbers
  // in one step: a crash leaves the one or the other. Errors as Append.
  absl::Status ReplaceLast(const LogEntryDraft& draft);

  // Drops every entry after `sequence`, which ends one, durably: a head's entry
  // without a commit record was never sent. A crash on the way leaves the first
  // of them.
  void TruncateAfter(uint64_t sequence);

  // Begins anew, empty, as if everything up to `sequence` were cleaned.
  // `generation` must be new to this ring, so that no old entry counts as a new
  // one. A crash on the way leaves a ring that may not open: the caller must
  // know that, and begin anew again.
  void Restart(uint64_t sequence, uint32_t generation);

  // The mode that it was created with; constant.
  ChainMode mode() const { return media_.mode(); }

  uint64_t received() const { return space_.received(); }
  uint64_t applied() const { return marks_.end(); }
  uint64_t cleaned() const { return space_.cleaned(); }
  const RingSpace& space() const { return space_; }

  // Bytes of entries that were appended since the ring was opened, and of their
  // after-images, which are part of that.
  struct Appended {
    uint64_t bytes = 0;
    uint64_t image_bytes = 0;
  };
  const Appended& appended() const { return appended_; }

 private:
  explicit LogRing(engine::Region* region);

  void Format(const HeapUuid& heap, ChainMode mode, uint64_t sequence,
              uint32_t generation);
  void PersistCleaned();
  // `write` stores the entry's `length` bytes. `first`: received() + 1, or that
  // of the last entry, which it replaces.
  absl::Status Append(uint64_t first, uint64_t last, uint64_t length,
                      absl::FunctionRef<void(char* to)> write);

  RingMedia media_;
  RingSpace space_;
  AppliedMarks marks_;
  std::function<void(uint64_t)> before_cleaned_;  // or null
  Appended appended_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LOG_LOG_RING_H_
