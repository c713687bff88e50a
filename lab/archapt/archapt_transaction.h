// A transaction of an ArchaptStore. Private to it.
#ifndef KAMINO_LAB_ARCHAPT_ARCHAPT_TRANSACTION_H_
#define KAMINO_LAB_ARCHAPT_ARCHAPT_TRANSACTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/baselines/baseline_transaction.h"
#include "engine/baselines/declared_ranges.h"
#include "lab/archapt/advancer.h"
#include "lab/archapt/archapt_media.h"
#include "lab/archapt/backlog.h"
#include "lab/archapt/commit_list.h"
#include "lab/archapt/durable_progress.h"
#include "lab/archapt/line_ranges.h"
#include "lab/archapt/matrix_keeper.h"
#include "lab/archapt/room_maker.h"
#include "lab/archapt/taken_flushes.h"
#include "lab/archapt/undo_ring.h"

namespace kamino::engine {

class ArchaptTransaction final : public BaselineTransaction {
 public:
  // The parts of a store that its transactions use; they outlive them.
  struct Parts {
    ObjectLocks* locks;
    ArchaptMedia* media;
    Backlog* backlog;
    DurableProgress* progress;
    MatrixKeeper* matrices;
    Advancer* advancer;
    RoomMaker* room;
  };

  ArchaptTransaction(const Parts& store, absl::Duration lock_wait)
      : BaselineTransaction(store.locks, lock_wait),
        store_(store),
        taken_(store.media->region, store.backlog, store.matrices) {}
  ~ArchaptTransaction() override { AbortIfLive(); }

 private:
  // Bytes of an object whose old ones are in the log.
  struct Range {
    size_t object = 0;  // in held()
    uint32_t offset = 0;
    uint32_t length = 0;
  };

  ObjectId root() const override { return heap().root(); }
  void PrefetchPayload(ObjectId id) const override { heap().Prefetch(id, 0); }
  absl::StatusOr<absl::Span<std::byte>> Find(ObjectId id) override {
    return heap().Payload(id);
  }
  absl::StatusOr<absl::Span<const std::byte>> Show(HeldObject& held) override;
  absl::StatusOr<std::byte*> DeclareWrite(HeldObject& held, uint32_t offset,
                                          uint32_t length) override;
  absl::Status DeclareWrites(absl::Span<const Intent> writes) override;
  absl::StatusOr<NewObject> Take(uint32_t size) override;
  void PutBack(ObjectId id) override { heap().Release(id); }
  absl::Status DeclareAlloc(HeldObject&) override;
  absl::Status DeclareFree(HeldObject& held) override;
  absl::Status MakeDurable(const CommitOptions& options) override;
  absl::Status RollBack() override;
  void ReleaseSpace(bool committed) override;

  // Prepares an object for a change after which the old bytes of `logged` are
  // in the log.
  void Claim(HeldObject& held, const LineRange& logged);
  // Durably; again when there is more room. Settles what was taken.
  absl::Status Append(absl::Span<const UndoDraft> drafts);
  absl::Status LogHeaders();
  // Lists the ranges that this transaction has stored to.
  void ListWritten(LogicalCommit* commit);
  void FlushAll(LogicalCommit* commit);
  absl::Status EndReading(const CommitOptions& options);
  // Returns the sequence.
  uint64_t CommitLogically(LogicalCommit commit);

  Heap& heap() const { return *store_.media->heap; }
  Region& region() const { return *store_.media->region; }
  UndoRing& ring() const { return store_.media->ring; }

  const Parts store_;
  OwnUndo own_;
  DeclaredRanges<Range> ranges_;
  TakenFlushes taken_;
  bool states_change_ = false;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_ARCHAPT_TRANSACTION_H_
