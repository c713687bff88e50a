#include "engine/baselines/transaction_log.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/baselines/log_seed.h"
#include "engine/resource_error.h"
#include "glog/logging.h"

namespace kamino::engine {

using transaction_log_format::EntryBytes;
using transaction_log_format::kEntryAlignment;
using transaction_log_format::kKindMask;
using transaction_log_format::kSlots;
using transaction_log_format::kSlotShift;
using transaction_log_format::SlotHeader;

namespace {

// Every chunk keeps this much for the entry that ends it.
constexpr size_t kLastEntry = EntryBytes(0);
constexpr size_t kMinGrowth = 64u << 10;

size_t DataBytesOf(uint64_t kind, uint32_t length) {
  using transaction_log_format::EntryKind;
  return kind == static_cast<uint64_t>(EntryKind::kWrite) ? length : 0;
}

// Payloads lie 16 bytes after a multiple of 64.
absl::Span<std::byte> Aligned(absl::Span<std::byte> payload) {
  const size_t skip =
      -reinterpret_cast<uintptr_t>(payload.data()) % kEntryAlignment;
  if (skip >= payload.size()) return {};
  const size_t size = payload.size() - skip;
  return payload.subspan(skip, size / kEntryAlignment * kEntryAlignment);
}

}  // namespace

TransactionLog::TransactionLog(Heap* heap)
    : heap_(heap),
      region_(heap->region()),
      base_(heap->log_area().data()),
      slot_bytes_(heap->log_area().size() / kSlots / kEntryAlignment *
                  kEntryAlignment),
      seed_(LogSeed(heap->uuid())) {
  CHECK_GT(slot_bytes_, sizeof(SlotHeader) + 2 * kLastEntry);
}

SlotHeader* TransactionLog::HeaderOf(Slot slot) const {
  return reinterpret_cast<SlotHeader*>(base_ + slot * slot_bytes_);
}

absl::Span<std::byte> TransactionLog::EntriesOf(Slot slot) const {
  return absl::MakeSpan(base_ + slot * slot_bytes_, slot_bytes_)
      .subspan(sizeof(SlotHeader));
}

uint64_t TransactionLog::CheckOf(Slot slot, const EntryHeader& header,
                                 const std::byte* place, const std::byte* data,
                                 size_t data_bytes) const {
  const uint64_t offset = static_cast<uint64_t>(place - region_->base());
  uint64_t seed = seed_ ^ offset ^ static_cast<uint64_t>(slot) << kSlotShift;
  if (data_bytes > 0) seed ^= XXH3_64bits(data, data_bytes);
  return XXH3_64bits_withSeed(&header, offsetof(EntryHeader, check), seed);
}

std::optional<TransactionLog::Slot> TransactionLog::Acquire() {
  uint64_t free = free_.load(std::memory_order_relaxed);
  do {
    if (free == 0) return std::nullopt;
  } while (!free_.compare_exchange_weak(free, free & (free - 1),
                                        std::memory_order_acquire));
  const Slot slot = __builtin_ctzll(free);
  Volatile& state = slots_[slot];
  const absl::Span<std::byte> entries = EntriesOf(slot);
  state.tag = HeaderOf(slot)->retired + 1;
  state.chunk = entries.data();
  state.size = entries.size();
  state.used = 0;
  return slot;
}

void TransactionLog::Add(Slot slot, EntryKind kind, const Intent& intent,
                         const std::byte* data, size_t data_bytes) {
  Volatile& state = slots_[slot];
  std::byte* const place = state.chunk + state.used;
  EntryHeader header;
  header.object_kind = intent.object | static_cast<uint64_t>(kind);
  header.offset = intent.offset;
  header.length = intent.length;
  header.tag = state.tag;
  header.check = CheckOf(slot, header, place, data, data_bytes);
  // The first line at once, so that it is flushed once.
  constexpr size_t kFirst = kEntryAlignment - sizeof(header);
  const size_t first = std::min(data_bytes, kFirst);
  std::memcpy(place, &header, sizeof(header));
  if (first > 0) std::memcpy(place + sizeof(header), data, first);
  region_->Flush(place, sizeof(header) + first);
  if (data_bytes > first) {
    region_->CopyFlush(place + kEntryAlignment, data + first,
                       data_bytes - first);
  }
  state.used += EntryBytes(data_bytes);
}

absl::Status TransactionLog::Grow(Slot slot, size_t wanted) {
  Volatile& state = slots_[slot];
  const size_t size = std::clamp<size_t>(wanted + 2 * kEntryAlignment,
                                         kMinGrowth, kMaxObjectBytes);
  auto block = heap_->Reserve(static_cast<uint32_t>(size));
  if (!block.ok()) {
    return ResourceError(Resource::kTransaction,
                         "no space in the heap for the transaction's log");
  }
  state.blocks.push_back(*block);
  const absl::Span<std::byte> payload = heap_->BlockPayload(*block);
  Add(slot, EntryKind::kContinue,
      {*block, 0, static_cast<uint32_t>(payload.size())}, nullptr, 0);
  const absl::Span<std::byte> entries = Aligned(payload);
  state.chunk = entries.data();
  state.size = entries.size();
  state.used = 0;
  return absl::OkStatus();
}

absl::Status TransactionLog::Append(Slot slot, const Intent& intent,
                                    const std::byte* bytes) {
  Volatile& state = slots_[slot];
  Intent rest = intent;
  size_t data = DataBytesOf(static_cast<uint64_t>(intent.kind), intent.length);
  do {
    // All that is left when it fits, else as much as does, if it is worth it.
    constexpr size_t kSmallest = 4096;
    size_t room = state.size - state.used - kLastEntry;
    if (room < EntryBytes(data) && room < EntryBytes(kSmallest)) {
      RETURN_IF_ERROR(Grow(slot, EntryBytes(data)));
      room = state.size - kLastEntry;
    }
    const size_t now = std::min(data, room - sizeof(EntryHeader));
    if (data > 0) rest.length = static_cast<uint32_t>(now);
    Add(slot, static_cast<EntryKind>(intent.kind), rest, bytes, now);
    rest.offset += static_cast<uint32_t>(now);
    bytes += now;
    data -= now;
  } while (data > 0);
  return absl::OkStatus();
}

void TransactionLog::AppendMark(Slot slot) {
  Add(slot, EntryKind::kMark, Intent{}, nullptr, 0);
}

void TransactionLog::Retire(Slot slot) {
  SlotHeader* header = HeaderOf(slot);
  __atomic_store_n(&header->retired, slots_[slot].tag, __ATOMIC_RELEASE);
  region_->Flush(header, sizeof(header->retired));
}

void TransactionLog::Recycle(Slot slot) {
  for (ObjectId block : slots_[slot].blocks) heap_->Release(block);
  slots_[slot].blocks.clear();
  free_.fetch_or(uint64_t{1} << slot, std::memory_order_release);
}

absl::StatusOr<TransactionLog::Contents> TransactionLog::Read(Slot slot) const {
  Contents contents;
  const uint64_t tag = HeaderOf(slot)->retired + 1;
  absl::Span<const std::byte> chunk = EntriesOf(slot);
  size_t at = 0;
  while (at < chunk.size()) {
    const std::byte* place = chunk.data() + at;
    const auto& header = *reinterpret_cast<const EntryHeader*>(place);
    const uint64_t kind = header.object_kind & kKindMask;
    const size_t data_bytes = DataBytesOf(kind, header.length);
    const std::byte* data = place + sizeof(header);
    if (header.tag != tag || EntryBytes(data_bytes) > chunk.size() - at ||
        header.check != CheckOf(slot, header, place, data, data_bytes)) {
      break;
    }
    const Intent intent{header.object_kind & ~kKindMask, header.offset,
                        header.length, static_cast<IntentKind>(kind)};
    at += EntryBytes(data_bytes);
    switch (static_cast<EntryKind>(kind)) {
      case EntryKind::kWrite:
      case EntryKind::kAlloc:
      case EntryKind::kFree:
        contents.records.push_back({intent, data});
        break;
      case EntryKind::kContinue:
        // The block is free on media, so this changes nothing.
        RETURN_IF_ERROR(SetAllocated(intent, false));
        chunk = Aligned(heap_->BlockPayload(intent.object));
        at = 0;
        break;
      case EntryKind::kMark:
        contents.marked = true;
        return contents;
    }
  }
  return contents;
}

void TransactionLog::RetireAll() {
  for (Slot slot = 0; slot < static_cast<Slot>(kSlots); ++slot) {
    slots_[slot].tag = HeaderOf(slot)->retired + 1;
    Retire(slot);
  }
}

absl::Status TransactionLog::SetAllocated(const Intent& intent,
                                          bool allocated) const {
  return heap_->states().Recover(intent.object, intent.length, allocated);
}

absl::Status TransactionLog::PutBytes(const Record& record) const {
  const Intent& intent = record.intent;
  auto payload = heap_->Payload(intent.object);
  if (!payload.ok() || intent.offset > payload->size() ||
      intent.length > payload->size() - intent.offset) {
    return absl::DataLossError(
        absl::StrCat("the heap is damaged: its log names bytes [",
                     intent.offset, ", ", intent.offset, " + ", intent.length,
                     ") of an object ", intent.object, " that is not there"));
  }
  region_->CopyFlush(payload->data() + intent.offset, record.bytes,
                     intent.length);
  return absl::OkStatus();
}

}  // namespace kamino::engine
