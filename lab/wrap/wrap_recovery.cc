// The paper has no recovery; this one follows from how wraps close and retire.
//
//   - A wrap counts when the check of its marker is right, which covers its
//     records: a sentinel in each of them would not do, as a record's words
//     reach the medium one by one, and an older record may lie where one is
//     missing.
//   - Before that is known, a marker's length and where its records go on are
//     any bytes: what clients store lies where markers are looked for. So a
//     marker has a check of its own, and no piece is smaller than those that
//     logs are made of: the work is bounded by what was logged.
//   - Those that count and have not retired are replayed in the order of their
//     closes. A number may be missing: such a wrap was not acknowledged, and
//     later ones have no object in common with it. But each marker says how far
//     closes were durable before it. What is missing below that was damaged.
//   - No number that was ever drawn is drawn again: the rest of what a crash
//     cut off may lie in a bucket for long, and new records of the same wrap
//     could make it whole.
#include "lab/wrap/wrap_recovery.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "lab/explore.h"

namespace kamino::engine {

using wrap_format::Link;
using wrap_format::Marker;

namespace {

struct FoundWrap {
  Marker marker;
  std::vector<std::byte> records;
};

class Recovery {
 public:
  explicit Recovery(const WrapLayout& layout)
      : layout_(layout), region_(*layout.region()) {}

  absl::StatusOr<RecoveryReport> Run();

 private:
  // The wrap that begins in this bucket and has not retired; none: no such.
  std::optional<FoundWrap> Read(uint64_t bucket) const;
  // Collects `bytes` of records from a bucket on; false: they are not there.
  bool Gather(uint64_t bucket, uint64_t bytes,
              std::vector<std::byte>* records) const;
  void Scan();
  absl::Status Check() const;
  absl::Status CheckRecords(const FoundWrap& wrap) const;
  void Replay();

  const WrapLayout& layout_;
  Region& region_;
  uint64_t retired_ = 0;
  std::vector<FoundWrap> wraps_;  // in the order of their closes, once sorted
  RecoveryReport report_;
};

bool Recovery::Gather(uint64_t bucket, uint64_t bytes,
                      std::vector<std::byte>* records) const {
  if (bytes > region_.size()) return false;
  Link piece{bucket, layout_.bucket_bytes()};
  uint64_t skip = sizeof(Marker);
  const uint64_t least =
      std::min<uint64_t>(layout_.bucket_bytes(), kMaxObjectBytes);
  while (true) {
    const uint64_t room = piece.bytes - skip - sizeof(Link);
    const uint64_t length = std::min(bytes - records->size(), room);
    const std::byte* const begin = layout_.At(piece.next + skip);
    records->insert(records->end(), begin, begin + length);
    if (records->size() == bytes) return true;
    const uint64_t end = piece.next + piece.bytes;
    std::memcpy(&piece, layout_.At(end - sizeof(Link)), sizeof(piece));
    // Each piece then has room for records, so the loop ends soon.
    const bool within =
        piece.next >= layout_.log_begin() && piece.next < region_.size() &&
        piece.next % wrap_format::kLineBytes == 0 && piece.bytes >= least &&
        piece.bytes <= region_.size() - piece.next;
    if (!within) return false;
    Reached(LabBranch::kWrapReadOn);
    skip = 0;
  }
}

std::optional<FoundWrap> Recovery::Read(uint64_t bucket) const {
  FoundWrap found;
  std::memcpy(&found.marker, layout_.At(bucket), sizeof(found.marker));
  const Marker& marker = found.marker;
  // Those that have not retired have a bucket each.
  if (marker.sequence <= retired_ ||
      marker.sequence - retired_ > layout_.buckets()) {
    return std::nullopt;
  }
  if (marker.own_check != layout_.OwnCheckOf(marker, bucket)) {
    Reached(LabBranch::kWrapNoMarker);
    return std::nullopt;
  }
  if (!Gather(bucket, marker.bytes, &found.records) ||
      marker.check != layout_.CheckOf(marker, bucket, found.records)) {
    Reached(LabBranch::kWrapCutOff);
    return std::nullopt;
  }
  return found;
}

void Recovery::Scan() {
  for (size_t i = 0; i < layout_.buckets(); ++i) {
    auto wrap = Read(layout_.BucketAt(i));
    if (wrap.has_value()) wraps_.push_back(*std::move(wrap));
  }
  std::sort(wraps_.begin(), wraps_.end(),
            [](const FoundWrap& a, const FoundWrap& b) {
              return a.marker.sequence < b.marker.sequence;
            });
}

absl::Status Recovery::CheckRecords(const FoundWrap& wrap) const {
  bool within = true;
  const bool whole = ForEachRecord(
      wrap.records, [&](uint64_t address, absl::Span<const std::byte> bytes) {
        within = within && address >= layout_.objects_begin() &&
                 address <= region_.size() &&
                 bytes.size() <= region_.size() - address;
      });
  if (whole && within) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the log is damaged: wrap ", wrap.marker.sequence,
                   " has records that are none, or outside of the objects"));
}

