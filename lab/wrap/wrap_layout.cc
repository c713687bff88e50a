#include "lab/wrap/wrap_layout.h"

#include <xxhash.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/baselines/log_seed.h"

namespace kamino::engine {

using wrap_format::kMinBucketBytes;
using wrap_format::kSequenceBits;
using wrap_format::kSequenceMask;
using wrap_format::LogHeader;
using wrap_format::Marker;

namespace {

// One for a transaction, one for stores outside of any while that lives.
constexpr uint64_t kLeastBuckets = 2;

uint64_t HeaderCheck(uint64_t bucket_bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(&bucket_bytes, sizeof(bucket_bytes), seed);
}

// Makes a word for `place` in the header. That of sequence 0 is not 0, so that
// a lost line does not look like an empty log.
uint64_t MakeWord(uint64_t sequence, size_t place, uint64_t seed) {
  const uint64_t check =
      XXH3_64bits_withSeed(&sequence, sizeof(sequence), seed ^ place);
  return sequence | check >> kSequenceBits << kSequenceBits;
}

constexpr size_t kRetired = offsetof(LogHeader, retired);
constexpr size_t kLastSequence = offsetof(LogHeader, last_sequence);

bool FitsBuckets(uint64_t bucket_bytes, uint64_t log_bytes) {
  return bucket_bytes % wrap_format::kLineBytes == 0 &&
         bucket_bytes >= kMinBucketBytes &&
         (log_bytes - sizeof(LogHeader)) / bucket_bytes >= kLeastBuckets;
}

}  // namespace

absl::Status WrapLayout::Format(const Heap& heap, uint64_t bucket_bytes) {
  const absl::Span<std::byte> area = heap.log_area();
  if (!FitsBuckets(bucket_bytes, area.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "buckets of ", bucket_bytes, " bytes in a log of ", area.size(),
        ": they must be multiples of ", wrap_format::kLineBytes, ", have ",
        kMinBucketBytes, " at least, and ", kLeastBuckets, " must fit"));
  }
  const uint64_t seed = LogSeed(heap.uuid());
  LogHeader header{};
  header.bucket_bytes = bucket_bytes;
  header.check = HeaderCheck(bucket_bytes, seed);
  header.retired = MakeWord(0, kRetired, seed);
  header.last_sequence = MakeWord(0, kLastSequence, seed);
  heap.region()->CopyFlush(area.data(), &header, sizeof(header));
  heap.region()->Drain();
  return absl::OkStatus();
}

absl::StatusOr<WrapLayout> WrapLayout::Of(const Heap& heap) {
  const absl::Span<std::byte> area = heap.log_area();
  WrapLayout layout;
  layout.region_ = heap.region();
  if (layout.region_->size() > wrap_format::kMostRegionBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a heap of ", layout.region_->size(), " bytes: WrAP can have ",
        wrap_format::kMostRegionBytes, " at most"));
  }
  layout.log_begin_ = area.data() - layout.region_->base();
  layout.log_end_ = layout.log_begin_ + area.size();
  layout.objects_begin_ = heap.objects_begin();
  layout.seed_ = LogSeed(heap.uuid());
  const LogHeader& header = *layout.header();
  layout.bucket_bytes_ = header.bucket_bytes;
  if (header.check != HeaderCheck(header.bucket_bytes, layout.seed_) ||
      !FitsBuckets(header.bucket_bytes, area.size())) {
    return absl::DataLossError(
        "the log is damaged: its header does not say how large buckets are "
        "(one that is all 0 may be of a store that was not made to its end)");
  }
  layout.buckets_ = (area.size() - sizeof(LogHeader)) / layout.bucket_bytes_;
  return layout;
}

uint64_t WrapLayout::OwnCheckOf(const Marker& marker, uint64_t offset) const {
  return XXH3_64bits_withSeed(&marker, offsetof(Marker, own_check),
                              seed_ ^ offset);
}

uint64_t WrapLayout::CheckOf(const Marker& marker, uint64_t offset,
                             absl::Span<const std::byte> records) const {
  const uint64_t seed =
      XXH3_64bits(records.data(), records.size()) ^ seed_ ^ offset;
  return XXH3_64bits_withSeed(&marker, offsetof(Marker, check), seed);
}

absl::StatusOr<uint64_t> WrapLayout::Retired() const {
  const uint64_t word = header()->retired;
  const uint64_t sequence = word & kSequenceMask;
  // No log gets to half of them.
  if (word != MakeWord(sequence, kRetired, seed_) ||
      sequence > kSequenceMask / 2) {
    return absl::DataLossError(
        "the log is damaged: its header does not say what has retired");
  }
  return sequence;
}

absl::StatusOr<uint64_t> WrapLayout::LastSequence() const {
  const uint64_t word = header()->last_sequence;
  const uint64_t sequence = word & kSequenceMask;
  if (word != MakeWord(sequence, kLastSequence, seed_)) {
    return absl::DataLossError(
        "the log is damaged: its header does not say which sequence was last");
  }
  return sequence;
}

void WrapLayout::StoreRetired(uint64_t sequence) const {
  __atomic_store_n(&header()->retired, MakeWord(sequence, kRetired, seed_),
                   __ATOMIC_RELAXED);
}

void WrapLayout::StoreLastSequence(uint64_t sequence) const {
  __atomic_store_n(&header()->last_sequence,
                   MakeWord(sequence, kLastSequence, seed_), __ATOMIC_RELAXED);
}

bool ForEachRecord(
    absl::Span<const std::byte> records,
    absl::FunctionRef<void(uint64_t, absl::Span<const std::byte>)> visit) {
  while (!records.empty()) {
    uint64_t word;
    if (records.size() < sizeof(word)) return false;
    std::memcpy(&word, records.data(), sizeof(word));
    const uint64_t length = wrap_format::LengthOf(word);
    const uint64_t whole = wrap_format::RecordBytes(length);
    if (whole > records.size()) return false;
    visit(wrap_format::AddressOf(word), records.subspan(sizeof(word), length));
    records.remove_prefix(whole);
  }
  return true;
}

}  // namespace kamino::engine
