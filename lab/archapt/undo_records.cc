#include "lab/archapt/undo_records.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "engine/baselines/checked_word.h"

namespace kamino::engine {

using archapt_format::kLineBytes;

UndoRecords::UndoRecords(Region* region, uint64_t begin, uint64_t end,
                         uint64_t seed, bool checked)
    : region_(region),
      ring_(region->base() + begin),
      lines_((end - begin) / kLineBytes),
      seed_(seed),
      checked_(checked) {}

uint64_t UndoRecords::LinesOf(uint64_t data_bytes) {
  return (sizeof(RecordHeader) + data_bytes + kLineBytes - 1) / kLineBytes;
}

uint64_t UndoRecords::SeedOfLine(const RecordHeader& header) const {
  constexpr size_t kBegin = offsetof(RecordHeader, transaction);
  return XXH3_64bits_withSeed(
      reinterpret_cast<const std::byte*>(&header) + kBegin,
      offsetof(RecordHeader, check) - kBegin, seed_);
}

uint64_t UndoRecords::CheckOf(const RecordHeader& header,
                              absl::Span<const std::byte> data) const {
  uint64_t seed = seed_;
  if (!data.empty()) seed ^= XXH3_64bits(data.data(), data.size());
  return XXH3_64bits_withSeed(&header, offsetof(RecordHeader, check), seed);
}

void UndoRecords::Write(uint64_t line, RecordHeader header,
                        absl::Span<const std::byte> data) {
  header.length = static_cast<uint32_t>(data.size());
  header.line = MakeChecked(line, SeedOfLine(header));
  if (checked_) header.check = CheckOf(header, data);
  std::byte first[kLineBytes] = {};
  std::memcpy(first, &header, sizeof(header));
  const size_t in_line = std::min(data.size(), kLineBytes - sizeof(header));
  std::copy_n(data.begin(), in_line, first + sizeof(header));
  region_->CopyFlush(At(line), first, kLineBytes);
  for (size_t done = in_line; done < data.size();) {
    std::byte* const to = At(line + (sizeof(header) + done) / kLineBytes);
    const size_t to_end = ring_ + lines_ * kLineBytes - to;
    const size_t length = std::min(data.size() - done, to_end);
    region_->CopyFlush(to, data.data() + done, length);
    done += length;
  }
}

std::vector<std::byte> UndoRecords::DataOf(uint64_t line,
                                           uint32_t length) const {
  std::vector<std::byte> data(length);
  const size_t begin = line % lines_ * kLineBytes + sizeof(RecordHeader);
  const size_t first = std::min<size_t>(length, lines_ * kLineBytes - begin);
  std::copy_n(ring_ + begin, first, data.begin());
  std::copy_n(ring_, length - first, data.begin() + first);
  return data;
}

std::optional<UndoRecords::RecordHeader> UndoRecords::Read(uint64_t line,
                                                           uint64_t end) const {
  RecordHeader header;
  std::memcpy(&header, At(line), sizeof(header));
  // The length is not believed before: these may be a client's bytes, and such
  // that make the log look long in each of its lines.
  if (NumberIn(header.line) != line ||
      header.line != MakeChecked(line, SeedOfLine(header)) ||
      LinesOf(header.length) > end - line) {
    return std::nullopt;
  }
  if (header.check != CheckOf(header, DataOf(line, header.length))) {
    return std::nullopt;
  }
  header.line = line;
  return header;
}

std::optional<uint64_t> UndoRecords::FindPastFirstRound() const {
  for (uint64_t line = 0; line < lines_; ++line) {
    RecordHeader header;
    std::memcpy(&header, At(line), sizeof(header));
    const uint64_t number = NumberIn(header.line);
    if (number < lines_ || number % lines_ != line) continue;
    if (header.line == MakeChecked(number, SeedOfLine(header))) return number;
  }
  return std::nullopt;
}

}  // namespace kamino::engine
