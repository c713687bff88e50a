// A transaction of a RewindStore. Private to it.
#ifndef KAMINO_LAB_REWIND_REWIND_TRANSACTION_H_
#define KAMINO_LAB_REWIND_REWIND_TRANSACTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/baselines/baseline_transaction.h"
#include "engine/baselines/declared_ranges.h"
#include "lab/rewind/rewind_log.h"
#include "lab/rewind/rewind_store.h"

namespace kamino::engine {

class RewindTransaction final : public BaselineTransaction {
 public:
  RewindTransaction(RewindStore* store, absl::Duration lock_wait)
      : BaselineTransaction(&store->locks_, lock_wait), store_(store) {}
  ~RewindTransaction() override { AbortIfLive(); }

 private:
  // Bytes of an object whose old ones are in the log.
  struct Range {
    size_t object = 0;  // in held()
    uint32_t offset = 0;
    uint32_t length = 0;
    // Stored to through a pointer, or over what the log has: what it holds at
    // the commit is to be logged, or flushed.
    bool open = false;
  };
  // Bytes that are to be stored once they are logged.
  struct Pending {
    size_t object = 0;  // in held()
    uint32_t offset = 0;
    std::vector<std::byte> bytes;
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
  absl::Status Put(HeldObject& held, uint32_t offset,
                   absl::Span<const std::byte> bytes) override;
  absl::StatusOr<NewObject> Take(uint32_t size) override;
  void PutBack(ObjectId id) override { heap().Release(id); }
  absl::Status DeclareAlloc(HeldObject&) override;
  absl::Status DeclareFree(HeldObject&) override;
  absl::Status MakeDurable(const CommitOptions& options) override;
  absl::Status TakeBack() override;
  void ReleaseSpace(bool committed) override;

  Range* Covering(const HeldObject& held, uint32_t offset, uint32_t length) {
    return ranges_.Covering(this->held().IndexOf(held), offset, length);
  }
  void Open(Range* range);
  // Whether a caller may have a pointer into this range.
  bool MeetsOpen(const HeldObject& held, uint32_t offset, size_t length);
  // The update for bytes that are to be stored there; null: not known yet.
  Draft UpdateOf(const HeldObject& held, uint32_t offset, uint32_t length,
                 const std::byte* new_bytes) const;
  // If the log has no room: again after a checkpoint, and as others end.
  absl::Status WithRoom(absl::Duration wait,
                        absl::FunctionRef<absl::Status()> append);
  absl::Status Append(absl::Span<const Draft> drafts) {
    return Append(drafts, options().log_wait);
  }
  absl::Status Append(absl::Span<const Draft> drafts, absl::Duration wait);
  absl::Status AppendEnd(absl::Span<const Draft> drafts, uint64_t sequence);
  void Store(const HeldObject& held, uint32_t offset,
             absl::Span<const std::byte> bytes);

  // Logs and stores what is pending.
  absl::Status CloseGroup() { return CloseGroup(options().log_wait); }
  absl::Status CloseGroup(absl::Duration wait);
  void AddPending(std::vector<Draft>* drafts);
  void StorePending();
  // Adds the present bytes of open ranges.
  void AddOpen(std::vector<Draft>* drafts);
  // Adds headers of blocks that are allocated or freed, not both.
  void AddHeaders(std::vector<Draft>* drafts);
  void StoreHeaders();
  void FlushNew();

  absl::Status CommitForced(const CommitOptions& options);
  absl::Status CommitUnforced(const CommitOptions& options);
  // Its records name them, so they are free once those are gone.
  void KeepBlocks(bool committed);

  const RewindOptions& options() const { return store_->options_; }
  bool batches() const { return options().form == LogForm::kBatch; }
  Heap& heap() const { return *store_->heap_; }
  Region& region() const { return *store_->heap_->region(); }

  RewindStore* const store_;
  OwnRecords own_;
  DeclaredRanges<Range> ranges_;
  std::vector<Range> open_ranges_;  // of those, up to kMostOpen and one more
  std::vector<Pending> pending_;
  // Payloads shown with what is pending, where the log has no room for that.
  std::vector<std::vector<std::byte>> overlays_;
  // Old and new words of headers, by their place in held(); while it ends.
  struct Header {
    size_t object = 0;
    uint64_t words[2] = {};
  };
  std::vector<Header> headers_;
  bool states_change_ = false;
  bool headers_logged_ = false;
  bool blocks_kept_ = false;
  std::vector<ObjectId> freed_;  // by what was cleared
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_REWIND_TRANSACTION_H_
