#include "replica/state/snapshot_writer.h"

#include <algorithm>

#include "base/status_macros.h"

namespace kamino::replica {

using engine::TrackedRegion;
using snapshot_format::AreZeros;
using snapshot_format::Header;
using snapshot_format::Kind;
using snapshot_format::kMaxDataBytes;
using snapshot_format::kMaxZeroBytes;
using snapshot_format::Record;

namespace {

constexpr size_t kPage = TrackedRegion::kPageBytes;

// The start of the page after the one with `offset`, at most `end`.
size_t NextPage(size_t offset, size_t end) {
  return std::min(end, (offset / kPage + 1) * kPage);
}

template <typename Part>
absl::string_view BytesOf(const Part& part) {
  return {reinterpret_cast<const char*>(&part), sizeof(part)};
}

}  // namespace

SnapshotWriter::SnapshotWriter(TrackedRegion* region,
                               const SnapshotScope& scope, uint64_t sequence,
                               const Ranges& unused)
    : region_(region), scope_(scope), begun_at_(sequence), swept_(scope.begin) {
  for (auto range = unused.rbegin(); range != unused.rend(); ++range) {
    const size_t first = (range->first + kPage - 1) / kPage * kPage;
    const size_t second = range->second / kPage * kPage;
    if (first >= second) continue;
    unused_.emplace_back(first, second);
    unused_left_ += second - first;
  }
  region_->StartTracking(scope.begin);
  SkipUnused();
}

SnapshotWriter::SnapshotWriter(TrackedRegion* region,
                               const SnapshotScope& scope, uint64_t sequence,
                               const engine::PageSet& pages,
                               const engine::BlockChanges* blocks)
    : region_(region),
      scope_(scope),
      begun_at_(sequence),
      blocks_(blocks),
      swept_(region->size()) {
  region_->StartTracking(scope.begin);
  region_->AddDirty(pages);
}

void SnapshotWriter::SkipUnused() {
  while (!unused_.empty() && swept_ >= unused_.back().first) {
    swept_ = unused_.back().second;
    unused_left_ -= unused_.back().second - unused_.back().first;
    unused_.pop_back();
  }
}

SnapshotWriter::~SnapshotWriter() { region_->StopTracking(); }

size_t SnapshotWriter::BytesLeft() const {
  return region_->size() - swept_ - unused_left_ +
         region_->dirty_pages() * kPage;
}

absl::Status SnapshotWriter::Begin(ByteSink* sink) {
  if (begun_) return absl::OkStatus();
  begun_ = true;
  Header header = {};
  header.magic = blocks_ == nullptr ? snapshot_format::kMagic
                                    : snapshot_format::kChangesMagic;
  header.version = snapshot_format::kVersion;
  header.chain_id = scope_.chain_id;
  header.cluster = scope_.cluster;
  header.heap_bytes = region_->size();
  header.begin = scope_.begin;
  header.sequence = begun_at_;
  checksum_ = header.checksum = ChecksumOf(header);
  return sink->Append(BytesOf(header));
}

absl::Status SnapshotWriter::Put(Record record, absl::string_view data,
                                 ByteSink* sink) {
  RETURN_IF_ERROR(Begin(sink));
  record.data = snapshot_format::ChecksumOf(data);
  checksum_ = record.checksum = ChecksumOf(checksum_, record);
  ++records_;
  RETURN_IF_ERROR(sink->Append(BytesOf(record)));
  return data.empty() ? absl::OkStatus() : sink->Append(data);
}

absl::StatusOr<size_t> SnapshotWriter::WriteFrom(size_t from, size_t to,
                                                 ByteSink* sink) {
  const std::byte* base = region_->base();
  size_t end = NextPage(from, to);
  const bool zeros = AreZeros(base + from, end - from);
  const size_t limit =
      std::min(to, from + (zeros ? kMaxZeroBytes : kMaxDataBytes));
  while (end < limit) {
    const size_t next = NextPage(end, limit);
    if (AreZeros(base + end, next - end) != zeros) break;
    end = next;
  }
  const size_t length = end - from;
  const absl::string_view data(reinterpret_cast<const char*>(base + from),
                               zeros ? 0 : length);
  RETURN_IF_ERROR(Put(
      {zeros ? Kind::kZeros : Kind::kData, 0, from, length, 0, 0}, data, sink));
  return length;
}

absl::StatusOr<size_t> SnapshotWriter::WriteRecord(ByteSink* sink) {
  if (swept_ < region_->size()) {
    const size_t end = unused_.empty() ? region_->size() : unused_.back().first;
    ASSIGN_OR_RETURN(const size_t written, WriteFrom(swept_, end, sink));
    swept_ += written;
    SkipUnused();
    return written;
  }
  if (region_->dirty_pages() == 0) return size_t{0};
  return WriteDirtyPage(sink);
}

absl::StatusOr<size_t> SnapshotWriter::WriteDirtyPage(ByteSink* sink) {
  size_t page = region_->TakeDirty(next_dirty_);
  if (page == region_->pages()) page = region_->TakeDirty(0);  // from the start
  next_dirty_ = page + 1;
  const size_t from = std::max<size_t>(scope_.begin, page * kPage);
  ASSIGN_OR_RETURN(
      const size_t written,
      WriteFrom(from, std::min(region_->size(), (page + 1) * kPage), sink));
  if (blocks_ == nullptr || blocks_->page(page).touched == 0) return written;
  const engine::BlockChanges::Page& of_page = blocks_->page(page);
  const snapshot_format::BlocksOfPage blocks = {of_page.touched,
                                                of_page.allocated};
  RETURN_IF_ERROR(Put({Kind::kBlocks, 0, page * kPage, sizeof(blocks), 0, 0},
                      BytesOf(blocks), sink));
  return written;
}

absl::Status SnapshotWriter::Finish(uint64_t sequence, ByteSink* sink) {
  size_t written = 1;
  while (written != 0) {
    ASSIGN_OR_RETURN(written, WriteRecord(sink));
  }
  return Put({Kind::kEnd, 0, sequence, records_, 0, 0}, "", sink);
}

}  // namespace kamino::replica
