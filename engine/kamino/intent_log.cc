#include "engine/kamino/intent_log.h"

#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "engine/resource_error.h"
#include "glog/logging.h"

namespace kamino::engine {

using intent_log_format::Entry;
using intent_log_format::kKindMask;
using intent_log_format::kSlots;
using intent_log_format::SlotHeader;
using intent_log_format::SlotState;

namespace {

constexpr size_t kAlignment = 64;

uint64_t CheckOf(const Entry& entry) {
  return XXH3_64bits(&entry, offsetof(Entry, check));
}

SlotState StateOf(uint64_t word) { return static_cast<SlotState>(word & 0xff); }

}  // namespace

IntentLog::IntentLog(Region* region, absl::Span<std::byte> area)
    : region_(region),
      base_(area.data()),
      slot_bytes_(area.size() / kSlots / kAlignment * kAlignment),
      max_entries_((slot_bytes_ - sizeof(SlotHeader)) / sizeof(Entry)) {
  CHECK_GT(slot_bytes_, sizeof(SlotHeader) + sizeof(Entry));
  for (Slot slot = kSlots - 1; slot >= 0; --slot) {
    slots_[slot].tag = HeaderOf(slot)->word >> 8;
    free_.push_back(slot);
  }
}

SlotHeader* IntentLog::HeaderOf(Slot slot) const {
  return reinterpret_cast<SlotHeader*>(base_ + slot * slot_bytes_);
}

Entry* IntentLog::EntriesOf(Slot slot) const {
  return reinterpret_cast<Entry*>(HeaderOf(slot) + 1);
}

void IntentLog::SetState(Slot slot, SlotState state) {
  SlotHeader* header = HeaderOf(slot);
  __atomic_store_n(&header->word,
                   slots_[slot].tag << 8 | static_cast<uint64_t>(state),
                   __ATOMIC_RELEASE);
  region_->Flush(header, sizeof(uint64_t));
}

absl::optional<IntentLog::Slot> IntentLog::Acquire() {
  absl::MutexLock lock(&mutex_);
  if (free_.empty()) return absl::nullopt;
  const Slot slot = free_.back();
  free_.pop_back();
  // The tag outdates the entries that the slot holds from before.
  ++slots_[slot].tag;
  slots_[slot].count = 0;
  return slot;
}

absl::Status IntentLog::Append(Slot slot, const Intent& intent) {
  Volatile& state = slots_[slot];
  if (state.count == max_entries_) {
    return ResourceError(Resource::kTransaction,
                         absl::StrCat("the transaction has more than ",
                                      max_entries_, " intents"));
  }
  Entry* entry = &EntriesOf(slot)[state.count];
  entry->object_kind = intent.object | static_cast<uint64_t>(intent.kind);
  entry->offset = intent.offset;
  entry->length = intent.length;
  entry->tag = state.tag;
  entry->check = CheckOf(*entry);
  region_->Flush(entry, sizeof(*entry));
  // A header that is durable without its entry has nothing to roll back, and
  // an entry without its header is of no slot that runs.
  if (state.count == 0) SetState(slot, SlotState::kRunning);
  region_->Drain();
  ++state.count;
  return absl::OkStatus();
}

void IntentLog::Prepare(Slot slot, uint64_t sequence) {
  SlotHeader* header = HeaderOf(slot);
  header->sequence = sequence;
  region_->Persist(&header->sequence, sizeof(header->sequence));
}

void IntentLog::Mark(Slot slot) {
  SetState(slot, SlotState::kCommitted);
  region_->Drain();
}

void IntentLog::Free(Slot slot) { SetState(slot, SlotState::kFree); }

void IntentLog::Recycle(Slot slot) {
  absl::MutexLock lock(&mutex_);
  free_.push_back(slot);
}

std::vector<IntentLog::Unfinished> IntentLog::Scan() const {
  std::vector<Unfinished> unfinished;
  for (Slot slot = 0; slot < static_cast<Slot>(kSlots); ++slot) {
    const SlotHeader& header = *HeaderOf(slot);
    const SlotState state = StateOf(header.word);
    if (state != SlotState::kRunning && state != SlotState::kCommitted) {
      continue;
    }
    Unfinished found;
    found.slot = slot;
    found.committed = state == SlotState::kCommitted;
    found.sequence = header.sequence;
    const Entry* entries = EntriesOf(slot);
    for (size_t i = 0; i < max_entries_; ++i) {
      const Entry& entry = entries[i];
      if (entry.tag != header.word >> 8 || entry.check != CheckOf(entry)) break;
      found.intents.push_back(
          {entry.object_kind & ~kKindMask, entry.offset, entry.length,
           static_cast<IntentKind>(entry.object_kind & kKindMask)});
    }
    unfinished.push_back(std::move(found));
  }
  return unfinished;
}

}  // namespace kamino::engine
