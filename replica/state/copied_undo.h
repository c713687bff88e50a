// LocalUndo by copies of whole objects, as at the head of a Kamino chain:
// missing copies are made in the critical path, and copies are updated off it.
//
// Invariants:
//   1. While an entry is executed, the objects that it writes have durable
//      copies that are up to date with all entries before it.
//   2. The mark in the undo copy's region never runs ahead of the copies.
//   3. On media, mark >= ring.cleaned(). So the ring that a restart finds knows
//      all objects that entries after the mark have written. In a running
//      process work_ knows them, and the ring may be cleaned beyond the mark.
// After a restart an object of an interrupted entry is therefore equal to its
// copy, unless an applied entry after the mark has written it: then the
// interrupted entry was not begun.
#ifndef KAMINO_REPLICA_STATE_COPIED_UNDO_H_
#define KAMINO_REPLICA_STATE_COPIED_UNDO_H_

#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "replica/state/local_undo.h"

namespace kamino::replica {

class CopiedUndo final : public LocalUndo {
 public:
  // On return the mark at ring.applied() is durable.
  CopiedUndo(engine::Heap* heap, LogRing* ring, engine::UndoCopy* undo_copy);
  ~CopiedUndo() override;

  absl::Status Prepare(const LogEntry& entry,
                       const engine::WriteSet& write_set) override;
  absl::Status RollBack() override;
  bool Propagate(size_t max) override;
  engine::UndoCopyStats stats() const override { return undo_copy_->stats(); }

 private:
  // An entry whose changes are not in the copies yet.
  struct Work {
    uint64_t last = 0;
    engine::WriteSet write_set;
    // The copies of the objects that it writes; pinned.
    absl::flat_hash_map<engine::ObjectId, std::byte*> copies;
    std::vector<engine::ObjectId> freed;
  };

  // Makes copies of the objects that the entry writes, and adds it to the work.
  absl::Status Pin(const engine::WriteSet& write_set, Work* work);
  void Unpin(const Work& work);
  // Removes it from the work.
  void Forget(const Work& work);
  // Updates the copies up to that entry, durably.
  void PropagateTo(uint64_t sequence) { PropagateSome(sequence, SIZE_MAX); }
  void PropagateSome(uint64_t sequence, size_t max);
  void CopyChanges(const Work& work);
  // The entry up to which the copies must be updated before this one is
  // executed.
  uint64_t NeededFor(const engine::WriteSet& write_set) const;

  engine::Heap* const heap_;
  LogRing* const ring_;
  engine::UndoCopy* const undo_copy_;
  AppliedMark mark_;
  std::deque<Work> work_;  // the last one may not be applied yet
  // By object: the last entry in work_ that writes it.
  absl::flat_hash_map<engine::ObjectId, uint64_t> written_;
  uint64_t freed_ = 0;  // the last entry that frees something
};

// As RollBackInterrupted.
absl::Status RollBackByCopies(engine::Heap* heap, const LogRing& ring,
                              engine::UndoCopy* undo_copy);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_COPIED_UNDO_H_
