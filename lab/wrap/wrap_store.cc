#include "lab/wrap/wrap_store.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "engine/heap/heap_format.h"
#include "lab/wrap/wrap_layout.h"
#include "lab/wrap/wrap_recovery.h"
#include "lab/wrap/wrap_transaction.h"

namespace kamino::engine {

using wrap_format::kLabel;

namespace {

absl::Status CheckLogBytes(size_t log_bytes, size_t region_bytes) {
  constexpr size_t kPage = 4096;
  if (log_bytes == 0 ||
      (log_bytes % kPage == 0 && log_bytes >= heap_format::kMinLogBytes &&
       log_bytes <= region_bytes / 2)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "WrAP with a log of ", log_bytes, " bytes in a heap of ", region_bytes,
      ": it must be a multiple of ", kPage, ", have ",
      heap_format::kMinLogBytes, " at least and half of the heap at most"));
}

absl::Status CheckLogWait(absl::Duration log_wait) {
  if (log_wait >= absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("WrAP with a log_wait of ",
                                                 absl::FormatDuration(log_wait),
                                                 "; it must not be negative"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<WrapStore>> WrapStore::Create(
    Region* home, const WrapOptions& options) {
  RETURN_IF_ERROR(CheckLogBytes(options.log_bytes, home->size()));
  RETURN_IF_ERROR(CheckLogWait(options.log_wait));
  {
    ASSIGN_OR_RETURN(
        const auto heap,
        options.log_bytes == 0
            ? Heap::Create(home, kLabel)
            : Heap::CreateWithLog(home, kLabel, options.log_bytes));
    RETURN_IF_ERROR(WrapLayout::Format(*heap, options.bucket_bytes));
  }
  return Open(home, options);
}

absl::StatusOr<std::unique_ptr<WrapStore>> WrapStore::Open(
    Region* home, const WrapOptions& options) {
  RETURN_IF_ERROR(CheckLogWait(options.log_wait));
  // The heap on the medium; it is not loaded.
  ASSIGN_OR_RETURN(const auto at_home, Heap::Open(home));
  if (at_home->label() != kLabel) {
    return absl::FailedPreconditionError(
        absl::StrCat("the heap belongs to \"", at_home->label(),
                     "\", not to \"", kLabel, "\""));
  }
  ASSIGN_OR_RETURN(const WrapLayout layout, WrapLayout::Of(*at_home));
  ASSIGN_OR_RETURN(RecoveryReport report, RecoverWraps(layout));
  auto store = absl::WrapUnique(new WrapStore(layout, options));
  store->report_ = std::move(report);
  ASSIGN_OR_RETURN(store->view_, ViewRegion::Load(layout, &store->log_));
  ASSIGN_OR_RETURN(store->heap_, Heap::Open(store->view_.get()));
  RETURN_IF_ERROR(store->heap_->Load());
  store->log_.UseHeap(store->heap_.get());
  return store;
}

WrapStore::~WrapStore() {
  // Not where it could not be opened.
  if (heap_ != nullptr) Quiesce();
}

std::unique_ptr<Transaction> WrapStore::Begin(absl::Duration lock_wait) {
  return absl::make_unique<WrapTransaction>(this, lock_wait);
}

size_t WrapStore::Retire(size_t most) {
  MutexLock lock(&give_back_mutex_);
  const size_t retired = log_.Retire(most);
  log_.ReleaseFreed([this](ObjectId block) { heap_->Release(block); });
  return retired;
}

bool WrapStore::WorkBeside() {
  // Where none could, the oldest is not durable yet.
  return Retire(SIZE_MAX) > 0 && WantsRetire();
}

void WrapStore::Quiesce() {
  while (Retire(SIZE_MAX) > 0) {
  }
}

uint64_t WrapStore::bytes_used() const {
  return heap_->stats().bytes_used + heap_->log_area().size();
}

}  // namespace kamino::engine
