#include "replica/state/heap_executor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/kamino/replica_transaction.h"
#include "replica/errors.h"

namespace kamino::replica {

using engine::Intent;
using engine::WriteSet;

template <typename Transaction>
absl::StatusOr<uint64_t> HeapExecutor::Run(const LogEntry& entry, bool trial) {
  ASSIGN_OR_RETURN(const auto declared, entry.ReadDeclared());
  const WriteSet& write_set = declared.write_set;
  if (scrubbed_ != nullptr && !trial) {
    for (const Intent& intent : write_set) scrubbed_->OnWritten(intent.object);
  }
  if (!trial) BeforeChanges(write_set);
  if (undo_ != nullptr && !trial) {
    RETURN_IF_ERROR(PrepareRollBack(entry, write_set));
  }
  Transaction transaction(heap_, write_set);
  absl::Status done = state_->Replay(transaction, entry, trial);
  uint64_t hash = 0;
  if (done.ok() && entry.image_hash() != 0) {
    // Before Commit: afterwards flushed bytes may have left the cache.
    hash = transaction.HashImage(declared.filled);
  }
  if (done.ok()) {
    done = static_cast<engine::Transaction&>(transaction).Commit();
  }
  // Not a divergence: this program cannot execute the entry.
  if (ReasonOf(done) == kamino::v1::REASON_UNKNOWN_PROCEDURE) return done;
  if (!done.ok()) return absl::DataLossError(done.message());
  return hash;
}

// All at once, so that a snapshot stays valid even if the execution ends
// halfway.
void HeapExecutor::BeforeChanges(const WriteSet& write_set) {
  if (snapshots_ == nullptr) return;
  for (const Intent& intent : write_set) snapshots_->BeforeChange(intent);
}

absl::Status HeapExecutor::PrepareRollBack(const LogEntry& entry,
                                           const WriteSet& write_set) {
  ASSIGN_OR_RETURN(auto undo, undo_->BeginLocalUndo());
  return undo->Prepare(entry, write_set);
}

absl::Status HeapExecutor::RollBack() {
  ASSIGN_OR_RETURN(auto undo, undo_->BeginLocalUndo());
  RETURN_IF_ERROR(undo->RollBack());
  state_->Forget();
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> HeapExecutor::Execute(const LogEntry& entry) {
  return Run<engine::ReplicaTransaction>(entry, /*trial=*/false);
}

absl::StatusOr<uint64_t> HeapExecutor::Try(const LogEntry& entry) {
  return Run<engine::TrialTransaction>(entry, /*trial=*/true);
}

absl::StatusOr<uint64_t> HeapExecutor::HashImage(const LogEntry& entry) {
  ASSIGN_OR_RETURN(const auto declared, entry.ReadDeclared());
  return engine::ReplicaTransaction(heap_, declared.write_set)
      .HashImage(declared.filled);
}

absl::StatusOr<absl::string_view> HeapExecutor::ImageOf(const Intent& intent) {
  const engine::Region& region = *heap_->region();
  const uint64_t size = region.size();
  const uint64_t begin = intent.object + intent.offset;
  if (intent.object < heap_->root() || intent.object > size || begin > size ||
      intent.length > size - begin) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes [", begin, " + ", intent.length,
                     ") are not among the heap's objects"));
  }
  return absl::string_view(reinterpret_cast<const char*>(region.base() + begin),
                           intent.length);
}

absl::Status HeapExecutor::ReadIntent(const Intent& intent,
                                      std::string* bytes) {
  ASSIGN_OR_RETURN(const absl::string_view there, ImageOf(intent));
  bytes->append(there.data(), there.size());
  return absl::OkStatus();
}

absl::Status HeapExecutor::BeginRepair(const WriteSet& intents,
                                       bool interrupted) {
  repaired_.clear();
  // Changes of torn entries were announced before, for snapshots that are that
  // old.
  if (!interrupted) BeforeChanges(intents);
  return interrupted ? object_repair_.Begin(intents)
                     : object_repair_.BeginWhole(intents);
}

absl::Status HeapExecutor::RepairIntent(const Intent& intent,
                                        absl::string_view bytes,
                                        RepairDirection direction) {
  // Until a hash confirms it.
  if (scrubbed_ != nullptr) repaired_.push_back(intent.object);
  return object_repair_.Apply(intent, bytes, direction);
}

void HeapExecutor::EndRepair(bool confirmed) {
  heap_->region()->Drain();
  state_->Forget();
  for (engine::ObjectId object : std::exchange(repaired_, {})) {
    if (confirmed) {
      scrubbed_->OnWritten(object);
    } else {
      scrubbed_->OnBorrowed(object);
    }
  }
}

}  // namespace kamino::replica