absl::Status Recovery::Check() const {
  uint64_t durable = retired_;
  for (const FoundWrap& wrap : wraps_) {
    durable = std::max(durable, wrap.marker.durable);
  }
  uint64_t before = retired_;
  for (const FoundWrap& wrap : wraps_) {
    const uint64_t sequence = wrap.marker.sequence;
    if (sequence == before) {
      return absl::DataLossError(
          absl::StrCat("the log is damaged: two wraps are number ", sequence));
    }
    if (sequence != before + 1) Reached(LabBranch::kWrapMissing);
    if (sequence != before + 1 && before < durable) {
      return absl::DataLossError(
          absl::StrCat("the log is damaged: wrap ", before + 1,
                       " has closed durably and is not there"));
    }
    if (wrap.marker.commit_sequence > wrap_format::kSequenceMask) {
      return absl::DataLossError(absl::StrCat("the log is damaged: wrap ",
                                              sequence, " has commit sequence ",
                                              wrap.marker.commit_sequence));
    }
    RETURN_IF_ERROR(CheckRecords(wrap));
    before = sequence;
  }
  if (before < durable) {
    return absl::DataLossError(
        absl::StrCat("the log is damaged: wrap ", before + 1,
                     " has closed durably and is not there"));
  }
  return absl::OkStatus();
}

void Recovery::Replay() {
  for (const FoundWrap& wrap : wraps_) {
    Reached(LabBranch::kWrapReplayed);
    ForEachRecord(wrap.records, [this](uint64_t address,
                                       absl::Span<const std::byte> bytes) {
      region_.CopyFlush(layout_.At(address), bytes.data(), bytes.size());
    });
    if (wrap.marker.commit_sequence == 0) continue;
    ++report_.replayed;
    report_.last_sequence =
        std::max(report_.last_sequence, wrap.marker.commit_sequence);
  }
}

absl::StatusOr<RecoveryReport> Recovery::Run() {
  ASSIGN_OR_RETURN(retired_, layout_.Retired());
  Scan();
  RETURN_IF_ERROR(Check());
  wrap_format::LogHeader* const header = layout_.header();
  ASSIGN_OR_RETURN(const uint64_t last_sequence, layout_.LastSequence());
  report_.last_sequence = last_sequence;
  Replay();
  if (report_.last_sequence != last_sequence) {
    layout_.StoreLastSequence(report_.last_sequence);
    region_.Flush(&header->last_sequence, sizeof(header->last_sequence));
  }
  region_.Drain();
  // Beyond all that may have been drawn.
  layout_.StoreRetired(retired_ + layout_.buckets());
  region_.Persist(&header->retired, sizeof(header->retired));
  return std::move(report_);
}

}  // namespace

absl::StatusOr<RecoveryReport> RecoverWraps(const WrapLayout& layout) {
  return Recovery(layout).Run();
}

}  // namespace kamino::engine
