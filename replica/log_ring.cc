#include "replica/log_ring.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::replica {
namespace {

using ring_format::CleanedLine;
using ring_format::kEntryAlignment;
using ring_format::kHeaderBytes;
using ring_format::kRingMagic;
using ring_format::kRingVersion;
using ring_format::kSlotMagic;
using ring_format::kWrapMagic;
using ring_format::RingHeader;
using ring_format::SlotHeader;

uint64_t HeaderChecksum(const RingHeader& header) {
  return XXH3_64bits(&header, offsetof(RingHeader, checksum));
}

uint64_t CleanedChecksum(const CleanedLine& line) {
  return XXH3_64bits(&line, offsetof(CleanedLine, checksum));
}

// Binds the entry, whose bytes are the same at all nodes, to this place.
uint64_t SlotChecksum(const SlotHeader& slot, const std::byte* entry) {
  uint64_t seed;
  std::memcpy(&seed, entry, sizeof(seed));
  static_assert(offsetof(log_entry_format::EntryHeader, checksum) == 0);
  return XXH3_64bits_withSeed(&slot, offsetof(SlotHeader, checksum), seed);
}

uint64_t PaddedBytes(uint64_t length) {
  const uint64_t bytes = sizeof(SlotHeader) + length;
  return (bytes + kEntryAlignment - 1) / kEntryAlignment * kEntryAlignment;
}

uint64_t CapacityOf(const engine::Region& region) {
  return (region.size() - kHeaderBytes) / kEntryAlignment * kEntryAlignment;
}

}  // namespace

RingHeader* LogRing::header() const {
  return reinterpret_cast<RingHeader*>(region_->base());
}

std::byte* LogRing::EntryAt(uint64_t slot_offset) const {
  return region_->base() + slot_offset + sizeof(SlotHeader);
}

absl::string_view LogRing::BytesOf(const Slot& slot) const {
  return {reinterpret_cast<const char*>(EntryAt(slot.offset)), slot.length};
}

absl::StatusOr<std::unique_ptr<LogRing>> LogRing::Create(engine::Region* region,
                                                         const HeapUuid& heap,
                                                         size_t min_bytes,
                                                         ChainMode mode) {
  if (region->size() < min_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("log ring of ", region->size(),
                     " bytes is too small; at least ", min_bytes));
  }
  auto ring = absl::WrapUnique(new LogRing(region, CapacityOf(*region)));
  ring->Format(heap, mode, 0, 0);
  return ring;
}

ChainMode LogRing::mode() const {
  return static_cast<ChainMode>(header()->mode);
}

void LogRing::Format(const HeapUuid& heap, ChainMode mode, uint64_t sequence,
                     uint32_t generation) {
  RingHeader* header = this->header();
  // The first slot must not look like that of an earlier ring.
  std::memset(region_->base() + kHeaderBytes, 0, sizeof(SlotHeader));
  region_->Persist(region_->base() + kHeaderBytes, sizeof(SlotHeader));
  std::memset(static_cast<void*>(header), 0, sizeof(RingHeader));
  header->version = kRingVersion;
  header->generation = generation;
  header->size = region_->size();
  std::memcpy(header->heap_uuid, heap.data(), heap.size());
  header->mode = static_cast<uint32_t>(mode);
  write_offset_ = kHeaderBytes;
  current_line_ = 0;
  CleanedLine& line = header->cleaned[0];
  line.sequence = sequence;
  line.offset = kHeaderBytes;
  line.checksum = CleanedChecksum(line);
  region_->Persist(header, sizeof(RingHeader));
  mark_.Reset(sequence);
  for (AppliedMark* mark : other_marks_) mark->Reset(sequence);
  header->magic = kRingMagic;
  header->checksum = HeaderChecksum(*header);
  region_->Persist(header, sizeof(RingHeader));
  entries_.clear();
  ++rewrites_;
  applied_ = cleaned_ = sequence;
  applied_durable_ = true;
  used_ = reclaimable_ = 0;
}

void LogRing::Restart(uint64_t sequence, uint32_t generation) {
  HeapUuid heap;
  std::memcpy(heap.data(), header()->heap_uuid, heap.size());
  Format(heap, mode(), sequence, generation);
}

