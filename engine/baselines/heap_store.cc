#include "engine/baselines/heap_store.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/baselines/zeroed_block.h"

namespace kamino::engine {

absl::string_view HeapSchemeName(HeapScheme scheme) {
  switch (scheme) {
    case HeapScheme::kUndo:
      return "undo-own";
    case HeapScheme::kCopyOnWrite:
      return "cow";
    case HeapScheme::kUnsafe:
      return "unsafe";
    case HeapScheme::kUnsafeEach:
      return "unsafe-each";
    case HeapScheme::kCached:
      return "cached";
    case HeapScheme::kUndoEach:
      return "undo-each";
  }
  return "";
}

std::optional<HeapScheme> HeapSchemeNamed(absl::string_view name) {
  for (HeapScheme scheme :
       {HeapScheme::kUndo, HeapScheme::kCopyOnWrite, HeapScheme::kUnsafe,
        HeapScheme::kUnsafeEach, HeapScheme::kCached, HeapScheme::kUndoEach}) {
    if (HeapSchemeName(scheme) == name) return scheme;
  }
  return std::nullopt;
}

bool IsAtomic(HeapScheme scheme) {
  return scheme == HeapScheme::kUndo || scheme == HeapScheme::kCopyOnWrite ||
         scheme == HeapScheme::kUndoEach;
}

// --- The store.

HeapStore::HeapStore(HeapScheme scheme, Heap* heap)
    : scheme_(scheme), heap_(heap), log_(heap) {}

absl::StatusOr<std::unique_ptr<HeapStore>> HeapStore::Open(HeapScheme scheme,
                                                           Heap* heap) {
  // The log area means something else to each.
  if (heap->label() != HeapSchemeName(scheme)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the heap belongs to \"", heap->label(), "\", not to \"",
                     HeapSchemeName(scheme), "\""));
  }
  auto store = absl::WrapUnique(new HeapStore(scheme, heap));
  RETURN_IF_ERROR(store->Recover());
  RETURN_IF_ERROR(heap->Load());
  return store;
}

std::unique_ptr<Transaction> HeapStore::Begin(absl::Duration lock_wait) {
  switch (scheme_) {
    case HeapScheme::kUndo:
    case HeapScheme::kUndoEach:
      return MakeUndoTransaction(this, lock_wait);
    case HeapScheme::kCopyOnWrite:
      return MakeCowTransaction(this, lock_wait);
    case HeapScheme::kUnsafe:
    case HeapScheme::kUnsafeEach:
    case HeapScheme::kCached:
      break;
  }
  return MakeUnsafeTransaction(this, lock_wait);
}

uint64_t HeapStore::bytes_used() const {
  const uint64_t log = IsAtomic(scheme_) ? heap_->log_area().size() : 0;
  return heap_->stats().bytes_used + log;
}

absl::Status HeapStore::Recover() {
  if (!IsAtomic(scheme_)) return absl::OkStatus();
  // Unfinished transactions have no object in common: their locks were held.
  constexpr int kSlots = transaction_log_format::kSlots;
  for (TransactionLog::Slot slot = 0; slot < kSlots; ++slot) {
    ASSIGN_OR_RETURN(auto contents, log_.Read(slot));
    absl::Status done;
    if (scheme_ != HeapScheme::kCopyOnWrite) {
      done = RollBack(log_, contents);
      if (!contents.records.empty()) ++report_.rolled_back;
    } else if (contents.marked) {
      done = RollForward(contents);
      ++report_.replayed;
    } else if (!contents.records.empty()) {
      ++report_.rolled_back;
    }
    if (!done.ok()) return done;
  }
  heap_->region()->Drain();
  log_.RetireAll();
  heap_->region()->Drain();
  return absl::OkStatus();
}

absl::Status HeapStore::RollForward(
    const TransactionLog::Contents& contents) const {
  for (const TransactionLog::Record& record : contents.records) {
    RETURN_IF_ERROR(
        record.intent.kind == IntentKind::kWrite
            ? log_.PutBytes(record)
            : log_.SetAllocated(record.intent,
                                record.intent.kind == IntentKind::kAlloc));
  }
  return absl::OkStatus();
}

absl::Status RollBack(const TransactionLog& log,
                      const TransactionLog::Contents& contents) {
  const auto& records = contents.records;
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    RETURN_IF_ERROR(
        record->intent.kind == IntentKind::kWrite
            ? log.PutBytes(*record)
            : log.SetAllocated(record->intent,
                               record->intent.kind == IntentKind::kFree));
  }
  return absl::OkStatus();
}

// --- A transaction's objects.

absl::StatusOr<absl::Span<std::byte>> HeapTransaction::Find(ObjectId id) {
  return heap().Payload(id);
}

absl::StatusOr<BaselineTransaction::NewObject> HeapTransaction::Take(
    uint32_t size) {
  // Nothing waits to be given back.
  ASSIGN_OR_RETURN(const ZeroedBlock block,
                   ReserveZeroed(&heap(), size, [] { return false; }));
  return NewObject{block.id, block.bytes};
}

void HeapTransaction::PutBack(ObjectId id) { heap().Release(id); }

absl::Status HeapTransaction::DeclareAlloc(HeldObject& held) {
  states_change_ = true;
  return LogState({held.id, 0, static_cast<uint32_t>(held.bytes.size()),
                   IntentKind::kAlloc});
}

absl::Status HeapTransaction::DeclareFree(HeldObject& held) {
  states_change_ = true;
  return LogState({held.id, 0, static_cast<uint32_t>(held.bytes.size()),
                   IntentKind::kFree});
}

void HeapTransaction::ReleaseSpace(bool committed) {
  if (!states_change_) return;
  for (const HeldObject& held : this->held()) {
    if (committed ? held.freed : held.allocated) heap().Release(held.id);
  }
}

// --- Ranges.

void HeapTransaction::AddRange(const HeldObject& held, uint32_t offset,
                               uint32_t length, bool flushed) {
  ranges_.Add({this->held().IndexOf(held), offset, length, flushed});
}

void HeapTransaction::FlushRanges() {
  for (const Range& range : ranges_) {
    const HeldObject& object = held()[range.object];
    if (range.flushed || object.freed) continue;
    region().Flush(object.bytes.data() + range.offset, range.length);
    DrainIfEach();
  }
}

void HeapTransaction::FlushAllocated() {
  if (!states_change_) return;
  for (const HeldObject& object : held()) {
    if (!object.allocated || object.freed) continue;
    region().Flush(object.bytes.data(), object.bytes.size());
    DrainIfEach();
  }
}

void HeapTransaction::MarkStates() {
  if (!states_change_) return;
  for (const HeldObject& object : held()) {
    if (object.allocated == object.freed) continue;
    if (object.allocated) {
      heap().states().MarkAllocated(object.id);
    } else {
      heap().states().MarkFree(object.id);
    }
    DrainIfEach();
  }
}

void HeapTransaction::StoreStates() {
  if (!states_change_) return;
  for (const HeldObject& object : held()) {
    if (object.allocated == object.freed) continue;
    heap().states().Store(object.id, object.allocated);
  }
}

}  // namespace kamino::engine
