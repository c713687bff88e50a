// LocalUndo by copies of whole objects, as a head of a Kamino chain has them: a
// copy is made in the critical path where there is none, and brought up to date
// off it.
//
// Invariants:
//   1. While an entry is executed, what it writes to has a durable copy that is
//      up to date with all entries before it.
//   2. The mark in the backup's region never runs ahead of the copies.
//   3. On media, mark >= ring.cleaned(). So of an object that an entry after
//      the mark has written to, the ring that a restart finds knows it. In a
//      process work_ knows it, and the ring may be cleaned beyond the mark.
// After a restart an object of an interrupted entry is therefore what its copy
// says, unless one after the mark that is applied has written to it: then the
// interrupted one was not begun.
#ifndef KAMINO_REPLICA_COPIED_UNDO_H_
#define KAMINO_REPLICA_COPIED_UNDO_H_

#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "replica/local_undo.h"

namespace kamino::replica {

class CopiedUndo final : public LocalUndo {
 public:
  // Durable on return is the mark, at ring.applied().
  CopiedUndo(engine::Heap* heap, LogRing* ring, engine::Backup* backup);
  ~CopiedUndo() override;

  absl::Status Prepare(const LogEntry& entry,
                       const engine::WriteSet& write_set) override;
  absl::Status TakeBack() override;
  bool Propagate(size_t max) override;
  engine::BackupStats stats() const override { return backup_->stats(); }

 private:
  // An entry whose changes the copies lack.
  struct Work {
    uint64_t last = 0;
    engine::WriteSet write_set;
    // Of what it writes to; pinned.
    absl::flat_hash_map<engine::ObjectId, std::byte*> copies;
    std::vector<engine::ObjectId> freed;
  };

  // Copies are made of what the entry writes to, and it becomes work.
  absl::Status Pin(const engine::WriteSet& write_set, Work* work);
  void Unpin(const Work& work);
  // It is no work any more.
  void Forget(const Work& work);
  // Up to that entry, durably.
  void PropagateTo(uint64_t sequence) { PropagateSome(sequence, SIZE_MAX); }
  void PropagateSome(uint64_t sequence, size_t max);
  void CopyChanges(const Work& work);
  // Up to which entry the copies have to be up to date before this is executed.
  uint64_t NeededFor(const engine::WriteSet& write_set) const;

  engine::Heap* const heap_;
  LogRing* const ring_;
  engine::Backup* const backup_;
  AppliedMark mark_;
  std::deque<Work> work_;  // the last one may not be applied yet
  // By object: the last entry in work_ that writes to it.
  absl::flat_hash_map<engine::ObjectId, uint64_t> written_;
  uint64_t freed_ = 0;  // the last entry that frees something
};

// As TakeBackInterrupted.
absl::Status TakeBackByCopies(engine::Heap* heap, const LogRing& ring,
                              engine::Backup* backup);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_COPIED_UNDO_H_
