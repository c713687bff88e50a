#include "replica/operation_ring.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::replica {
namespace {

using ring_format::CleanedLine;
using ring_format::EntryHeader;
using ring_format::kEntryAlignment;
using ring_format::kEntryMagic;
using ring_format::kHeaderBytes;
using ring_format::kRingMagic;
using ring_format::kRingVersion;
using ring_format::kWrapMagic;
using ring_format::RingHeader;

uint64_t HeaderChecksum(const RingHeader& header) {
  return XXH3_64bits(&header, offsetof(RingHeader, checksum));
}

uint64_t CleanedChecksum(const CleanedLine& line) {
  return XXH3_64bits(&line, offsetof(CleanedLine, checksum));
}

uint64_t PaddedBytes(uint64_t length) {
  const uint64_t bytes = sizeof(EntryHeader) + length;
  return (bytes + kEntryAlignment - 1) / kEntryAlignment * kEntryAlignment;
}

uint64_t CapacityOf(const engine::Region& region) {
  return (region.size() - kHeaderBytes) / kEntryAlignment * kEntryAlignment;
}

}  // namespace

RingHeader* OperationRing::header() const {
  return reinterpret_cast<RingHeader*>(region_->base());
}

uint64_t OperationRing::ChecksumOf(uint64_t first, uint32_t count,
                                   const void* payload, uint32_t length) const {
  const uint64_t seed = first * 0x9e3779b97f4a7c15ull +
                        header()->generation * 0xd6e8feb86659fd93ull +
                        (static_cast<uint64_t>(count) << 32) + length;
  return XXH3_64bits_withSeed(payload, length, seed);
}

absl::StatusOr<std::unique_ptr<OperationRing>> OperationRing::Create(
    engine::Region* region, const HeapUuid& heap, size_t min_bytes) {
  if (region->size() < min_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("operation ring of ", region->size(),
                     " bytes is too small; at least ", min_bytes));
  }
  auto ring = absl::WrapUnique(new OperationRing(region, CapacityOf(*region)));
  ring->Format(heap, 0, 0);
  return ring;
}

void OperationRing::Format(const HeapUuid& heap, uint64_t sequence,
                           uint32_t generation) {
  RingHeader* header = this->header();
  // The first entry slot must not look like an entry of an earlier ring.
  std::memset(region_->base() + kHeaderBytes, 0, sizeof(EntryHeader));
  region_->Persist(region_->base() + kHeaderBytes, sizeof(EntryHeader));
  std::memset(static_cast<void*>(header), 0, sizeof(RingHeader));
  header->version = kRingVersion;
  header->generation = generation;
  header->size = region_->size();
  std::memcpy(header->heap_uuid, heap.data(), heap.size());
  write_offset_ = kHeaderBytes;
  current_line_ = 0;
  CleanedLine& line = header->cleaned[0];
  line.sequence = sequence;
  line.offset = kHeaderBytes;
  line.checksum = CleanedChecksum(line);
  header->applied.sequence = sequence;
  region_->Persist(header, sizeof(RingHeader));
  header->magic = kRingMagic;
  header->checksum = HeaderChecksum(*header);
  region_->Persist(header, sizeof(RingHeader));
  entries_.clear();
  applied_ = cleaned_ = sequence;
  applied_durable_ = true;
  used_ = reclaimable_ = 0;
}

void OperationRing::Restart(uint64_t sequence, uint32_t generation) {
  HeapUuid heap;
  std::memcpy(heap.data(), header()->heap_uuid, heap.size());
  Format(heap, sequence, generation);
}