absl::StatusOr<std::unique_ptr<LogRing>> LogRing::Open(engine::Region* region,
                                                       const HeapUuid& heap) {
  if (region->size() < kMinTinyBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("log ring is truncated: ", region->size(),
                     " bytes, at least ", kMinBytes, " expected"));
  }
  auto ring = absl::WrapUnique(new LogRing(region, CapacityOf(*region)));
  const RingHeader& header = *ring->header();
  if (header.magic != kRingMagic) {
    return absl::FailedPreconditionError("not a Kamino log ring");
  }
  if (header.version != kRingVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("log ring has format version ", header.version,
                     "; this program reads version ", kRingVersion,
                     ": start the program that wrote it, or, if another node "
                     "holds the data, move this node's files away"));
  }
  if (header.checksum != HeaderChecksum(header)) {
    return absl::DataLossError("log ring's header is damaged");
  }
  if (header.size != region->size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("log ring was made with ", header.size, " bytes and has ",
                     region->size(), " now"));
  }
  if (std::memcmp(header.heap_uuid, heap.data(), heap.size()) != 0) {
    return absl::FailedPreconditionError(
        "log ring belongs to another heap: one of them is another node's, or "
        "from before this one began anew; put back copies that were made at "
        "one time, or move all of this node's files away: it then joins as a "
        "new node");
  }
  RETURN_IF_ERROR(ring->Recover());
  return ring;
}

absl::Status LogRing::ReadCleaned() {
  const CleanedLine* best = nullptr;
  for (int i = 0; i < 2; ++i) {
    const CleanedLine& line = header()->cleaned[i];
    if (line.checksum != CleanedChecksum(line)) continue;
    if (best != nullptr && line.sequence <= best->sequence) continue;
    best = &line;
    current_line_ = i;
  }
  if (best == nullptr || best->offset < kHeaderBytes ||
      best->offset > kHeaderBytes + capacity_ ||
      best->offset % kEntryAlignment != 0) {
    return absl::DataLossError("log ring's cleaned cursor is damaged");
  }
  cleaned_ = best->sequence;
  write_offset_ = best->offset;
  return absl::OkStatus();
}

absl::Status LogRing::Recover() {
  RETURN_IF_ERROR(ReadCleaned());
  // A slot with the same first mutation as the last one replaces it.
  while (ScanOne(received() + 1) ||
         (!entries_.empty() && ScanOne(entries_.back().first))) {
  }
  RETURN_IF_ERROR(mark_.Open());
  applied_ = mark_.end();
  if (applied_ < cleaned_) {
    return absl::DataLossError(absl::StrCat("log ring is damaged: applied ",
                                            applied_, ", cleaned ", cleaned_));
  }
  if (applied_ > received()) {
    return absl::DataLossError(absl::StrCat("log ring lost entries: applied ",
                                            applied_, ", received ",
                                            received()));
  }
  if (!EndsEntry(applied_)) {
    return absl::DataLossError(
        absl::StrCat("log ring's applied cursor is damaged: ", applied_,
                     " is within an entry"));
  }
  return absl::OkStatus();
}

bool LogRing::ScanOne(uint64_t first) {
  const uint64_t end = kHeaderBytes + capacity_;
  uint64_t space = 0;
  uint64_t offset = write_offset_;
  for (int wraps = 0; wraps < 2; ++wraps) {
    if (offset + sizeof(SlotHeader) > end) {
      space += end - offset;
      offset = kHeaderBytes;
      continue;
    }
    SlotHeader slot;
    std::memcpy(&slot, region_->base() + offset, sizeof(slot));
    if (slot.first != first || slot.generation != header()->generation) {
      return false;
    }
    if (slot.magic == kWrapMagic) {
      space += end - offset;
      offset = kHeaderBytes;
      continue;
    }
    const uint64_t bytes = PaddedBytes(slot.length);
    if (slot.magic != kSlotMagic || slot.length > capacity_ ||
        slot.length < sizeof(log_entry_format::EntryHeader) ||
        offset + bytes > end || used_ + space + bytes > capacity_ ||
        slot.checksum != SlotChecksum(slot, EntryAt(offset))) {
      return false;
    }
    Slot found{offset, slot.length, space + bytes, first, first, write_offset_};
    const auto entry = LogEntry::Check(BytesOf(found), mode());
    if (!entry.ok() || entry->first() != first) return false;
    found.last = entry->last();
    Add(found);
    return true;
  }
  return false;
}

