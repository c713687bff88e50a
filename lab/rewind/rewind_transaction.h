// A transaction of a RewindStore. Private to it.
#ifndef KAMINO_LAB_REWIND_REWIND_TRANSACTION_H_
#define KAMINO_LAB_REWIND_REWIND_TRANSACTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/baselines/baseline_transaction.h"
#include "lab/rewind/header_changes.h"
#include "lab/rewind/in_place_writer.h"
#include "lab/rewind/logged_ranges.h"
#include "lab/rewind/own_log.h"
#include "lab/rewind/rewind_store.h"
#include "lab/rewind/write_group.h"

namespace kamino::engine {

class RewindTransaction final : public BaselineTransaction {
 public:
  RewindTransaction(RewindStore* store, absl::Duration lock_wait);
  ~RewindTransaction() override { AbortIfLive(); }

 private:
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
  absl::Status RollBack() override;
  void ReleaseSpace(bool committed) override;

  // Logs and stores what is in the group.
  absl::Status CloseGroup() { return CloseGroup(options().log_wait); }
  absl::Status CloseGroup(absl::Duration wait);
  // Adds the present bytes of open ranges.
  void AddOpen(std::vector<Draft>* drafts) const;
  absl::Status CommitForced(const CommitOptions& options);
  absl::Status CommitUnforced(const CommitOptions& options);

  const RewindOptions& options() const { return store_->options_; }
  Heap& heap() const { return *store_->heap_; }
  Region& region() const { return *store_->heap_->region(); }

  RewindStore* const store_;
  const InPlaceWriter writer_;
  OwnLog log_;
  LoggedRanges ranges_;
  WriteGroup group_;
  HeaderChanges blocks_;
  std::vector<ObjectId> freed_;  // once the locks have fallen
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_REWIND_TRANSACTION_H_