absl::StatusOr<std::unique_ptr<OperationRing>> OperationRing::Open(
    engine::Region* region, const HeapUuid& heap) {
  if (region->size() < kMinTinyBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("operation ring is truncated: ", region->size(),
                     " bytes, at least ", kMinBytes, " expected"));
  }
  auto ring = absl::WrapUnique(new OperationRing(region, CapacityOf(*region)));
  const RingHeader& header = *ring->header();
  if (header.magic != kRingMagic) {
    return absl::FailedPreconditionError("not a Kamino operation ring");
  }
  if (header.version != kRingVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("operation ring has format version ", header.version,
                     "; this program reads version ", kRingVersion));
  }
  if (header.checksum != HeaderChecksum(header)) {
    return absl::DataLossError("operation ring's header is damaged");
  }
  if (header.size != region->size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("operation ring was made with ", header.size,
                     " bytes and has ", region->size(), " now"));
  }
  if (std::memcmp(header.heap_uuid, heap.data(), heap.size()) != 0) {
    return absl::FailedPreconditionError(
        "operation ring belongs to another heap");
  }
  RETURN_IF_ERROR(ring->Recover());
  return ring;
}

absl::Status OperationRing::ReadCleaned() {
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
    return absl::DataLossError("operation ring's cleaned cursor is damaged");
  }
  cleaned_ = best->sequence;
  write_offset_ = best->offset;
  return absl::OkStatus();
}

absl::Status OperationRing::Recover() {
  RETURN_IF_ERROR(ReadCleaned());
  while (ScanOne(received() + 1)) {
  }
  applied_ = std::max(header()->applied.sequence, cleaned_);
  if (applied_ > received()) {
    return absl::DataLossError(
        absl::StrCat("operation ring lost entries: applied ", applied_,
                     ", received ", received()));
  }
  if (!EndsEntry(applied_)) {
    return absl::DataLossError(
        absl::StrCat("operation ring's applied cursor is damaged: ", applied_,
                     " is within an entry"));
  }
  return absl::OkStatus();
}

bool OperationRing::ScanOne(uint64_t first) {
  const uint64_t end = kHeaderBytes + capacity_;
  uint64_t space = 0;
  uint64_t offset = write_offset_;
  for (int wraps = 0; wraps < 2; ++wraps) {
    if (offset + sizeof(EntryHeader) > end) {
      space += end - offset;
      offset = kHeaderBytes;
      continue;
    }
    EntryHeader entry;
    std::memcpy(&entry, region_->base() + offset, sizeof(entry));
    if (entry.first != first) return false;
    if (entry.magic == kWrapMagic) {
      space += end - offset;
      offset = kHeaderBytes;
      continue;
    }
    const uint64_t bytes = PaddedBytes(entry.length);
    if (entry.magic != kEntryMagic || entry.count == 0 ||
        entry.length > capacity_ || offset + bytes > end ||
        used_ + space + bytes > capacity_) {
      return false;
    }
    const std::byte* payload = region_->base() + offset + sizeof(entry);
    if (entry.checksum !=
        ChecksumOf(first, entry.count, payload, entry.length)) {
      return false;
    }
    entries_.push_back(
        {offset, entry.length, space + bytes, first, first + entry.count - 1});
    used_ += space + bytes;
    write_offset_ = offset + bytes;
    return true;
  }
  return false;
}

bool OperationRing::Place(uint64_t bytes, uint64_t* offset,
                          uint64_t* space) const {
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

absl::Status OperationRing::Append(uint64_t first, uint32_t count,
                                   absl::string_view operation) {
  CHECK_EQ(first, received() + 1);
  CHECK_GT(count, 0u);
  if (operation.size() > max_entry_bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("operation of ", operation.size(),
                     " bytes; the ring takes at most ", max_entry_bytes()));
  }
  const uint64_t bytes = PaddedBytes(operation.size());
  uint64_t offset = 0;
  uint64_t space = 0;
  if (!Place(bytes, &offset, &space)) {
    if (reclaimable_ > 0) PersistCleaned();
    if (!Place(bytes, &offset, &space)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "operation ring is full: ", used_, " of ", capacity_, " bytes"));
    }
  }
  std::byte* base = region_->base();
  const uint64_t end = kHeaderBytes + capacity_;
  if (offset != write_offset_ && write_offset_ + sizeof(EntryHeader) <= end) {
    const EntryHeader wrap{kWrapMagic, 0, first, 0, 0, 0};
    std::memcpy(base + write_offset_, &wrap, sizeof(wrap));
    region_->Flush(base + write_offset_, sizeof(wrap));
  }
  const uint32_t length = static_cast<uint32_t>(operation.size());
  const EntryHeader entry{
      kEntryMagic, length,
      first,       ChecksumOf(first, count, operation.data(), length),
      count,       0};
  std::memcpy(base + offset, &entry, sizeof(entry));
  std::memcpy(base + offset + sizeof(entry), operation.data(), length);
  region_->Flush(base + offset, sizeof(entry) + length);
  region_->Drain();
  applied_durable_ = true;
  entries_.push_back({offset, length, space, first, first + count - 1});
  used_ += space;
  write_offset_ = offset + bytes;
  return absl::OkStatus();
}