void LogRing::Add(Slot slot) {
  used_ += slot.space;
  write_offset_ = slot.offset + PaddedBytes(slot.length);
  if (!entries_.empty() && entries_.back().first == slot.first) {
    const Slot& old = entries_.back();
    replaced_.push_back(old.offset);
    ++rewrites_;
    slot.space += old.space;
    slot.begin = old.begin;
    entries_.pop_back();
  } else {
    replaced_.clear();
  }
  entries_.push_back(slot);
}

bool LogRing::Place(uint64_t bytes, uint64_t* offset, uint64_t* space) const {
  const uint64_t end = kHeaderBytes + capacity_;
  const uint64_t to_end = end - write_offset_;
  *offset = write_offset_;
  *space = bytes;
  if (bytes > to_end) {
    *offset = kHeaderBytes;
    *space = bytes + to_end;
  }
  return used_ + reclaimable_ + *space <= capacity_;
}

absl::Status LogRing::Append(const LogEntry& entry) {
  CHECK_EQ(entry.first(), received() + 1);
  return Append(entry.first(), entry.last(), entry.bytes().size(),
                [&entry](char* to) {
                  std::memcpy(to, entry.bytes().data(), entry.bytes().size());
                });
}

absl::Status LogRing::ReplaceLast(const LogEntryDraft& draft) {
  CHECK_GT(received(), applied_);
  CHECK_EQ(draft.first, entries_.back().first);
  CHECK_EQ(draft.last(), received());
  return Append(draft.first, draft.last(), draft.bytes(),
                [&draft](char* to) { draft.WriteTo(to); });
}

absl::Status LogRing::Append(const LogEntryDraft& draft) {
  CHECK_EQ(draft.first, received() + 1);
  return Append(draft.first, draft.last(), draft.bytes(),
                [&draft](char* to) { draft.WriteTo(to); });
}

absl::Status LogRing::Append(uint64_t first, uint64_t last, uint64_t length,
                             absl::FunctionRef<void(char*)> write) {
  CHECK_LE(first, last);
  if (length > max_entry_bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("log entry of ", length, " bytes; the ring takes at most ",
                     max_entry_bytes()));
  }
  const uint64_t bytes = PaddedBytes(length);
  uint64_t offset = 0;
  uint64_t space = 0;
  if (!Place(bytes, &offset, &space)) {
    if (reclaimable_ > 0) PersistCleaned();
    if (!Place(bytes, &offset, &space)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "log ring is full: ", used_, " of ", capacity_, " bytes"));
    }
  }
  std::byte* base = region_->base();
  const uint64_t end = kHeaderBytes + capacity_;
  const uint32_t generation = header()->generation;
  if (offset != write_offset_ && write_offset_ + sizeof(SlotHeader) <= end) {
    const SlotHeader wrap{kWrapMagic, generation, first, 0, 0, 0};
    std::memcpy(base + write_offset_, &wrap, sizeof(wrap));
    region_->Flush(base + write_offset_, sizeof(wrap));
  }
  write(reinterpret_cast<char*>(EntryAt(offset)));
  SlotHeader slot{kSlotMagic, generation, first, static_cast<uint32_t>(length),
                  0,          0};
  slot.checksum = SlotChecksum(slot, EntryAt(offset));
  std::memcpy(base + offset, &slot, sizeof(slot));
  region_->Flush(base + offset, sizeof(slot) + length);
  region_->Drain();
  if (one_drain_) OnAppliedDrained();
  Add({offset, slot.length, space, first, last, write_offset_});
  appended_bytes_ += length;
  after_image_bytes_ += EntryOf(last).after_image_bytes();
  return absl::OkStatus();
}

const LogRing::Slot& LogRing::SlotOf(uint64_t sequence) const {
  CHECK_GT(sequence, cleaned_);
  CHECK_LE(sequence, received());
  return *std::lower_bound(
      entries_.begin(), entries_.end(), sequence,
      [](const Slot& slot, uint64_t wanted) { return slot.last < wanted; });
}

