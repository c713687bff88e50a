#include "engine/kamino/kamino_store.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "base/status_macros.h"
#include "engine/kamino/kamino_transaction.h"
#include "engine/kamino/recovery.h"

namespace kamino::engine {

KaminoStore::KaminoStore(Heap* heap, std::unique_ptr<UndoCopy> undo_copy,
                         const KaminoOptions& options)
    : heap_(heap),
      undo_copy_(std::move(undo_copy)),
      log_(heap->region(), heap->log_area(),
           [this] {
             return std::max(last_sequence_,
                             pipeline_.lanes().LargestSequence());
           }),
      sticky_(heap->region(), &locks_, heap->log_area()),
      saver_(undo_copy_->undo_log(), heap->region()),
      writer_(heap, undo_copy_.get(), &sticky_),
      pipeline_({heap, &locks_, &log_, &saver_, &writer_},
                options.copy_at_commit && !saver_.saves()),
      parts_{heap,     options.snapshots, undo_copy_.get(), &locks_,   &log_,
             &sticky_, &saver_,           &writer_,         &pipeline_} {}

KaminoStore::~KaminoStore() {
  if (!recovered_) return;  // the next Open needs what the log says
  pipeline_.SetUnlockListener(nullptr);  // its owner may be gone
  pipeline_.PropagateAll();
  // Before the log forgets what was committed.
  if (saver_.saves()) saver_.Forget();
  sticky_.Reset();
  log_.Reset(0);
}

absl::StatusOr<std::unique_ptr<KaminoStore>> KaminoStore::Open(
    Heap* heap, std::unique_ptr<UndoCopy> undo_copy,
    const KaminoOptions& options) {
  auto store =
      absl::WrapUnique(new KaminoStore(heap, std::move(undo_copy), options));
  ASSIGN_OR_RETURN(store->last_sequence_,
                   RecoverHeap(heap, store->undo_copy_.get(), &store->log_,
                               &store->sticky_, options.on_recovered));
  store->recovered_ = true;
  store->saver_.StartAfter(store->last_sequence_);
  store->undo_copy_->SetEvictionListener(
      [writer = &store->writer_](absl::Span<const ObjectId> victims) {
        writer->ClearIntents(victims);
      });
  return store;
}

std::unique_ptr<Transaction> KaminoStore::Begin(absl::Duration lock_wait) {
  return absl::make_unique<KaminoTransaction>(parts_, CommitLanes::NewOwner(),
                                              lock_wait);
}

size_t KaminoStore::PropagateToUndoCopy(size_t max) {
  pipeline_.PropagateSome(max);
  return pipeline_.lanes().Pending();
}

uint64_t KaminoStore::bytes_used() const {
  // An undo copy's space is set aside whether used or not.
  return heap_->stats().bytes_used + heap_->log_area().size() +
         undo_copy_->stats().bytes_total;
}

KaminoStats KaminoStore::stats() const {
  const CommitLanes::Counts counts = pipeline_.lanes().counts();
  KaminoStats stats;
  stats.committed = counts.committed;
  stats.aborted = counts.aborted;
  stats.unpropagated = counts.pending;
  stats.held = pipeline_.held().kept();
  stats.locked_objects = locks_.exclusive();
  stats.undo_copy = undo_copy_->stats();
  return stats;
}

}  // namespace kamino::engine