const OperationRing::Slot& OperationRing::SlotOf(uint64_t sequence) const {
  CHECK_GT(sequence, cleaned_);
  CHECK_LE(sequence, received());
  return *std::lower_bound(
      entries_.begin(), entries_.end(), sequence,
      [](const Slot& slot, uint64_t wanted) { return slot.last < wanted; });
}

OperationRing::Entry OperationRing::EntryOf(uint64_t sequence) const {
  const Slot& slot = SlotOf(sequence);
  return {slot.first,
          slot.last,
          {reinterpret_cast<const char*>(region_->base() + slot.offset +
                                         sizeof(EntryHeader)),
           slot.length}};
}

bool OperationRing::EndsEntry(uint64_t sequence) const {
  if (sequence == cleaned_) return true;
  return sequence > cleaned_ && sequence <= received() &&
         SlotOf(sequence).last == sequence;
}

void OperationRing::MarkApplied(uint64_t sequence) {
  CHECK_GE(sequence, applied_);
  CHECK(EndsEntry(sequence)) << sequence;
  applied_ = sequence;
  header()->applied.sequence = sequence;
  region_->Flush(&header()->applied.sequence, sizeof(uint64_t));
  applied_durable_ = false;
}

void OperationRing::PersistApplied() {
  if (applied_durable_) return;
  region_->Drain();
  applied_durable_ = true;
}

void OperationRing::Clean(uint64_t sequence) {
  CHECK_LE(sequence, applied_);
  CHECK(sequence < cleaned_ || EndsEntry(sequence)) << sequence;
  while (cleaned_ < sequence) {
    used_ -= entries_.front().space;
    reclaimable_ += entries_.front().space;
    cleaned_ = entries_.front().last;
    entries_.pop_front();
  }
  // A restart scans from the durable cursor: keep that scan short without
  // paying a fence for each operation.
  if (reclaimable_ > capacity_ / 8) PersistCleaned();
}

void OperationRing::PersistCleaned() {
  // The applied cursor must not be found behind a durable cleaned one.
  region_->Persist(&header()->applied.sequence, sizeof(uint64_t));
  current_line_ = 1 - current_line_;
  CleanedLine& line = header()->cleaned[current_line_];
  line.sequence = cleaned_;
  line.offset = entries_.empty() ? write_offset_ : entries_.front().offset;
  line.checksum = CleanedChecksum(line);
  region_->Persist(&line, sizeof(line));
  reclaimable_ = 0;
}

void OperationRing::TruncateAfter(uint64_t sequence) {
  CHECK_GE(sequence, applied_);
  if (sequence >= received()) return;
  CHECK(EndsEntry(sequence)) << sequence;
  while (received() > sequence) {
    const Slot& slot = entries_.back();
    auto* entry = reinterpret_cast<EntryHeader*>(region_->base() + slot.offset);
    entry->magic = 0;
    region_->Flush(&entry->magic, sizeof(entry->magic));
    // Space that a wrap before it left unused comes back as well.
    const uint64_t unused = slot.space - PaddedBytes(slot.length);
    write_offset_ =
        unused > 0 ? kHeaderBytes + capacity_ - unused : slot.offset;
    used_ -= slot.space;
    entries_.pop_back();
  }
  region_->Drain();
}

}  // namespace kamino::replica
