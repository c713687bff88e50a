#include "lab/rewind/rewind_store.h"

#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "lab/rewind/log_format.h"
#include "lab/rewind/record_table.h"
#include "lab/rewind/rewind_recovery.h"
#include "lab/rewind/rewind_transaction.h"

namespace kamino::engine {

using rewind_format::LogFormat;

namespace {

absl::Status CheckOptions(const RewindOptions& options, const Heap& heap) {
  RETURN_IF_ERROR(CheckRewind(options));
  if (heap.label() != options.Name()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the heap belongs to \"", heap.label(), "\", not to \"",
                     options.Name(), "\""));
  }
  if (heap.region()->size() > kMostChecked) {
    return absl::InvalidArgumentError(
        absl::StrCat("a heap of ", heap.region()->size(),
                     " bytes: REWIND can have ", kMostChecked, " at most"));
  }
  if (heap.log_area().size() < RecordTable::MinBytes(options)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the heap has ", heap.log_area().size(),
                     " bytes for the log; \"", options.Name(), "\" needs ",
                     RecordTable::MinBytes(options), ": make the heap larger"));
  }
  return absl::OkStatus();
}

// Recovers a log of an earlier release and leaves an empty one of today's
// format. Nothing: it has today's format.
absl::StatusOr<std::optional<RecoveryReport>> Upgrade(
    const RewindOptions& options, Heap* heap) {
  ASSIGN_OR_RETURN(const LogFormat format, LogFormatOf(*heap));
  if (format == LogFormat::kChecked) return std::nullopt;
  RewindLog log(heap, options, format);
  ASSIGN_OR_RETURN(RecoveryReport report,
                   RecoverRewind(heap, &log, options.force));
  BeginChecked(heap, report.last_sequence);
  return report;
}

}  // namespace

RewindStore::RewindStore(const RewindOptions& options, Heap* heap)
    : options_(options),
      name_(options.Name()),
      heap_(heap),
      log_(heap, options, LogFormat::kChecked) {}

absl::StatusOr<std::unique_ptr<RewindStore>> RewindStore::Open(
    const RewindOptions& options, Heap* heap) {
  RETURN_IF_ERROR(CheckOptions(options, *heap));
  ASSIGN_OR_RETURN(auto upgraded, Upgrade(options, heap));
  FinishChecked(heap);
  auto store = absl::WrapUnique(new RewindStore(options, heap));
  ASSIGN_OR_RETURN(store->report_,
                   RecoverRewind(heap, &store->log_, options.force));
  if (upgraded.has_value()) store->report_ = *std::move(upgraded);
  RETURN_IF_ERROR(heap->Load());
  return store;
}

RewindStore::~RewindStore() { Checkpoint(); }

std::unique_ptr<Transaction> RewindStore::Begin(absl::Duration lock_wait) {
  return absl::make_unique<RewindTransaction>(this, lock_wait);
}

uint64_t RewindStore::bytes_used() const {
  return heap_->stats().bytes_used + heap_->log_area().size();
}

bool RewindStore::Checkpoint() { return log_.Checkpoint(); }

bool RewindStore::WantsCheckpoint() const { return log_.WantsCheckpoint(); }

bool RewindStore::WorkBeside() {
  if (WantsCheckpoint()) Checkpoint();
  return false;
}

}  // namespace kamino::engine
