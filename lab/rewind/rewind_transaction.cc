#include "lab/rewind/rewind_transaction.h"

#include "base/status_macros.h"
#include "engine/baselines/zeroed_block.h"

namespace kamino::engine {
namespace {

// Larger ones are not kept in memory.
constexpr size_t kMostPending = 4096;

}  // namespace

RewindTransaction::RewindTransaction(RewindStore* store,
                                     absl::Duration lock_wait)
    : BaselineTransaction(&store->locks_, lock_wait),
      store_(store),
      writer_(store->heap_->region(), store->options_.force),
      log_(&store->log_, &store->options_),
      ranges_(&held()),
      group_(&held(), &writer_),
      blocks_(store->heap_, &held(), store->options_.force) {}

// --- Ranges.

absl::StatusOr<std::byte*> RewindTransaction::DeclareWrite(HeldObject& held,
                                                           uint32_t offset,
                                                           uint32_t length) {
  const Intent intent{held.id, offset, length};
  RETURN_IF_ERROR(DeclareWrites({&intent, 1}));
  return held.bytes.data() + offset;
}

absl::Status RewindTransaction::DeclareWrites(absl::Span<const Intent> writes) {
  ranges_.Expect(writes.size());
  RETURN_IF_ERROR(CloseGroup());
  std::vector<Draft> drafts;
  std::vector<LoggedRange> fresh;
  for (const Intent& write : writes) {
    const HeldObject& held = *this->held().Find(write.object);
    LoggedRange* const range =
        ranges_.Covering(held, write.offset, write.length);
    if (range != nullptr) {
      ranges_.Open(range);
      continue;
    }
    drafts.push_back(
        writer_.UpdateOf(held, write.offset, write.length, nullptr));
    fresh.push_back({this->held().IndexOf(held), write.offset, write.length});
    ranges_.Open(&fresh.back());
  }
  RETURN_IF_ERROR(log_.Append(drafts));
  for (const LoggedRange& range : fresh) ranges_.Add(range);
  return absl::OkStatus();
}

absl::Status RewindTransaction::Put(HeldObject& held, uint32_t offset,
                                    absl::Span<const std::byte> bytes) {
  const auto length = static_cast<uint32_t>(bytes.size());
  if (LoggedRange* range = ranges_.Covering(held, offset, length)) {
    // With force the range is flushed here. This comes before the group closes,
    // which adds ranges and so may move this one.
    if (!options().force) ranges_.Open(range);
    RETURN_IF_ERROR(CloseGroup());
    writer_.Store(held, offset, bytes);
    return absl::OkStatus();
  }
  // Pending bytes are stored later, after stores through a pointer that the
  // caller may have.
  if (options().form == LogForm::kBatch && bytes.size() <= kMostPending &&
      !ranges_.MeetsOpen(held, offset, bytes.size())) {
    group_.Add(held, offset, bytes);
    return group_.size() < options().group ? absl::OkStatus() : CloseGroup();
  }
  RETURN_IF_ERROR(CloseGroup());
  const Draft update = writer_.UpdateOf(held, offset, length, bytes.data());
  RETURN_IF_ERROR(log_.Append({&update, 1}));
  ranges_.Add({this->held().IndexOf(held), offset, length, false});
  writer_.Store(held, offset, bytes);
  return absl::OkStatus();
}

absl::Status RewindTransaction::CloseGroup(absl::Duration wait) {
  if (group_.empty()) return absl::OkStatus();
  std::vector<Draft> drafts;
  group_.AddUpdates(&drafts);
  RETURN_IF_ERROR(log_.Append(drafts, wait));
  group_.Store(&ranges_);
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<const std::byte>> RewindTransaction::Show(
    HeldObject& held) {
  if (!group_.Has(held)) return held.bytes;
  // Reading needs no room; the next change will wait for it, or say that there
  // is none.
  const absl::Status closed = CloseGroup(/*wait=*/absl::ZeroDuration());
  if (closed.ok()) return held.bytes;
  if (!absl::IsResourceExhausted(closed)) return closed;
  return group_.Overlay(held);
}

// --- Blocks.

absl::StatusOr<BaselineTransaction::NewObject> RewindTransaction::Take(
    uint32_t size) {
  const auto make_room = [this] {
    store_->Checkpoint();
    return true;
  };
  ASSIGN_OR_RETURN(const ZeroedBlock block,
                   ReserveZeroed(&heap(), size, make_room));
  return NewObject{block.id, block.bytes};
}

absl::Status RewindTransaction::DeclareAlloc(HeldObject&) {
  blocks_.Expect();
  return absl::OkStatus();
}

absl::Status RewindTransaction::DeclareFree(HeldObject&) {
  blocks_.Expect();
  return absl::OkStatus();
}

void RewindTransaction::ReleaseSpace(bool committed) {
  for (ObjectId block : freed_) heap().Release(block);
  blocks_.Release(committed);
}

// --- The end.

void RewindTransaction::AddOpen(std::vector<Draft>* drafts) const {
  ranges_.ForEachOpen([&](const HeldObject& object, const LoggedRange& range) {
    Draft draft;
    draft.address = object.id + range.offset;
    draft.length = range.length;
    draft.new_bytes = object.bytes.data() + range.offset;
    drafts->push_back(draft);
  });
}

absl::Status RewindTransaction::CommitUnforced(const CommitOptions& options) {
  // Pending bytes come after the open ranges that they may overlap.
  std::vector<Draft> drafts;
  AddOpen(&drafts);
  group_.AddUpdates(&drafts);
  blocks_.AddHeaders(&drafts);
  blocks_.FlushNew();
  if (options.before_mark.has_value()) {
    RETURN_IF_ERROR(log_.Append(drafts));
    blocks_.SetLogged();
    group_.Store(&ranges_);
    drafts.clear();
    RETURN_IF_ERROR((*options.before_mark)(write_set()));
  }
  RETURN_IF_ERROR(log_.AppendEnd(drafts, options.sequence));
  group_.Store(&ranges_);
  blocks_.StoreHeaders();
  blocks_.Keep(/*committed=*/true, &log_);
  freed_ = log_.Leave(/*committed=*/true);
  return absl::OkStatus();
}

absl::Status RewindTransaction::CommitForced(const CommitOptions& options) {
  std::vector<Draft> drafts;
  group_.AddUpdates(&drafts);
  blocks_.AddHeaders(&drafts);
  RETURN_IF_ERROR(log_.Append(drafts));
  blocks_.SetLogged();
  group_.Store(&ranges_);
  ranges_.ForEachOpen(
      [this](const HeldObject& object, const LoggedRange& range) {
        region().Flush(object.bytes.data() + range.offset, range.length);
      });
  blocks_.FlushNew();
  blocks_.StoreHeaders();
  region().Drain();
  if (options.before_mark.has_value()) {
    RETURN_IF_ERROR((*options.before_mark)(write_set()));
  }
  RETURN_IF_ERROR(log_.AppendEnd({}, options.sequence));
  blocks_.Keep(/*committed=*/true, &log_);
  freed_ = log_.Leave(/*committed=*/true);
  return absl::OkStatus();
}

absl::Status RewindTransaction::MakeDurable(const CommitOptions& options) {
  if (write_set().empty()) {
    return options.before_mark.has_value() ? (*options.before_mark)(write_set())
                                           : absl::OkStatus();
  }
  return store_->options_.force ? CommitForced(options)
                                : CommitUnforced(options);
}

absl::Status RewindTransaction::RollBack() {
  group_.Clear();
  if (!log_.RollBack(writer_)) return absl::OkStatus();
  blocks_.Keep(/*committed=*/false, &log_);
  freed_ = log_.Leave(/*committed=*/false);
  return absl::OkStatus();
}

}  // namespace kamino::engine
