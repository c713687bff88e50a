#include "replica/log/log_ring.h"

#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "replica/log/ring_format.h"

namespace kamino::replica {

using ring_format::kHeaderBytes;

LogRing::LogRing(engine::Region* region)
    : media_(region),
      space_(media_.capacity()),
      marks_(region, offsetof(ring_format::RingHeader, applied)) {}

absl::StatusOr<std::unique_ptr<LogRing>> LogRing::Create(engine::Region* region,
                                                         const HeapUuid& heap,
                                                         size_t min_bytes,
                                                         ChainMode mode) {
  if (region->size() < min_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("log ring of ", region->size(),
                     " bytes is too small; at least ", min_bytes));
  }
  auto ring = absl::WrapUnique(new LogRing(region));
  ring->Format(heap, mode, 0, 0);
  return ring;
}

void LogRing::Format(const HeapUuid& heap, ChainMode mode, uint64_t sequence,
                     uint32_t generation) {
  media_.BeginFormat(heap, mode, sequence, generation);
  marks_.Reset(sequence);
  media_.EndFormat();
  space_.Restart(sequence, kHeaderBytes);
}

void LogRing::Restart(uint64_t sequence, uint32_t generation) {
  Format(media_.heap(), mode(), sequence, generation);
}

absl::StatusOr<std::unique_ptr<LogRing>> LogRing::Open(engine::Region* region,
                                                       const HeapUuid& heap) {
  if (region->size() < kMinTinyBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("log ring is truncated: ", region->size(),
                     " bytes, at least ", kMinBytes, " expected"));
  }
  auto ring = absl::WrapUnique(new LogRing(region));
  RingMedia& media = ring->media_;
  RingSpace& space = ring->space_;
  RETURN_IF_ERROR(media.CheckHeader(heap));
  ASSIGN_OR_RETURN(const auto cleaned, media.ReadCleaned());
  space.Restart(cleaned.sequence, cleaned.offset);
  const auto scan_one = [&](uint64_t first) {
    const auto found =
        media.Find(first, space.write_offset(), space.total() - space.used());
    if (found.has_value()) space.Add(*found);
    return found.has_value();
  };
  // A slot with the same first mutation as the last one replaces it.
  while (scan_one(space.received() + 1) ||
         (!space.empty() && scan_one(space.back().first))) {
  }
  RETURN_IF_ERROR(ring->marks_.Open());
  const uint64_t applied = ring->applied();
  if (applied < space.cleaned()) {
    return absl::DataLossError(absl::StrCat("log ring is damaged: applied ",
                                            applied, ", cleaned ",
                                            space.cleaned()));
  }
  if (applied > space.received()) {
    return absl::DataLossError(absl::StrCat("log ring lost entries: applied ",
                                            applied, ", received ",
                                            space.received()));
  }
  if (!space.EndsEntry(applied)) {
    return absl::DataLossError(
        absl::StrCat("log ring's applied cursor is damaged: ", applied,
                     " is within an entry"));
  }
  return ring;
}

absl::Status LogRing::Append(const LogEntry& entry) {
  CHECK_EQ(entry.first(), received() + 1);
  return Append(entry.first(), entry.last(), entry.bytes().size(),
                [&entry](char* to) {
                  std::memcpy(to, entry.bytes().data(), entry.bytes().size());
                });
}

absl::Status LogRing::ReplaceLast(const LogEntryDraft& draft) {
  CHECK_GT(received(), applied());
  CHECK_EQ(draft.first, space_.back().first);
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
  if (length > space_.max_entry()) {
    return absl::InvalidArgumentError(
        absl::StrCat("log entry of ", length, " bytes; the ring takes at most ",
                     space_.max_entry()));
  }
  const uint64_t bytes = PaddedSlotBytes(length);
  auto place = space_.Place(bytes);
  if (!place.has_value() && space_.reclaimable() > 0) {
    PersistCleaned();
    place = space_.Place(bytes);
  }
  if (!place.has_value()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "log ring is full: ", space_.used(), " of ", space_.total(), " bytes"));
  }
  const uint64_t begin = space_.write_offset();
  media_.Write(first, length, begin, place->offset, write);
  media_.region()->Drain();
  marks_.OnRingDrained();
  space_.Add({place->offset, static_cast<uint32_t>(length), place->space, first,
              last, begin});
  appended_.bytes += length;
  appended_.image_bytes += EntryOf(last).after_image_bytes();
  return absl::OkStatus();
}

LogEntry LogRing::EntryOf(uint64_t sequence) const {
  const RingSlot& slot = space_.SlotOf(sequence);
  return LogEntry::Checked(media_.BytesOf(slot), slot.first, slot.last);
}

void LogRing::MarkApplied(uint64_t sequence) {
  CHECK_GE(sequence, applied());
  CHECK(EndsEntry(sequence)) << sequence;
  marks_.Mark(sequence);
}

void LogRing::RollBackApplied(uint64_t sequence) {
  CHECK_LE(sequence, applied());
  CHECK_GE(sequence, cleaned());
  CHECK(EndsEntry(sequence)) << sequence;
  marks_.Reset(sequence);
}

void LogRing::Clean(uint64_t sequence) {
  CHECK_LE(sequence, applied());
  CHECK(sequence < cleaned() || EndsEntry(sequence)) << sequence;
  space_.CleanTo(sequence);
  // A restart scans from the durable cursor: keep that scan short without
  // paying a fence for each entry.
  if (space_.reclaimable() > space_.total() / 8) PersistCleaned();
}

void LogRing::PersistCleaned() {
  // The applied cursor must not be found behind a durable cleaned one.
  PersistApplied();
  if (before_cleaned_ != nullptr) before_cleaned_(cleaned());
  media_.PersistCleaned({cleaned(), space_.oldest()});
  space_.Reclaim();
}

void LogRing::TruncateAfter(uint64_t sequence) {
  CHECK_GE(sequence, applied());
  if (sequence >= received()) return;
  CHECK(EndsEntry(sequence)) << sequence;
  while (received() > sequence) {
    // The newest first, each durably: otherwise a restart would find a later
    // entry behind the entry that replaces a dropped one.
    for (const uint64_t offset : space_.DropLast()) media_.Erase(offset);
  }
}

}  // namespace kamino::replica
