#include "lab/archapt/archapt_store.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "lab/archapt/archapt_transaction.h"

namespace kamino::engine {

using archapt_format::kMostColumns;

namespace {

// A ring has no more lines than its records can count.
constexpr size_t kMostLogBytes = size_t{1} << 30;

absl::Status CheckOptions(const ArchaptOptions& options, const Heap& heap) {
  if (options.columns < 2 || options.columns > kMostColumns ||
      options.patience < absl::ZeroDuration() ||
      options.log_wait < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Archapt with matrices of ", options.columns, " columns (2 to ",
        kMostColumns, "), a patience of ",
        absl::FormatDuration(options.patience), " and a log_wait of ",
        absl::FormatDuration(options.log_wait), "; neither may be negative"));
  }
  const absl::string_view label = ArchaptLabel(options);
  if (heap.label() != label) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the heap belongs to \"", heap.label(), "\", not to \"", label, "\""));
  }
  return absl::OkStatus();
}

// Those that record no loss; the first one last.
std::vector<size_t> FreeSlots(const ArchaptMedia& media) {
  std::vector<size_t> slots;
  for (size_t slot = media.table.slots(); slot > 0; --slot) {
    if (!media.lost.IsSaidBy(slot - 1)) slots.push_back(slot - 1);
  }
  return slots;
}

}  // namespace

absl::string_view ArchaptLabel(const ArchaptOptions& options) {
  return options.unchecked ? "archapt-unchecked" : kArchaptName;
}

size_t ArchaptLogBytes(const ArchaptOptions& options, size_t region_bytes) {
  constexpr size_t kPage = 4096;
  const size_t wanted =
      2 * std::min<uint64_t>(options.queue_bytes, kMostLogBytes / 2);
  return std::max(heap_format::kMinLogBytes,
                  std::min<size_t>(wanted, region_bytes / 4) / kPage * kPage);
}

ArchaptStore::ArchaptStore(const ArchaptOptions& options,
                           std::unique_ptr<ArchaptMedia> media,
                           ArchaptRecovery recovery)
    : options_(options),
      media_(std::move(media)),
      report_(std::move(recovery.report)),
      given_before_(recovery.given),
      backlog_(options.queue_bytes, report_.last_sequence, given_before_,
               FreeSlots(*media_)),
      progress_(report_.last_sequence),
      matrices_(media_.get(), &backlog_, &progress_),
      advancer_(options, media_.get(), &backlog_, &matrices_, &progress_),
      room_(options.log_wait, &advancer_, &matrices_, &backlog_, &progress_) {}

absl::StatusOr<std::unique_ptr<ArchaptStore>> ArchaptStore::Open(
    const ArchaptOptions& options, Heap* heap) {
  RETURN_IF_ERROR(CheckOptions(options, *heap));
  ASSIGN_OR_RETURN(const ArchaptLayout layout, LayoutOf(*heap));
  auto media = absl::make_unique<ArchaptMedia>(options, heap, layout);
  ASSIGN_OR_RETURN(ArchaptRecovery recovery,
                   RecoverArchapt(heap, &media->ring, &media->table));
  RETURN_IF_ERROR(heap->Load());
  for (const auto& lost : recovery.lost) media->lost.Add(lost);
  return absl::WrapUnique(
      new ArchaptStore(options, std::move(media), std::move(recovery)));
}

// The next opening has nothing to verify.
ArchaptStore::~ArchaptStore() { Quiesce(); }

std::unique_ptr<Transaction> ArchaptStore::Begin(absl::Duration lock_wait) {
  const ArchaptTransaction::Parts parts = {&locks_,    media_.get(), &backlog_,
                                           &progress_, &matrices_,   &advancer_,
                                           &room_};
  return absl::make_unique<ArchaptTransaction>(parts, lock_wait);
}

uint64_t ArchaptStore::bytes_used() const {
  return heap()->stats().bytes_used + heap()->log_area().size();
}

ArchaptStats ArchaptStore::stats() const {
  MutexLock lock(&backlog_.mutex);
  return backlog_.stats;
}

size_t ArchaptStore::kept_blocks() const {
  MutexLock lock(&backlog_.mutex);
  return backlog_.matrices.size() + backlog_.commits.freed_blocks();
}

bool ArchaptStore::WorkBeside() {
  if (advancer_.WantsAdvance()) Advance();
  return false;
}

void ArchaptStore::Quiesce() {
  advancer_.Force(backlog_.commits.last());
  matrices_.DissolveAll();
}

bool ArchaptStore::AwaitDurable(uint64_t sequence, absl::Duration wait) {
  if (report_.last_sequence < sequence && sequence <= given_before_) {
    return false;
  }
  if (durable_sequence() >= sequence) return true;
  if (wait <= absl::ZeroDuration()) return false;
  const absl::Time begin = MonotonicNow();
  const auto is_durable = [&] { return durable_sequence() >= sequence; };
  if (progress_.Await(std::min(wait, options_.patience), is_durable)) {
    return true;
  }
  const bool patient = wait >= options_.patience;
  for (;;) {
    const uint64_t last = backlog_.commits.last();
    advancer_.Force(patient ? last : std::min(sequence, last));
    if (is_durable()) return true;
    // Another thread has begun a flush that it has not drained yet, or the
    // transaction is not committed at all.
    const absl::Duration left = begin + wait - MonotonicNow();
    if (left <= absl::ZeroDuration()) return false;
    if (progress_.Await(std::min(left, Advancer::kForceAgain), is_durable)) {
      return true;
    }
  }
}

}  // namespace kamino::engine
