#include "replica/log/ring_media.h"

#include <xxhash.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "replica/log/log_entry.h"

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

}  // namespace

uint64_t RingMedia::capacity() const {
  return (region_->size() - kHeaderBytes) / kEntryAlignment * kEntryAlignment;
}

RingHeader* RingMedia::header() const {
  return reinterpret_cast<RingHeader*>(region_->base());
}

RingMedia::HeapUuid RingMedia::heap() const {
  HeapUuid heap;
  std::memcpy(heap.data(), header()->heap_uuid, heap.size());
  return heap;
}

std::byte* RingMedia::EntryAt(uint64_t slot_offset) const {
  return region_->base() + slot_offset + sizeof(SlotHeader);
}

absl::string_view RingMedia::BytesOf(const RingSlot& slot) const {
  return {reinterpret_cast<const char*>(EntryAt(slot.offset)), slot.length};
}

void RingMedia::BeginFormat(const HeapUuid& heap, ChainMode mode,
                            uint64_t cleaned, uint32_t generation) {
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
  current_line_ = 0;
  CleanedLine& line = header->cleaned[0];
  line.sequence = cleaned;
  line.offset = kHeaderBytes;
  line.checksum = CleanedChecksum(line);
  region_->Persist(header, sizeof(RingHeader));
}

void RingMedia::EndFormat() {
  RingHeader* header = this->header();
  header->magic = kRingMagic;
  header->checksum = HeaderChecksum(*header);
  region_->Persist(header, sizeof(RingHeader));
}

absl::Status RingMedia::CheckHeader(const HeapUuid& heap) const {
  const RingHeader& header = *this->header();
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
  if (header.size != region_->size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("log ring was made with ", header.size, " bytes and has ",
                     region_->size(), " now"));
  }
  if (std::memcmp(header.heap_uuid, heap.data(), heap.size()) != 0) {
    return absl::FailedPreconditionError(
        "log ring belongs to another heap: one of them is another node's, or "
        "from before this one began anew; put back copies that were made at "
        "one time, or move all of this node's files away: it then joins as a "
        "new node");
  }
  return absl::OkStatus();
}

absl::StatusOr<RingMedia::Cleaned> RingMedia::ReadCleaned() {
  const CleanedLine* best = nullptr;
  for (int i = 0; i < 2; ++i) {
    const CleanedLine& line = header()->cleaned[i];
    if (line.checksum != CleanedChecksum(line)) continue;
    if (best != nullptr && line.sequence <= best->sequence) continue;
    best = &line;
    current_line_ = i;
  }
  if (best == nullptr || best->offset < kHeaderBytes ||
      best->offset > kHeaderBytes + capacity() ||
      best->offset % kEntryAlignment != 0) {
    return absl::DataLossError("log ring's cleaned cursor is damaged");
  }
  return Cleaned{best->sequence, best->offset};
}

void RingMedia::PersistCleaned(const Cleaned& cleaned) {
  current_line_ = 1 - current_line_;
  CleanedLine& line = header()->cleaned[current_line_];
  line.sequence = cleaned.sequence;
  line.offset = cleaned.offset;
  line.checksum = CleanedChecksum(line);
  region_->Persist(&line, sizeof(line));
}

std::optional<RingSlot> RingMedia::Find(uint64_t first, uint64_t from,
                                        uint64_t room) const {
  const uint64_t end = kHeaderBytes + capacity();
  uint64_t space = 0;
  uint64_t offset = from;
  for (int wraps = 0; wraps < 2; ++wraps) {
    if (offset + sizeof(SlotHeader) > end) {
      space += end - offset;
      offset = kHeaderBytes;
      continue;
    }
    SlotHeader slot;
    std::memcpy(&slot, region_->base() + offset, sizeof(slot));
    if (slot.first != first || slot.generation != header()->generation) {
      return std::nullopt;
    }
    if (slot.magic == kWrapMagic) {
      space += end - offset;
      offset = kHeaderBytes;
      continue;
    }
    const uint64_t bytes = PaddedSlotBytes(slot.length);
    if (slot.magic != kSlotMagic || slot.length > capacity() ||
        slot.length < sizeof(log_entry_format::EntryHeader) ||
        offset + bytes > end || space + bytes > room ||
        slot.checksum != SlotChecksum(slot, EntryAt(offset))) {
      return std::nullopt;
    }
    RingSlot found{offset, slot.length, space + bytes, first, first, from};
    const auto entry = LogEntry::Check(BytesOf(found), mode());
    if (!entry.ok() || entry->first() != first) return std::nullopt;
    found.last = entry->last();
    return found;
  }
  return std::nullopt;
}

void RingMedia::Write(uint64_t first, uint64_t length, uint64_t from,
                      uint64_t offset, absl::FunctionRef<void(char*)> write) {
  std::byte* base = region_->base();
  const uint64_t end = kHeaderBytes + capacity();
  const uint32_t generation = header()->generation;
  if (offset != from && from + sizeof(SlotHeader) <= end) {
    const SlotHeader wrap{kWrapMagic, generation, first, 0, 0, 0};
    std::memcpy(base + from, &wrap, sizeof(wrap));
    region_->Flush(base + from, sizeof(wrap));
  }
  write(reinterpret_cast<char*>(EntryAt(offset)));
  SlotHeader slot{kSlotMagic, generation, first, static_cast<uint32_t>(length),
                  0,          0};
  slot.checksum = SlotChecksum(slot, EntryAt(offset));
  std::memcpy(base + offset, &slot, sizeof(slot));
  region_->Flush(base + offset, sizeof(slot) + length);
}

void RingMedia::Erase(uint64_t offset) {
  auto* header = reinterpret_cast<SlotHeader*>(region_->base() + offset);
  header->magic = 0;
  region_->Persist(&header->magic, sizeof(header->magic));
}

}  // namespace kamino::replica