LogEntry LogRing::EntryOf(uint64_t sequence) const {
  const Slot& slot = SlotOf(sequence);
  return LogEntry::Checked(BytesOf(slot), slot.first, slot.last);
}

bool LogRing::EndsEntry(uint64_t sequence) const {
  if (sequence == cleaned_) return true;
  return sequence > cleaned_ && sequence <= received() &&
         SlotOf(sequence).last == sequence;
}

void LogRing::MarkApplied(uint64_t sequence) {
  CHECK_GE(sequence, applied_);
  CHECK(EndsEntry(sequence)) << sequence;
  applied_ = sequence;
  mark_.Mark(sequence);
  for (AppliedMark* mark : other_marks_) mark->Mark(sequence);
  applied_durable_ = false;
}

void LogRing::PersistApplied() {
  if (applied_durable_) return;
  region_->Drain();
  if (!one_drain_) {
    for (AppliedMark* mark : other_marks_) mark->region()->Drain();
  }
  OnAppliedDrained();
}

void LogRing::OnAppliedDrained() {
  if (applied_durable_) return;
  mark_.OnDrained();
  for (AppliedMark* mark : other_marks_) mark->OnDrained();
  applied_durable_ = true;
}

void LogRing::SetOtherMarks(std::vector<AppliedMark*> marks) {
  PersistApplied();
  other_marks_ = std::move(marks);
  one_drain_ =
      std::all_of(other_marks_.begin(), other_marks_.end(),
                  [this](const AppliedMark* mark) {
                    return region_->DrainsAll() && mark->region()->DrainsAll();
                  });
}

void LogRing::TakeBackApplied(uint64_t sequence) {
  CHECK_LE(sequence, applied_);
  CHECK_GE(sequence, cleaned_);
  CHECK(EndsEntry(sequence)) << sequence;
  applied_ = sequence;
  mark_.Reset(sequence);
  for (AppliedMark* mark : other_marks_) mark->Reset(sequence);
  applied_durable_ = true;
}

void LogRing::Clean(uint64_t sequence) {
  CHECK_LE(sequence, applied_);
  CHECK(sequence < cleaned_ || EndsEntry(sequence)) << sequence;
  while (cleaned_ < sequence) {
    used_ -= entries_.front().space;
    reclaimable_ += entries_.front().space;
    cleaned_ = entries_.front().last;
    entries_.pop_front();
  }
  // A restart scans from the durable cursor: keep that scan short without
  // paying a fence for each entry.
  if (reclaimable_ > capacity_ / 8) PersistCleaned();
}

void LogRing::PersistCleaned() {
  // The applied cursor must not be found behind a durable cleaned one.
  PersistApplied();
  if (before_cleaned_ != nullptr) before_cleaned_(cleaned_);
  current_line_ = 1 - current_line_;
  CleanedLine& line = header()->cleaned[current_line_];
  line.sequence = cleaned_;
  line.offset = entries_.empty() ? write_offset_ : entries_.front().offset;
  line.checksum = CleanedChecksum(line);
  region_->Persist(&line, sizeof(line));
  reclaimable_ = 0;
}

void LogRing::TruncateAfter(uint64_t sequence) {
  CHECK_GE(sequence, applied_);
  if (sequence >= received()) return;
  CHECK(EndsEntry(sequence)) << sequence;
  while (received() > sequence) DropLast();
}

void LogRing::DropLast() {
  const Slot slot = entries_.back();
  // The newest first, each durably: otherwise a restart would find a later
  // entry behind the entry that replaces a dropped one.
  replaced_.push_back(slot.offset);
  for (; !replaced_.empty(); replaced_.pop_back()) {
    auto* header =
        reinterpret_cast<SlotHeader*>(region_->base() + replaced_.back());
    header->magic = 0;
    region_->Persist(&header->magic, sizeof(header->magic));
  }
  ++rewrites_;
  // Includes space that a wrap before it left unused.
  write_offset_ = slot.begin;
  used_ -= slot.space;
  entries_.pop_back();
}

}  // namespace kamino::replica
