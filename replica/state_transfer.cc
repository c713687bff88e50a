#include "replica/state_transfer.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace kamino::replica {
namespace {

using engine::TrackedRegion;
using kamino::internal::v1::StateChunk;

constexpr size_t kPage = TrackedRegion::kPageBytes;

bool IsZero(const std::byte* bytes, size_t length) {
  // Equal to itself moved by one, and the first is zero.
  return length == 0 || (bytes[0] == std::byte{0} &&
                         std::memcmp(bytes, bytes + 1, length - 1) == 0);
}

uint64_t ChecksumOf(const StateChunk& chunk) {
  return XXH3_64bits_withSeed(
      chunk.data().data(), chunk.data().size(),
      chunk.offset() * 0x9e3779b97f4a7c15ull + chunk.zeros());
}

// Where the page after the one with `offset` begins, but not past `end`.
size_t NextPage(size_t offset, size_t end) {
  return std::min(end, (offset / kPage + 1) * kPage);
}

}  // namespace

StateSender::StateSender(TrackedRegion* region, size_t begin,
                         const Ranges& unused)
    : region_(region), begin_(begin), swept_(begin) {
  for (auto range = unused.rbegin(); range != unused.rend(); ++range) {
    const size_t first = (range->first + kPage - 1) / kPage * kPage;
    const size_t second = range->second / kPage * kPage;
    if (first >= second) continue;
    unused_.emplace_back(first, second);
    unused_left_ += second - first;
  }
  region_->StartTracking(begin);
  SkipUnused();
}

void StateSender::SkipUnused() {
  while (!unused_.empty() && swept_ >= unused_.back().first) {
    swept_ = unused_.back().second;
    unused_left_ -= unused_.back().second - unused_.back().first;
    unused_.pop_back();
  }
}

StateSender::~StateSender() { region_->StopTracking(); }

size_t StateSender::BytesLeft() const {
  return region_->size() - swept_ - unused_left_ +
         region_->dirty_pages() * kPage;
}

void StateSender::Fill(size_t from, size_t to, StateChunk* chunk) {
  const std::byte* base = region_->base();
  chunk->Clear();
  chunk->set_offset(from);
  size_t end = NextPage(from, to);
  if (IsZero(base + from, end - from)) {
    const size_t limit = std::min(to, from + kMaxZeroBytes);
    while (end < limit) {
      const size_t next = NextPage(end, limit);
      if (!IsZero(base + end, next - end)) break;
      end = next;
    }
    chunk->set_zeros(end - from);
  } else {
    const size_t limit = std::min(to, from + kChunkBytes);
    while (end < limit) {
      const size_t next = NextPage(end, limit);
      if (IsZero(base + end, next - end)) break;
      end = next;
    }
    chunk->set_data(base + from, end - from);
  }
  chunk->set_checksum(ChecksumOf(*chunk));
}

bool StateSender::NextChunk(StateChunk* chunk) {
  if (swept_ < region_->size()) {
    const size_t end = unused_.empty() ? region_->size() : unused_.back().first;
    Fill(swept_, end, chunk);
    swept_ += chunk->data().size() + chunk->zeros();
    SkipUnused();
    return true;
  }
  if (region_->dirty_pages() == 0) return false;
  size_t page = region_->TakeDirty(next_dirty_);
  if (page == region_->pages()) page = region_->TakeDirty(0);  // from the start
  next_dirty_ = page + 1;
  const size_t from = std::max(begin_, page * kPage);
  Fill(from, std::min(region_->size(), (page + 1) * kPage), chunk);
  return true;
}

absl::Status StoreChunk(const StateChunk& chunk, engine::Region* region,
                        size_t begin) {
  const uint64_t length = chunk.data().size() + chunk.zeros();
  const uint64_t size = region->size();
  if (chunk.offset() < begin || chunk.offset() > size ||
      length > size - chunk.offset() ||
      (chunk.zeros() > 0 && !chunk.data().empty())) {
    return absl::DataLossError(
        absl::StrCat("a chunk of a state transfer, of ", length, " bytes at ",
                     chunk.offset(), ", lies outside of the heap"));
  }
  if (chunk.checksum() != ChecksumOf(chunk)) {
    return absl::DataLossError(
        absl::StrCat("a chunk of a state transfer, of ", length, " bytes at ",
                     chunk.offset(), ", was damaged on its way"));
  }
  std::byte* place = region->base() + chunk.offset();
  if (chunk.zeros() == 0) {
    region->CopyFlush(place, chunk.data().data(), chunk.data().size());
  } else if (!IsZero(place, chunk.zeros())) {
    std::memset(place, 0, chunk.zeros());
    region->Flush(place, chunk.zeros());
  }
  return absl::OkStatus();
}

}  // namespace kamino::replica
