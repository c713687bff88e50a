#include "engine/heap/open_snapshots.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

constexpr size_t kPieceBytes = 256u << 10;
// Approximate size of an entry in a generation's map.
constexpr uint64_t kEntryBytes = 48;
// A merge moves at most so many images at once; larger generations wait until
// all before them are closed.
constexpr size_t kMostMerged = 8192;

}  // namespace

// --- Space of images.

std::byte* OpenSnapshots::Arena::Take(size_t length) {
  if (length > left_) {
    // A large image gets a piece of its own; the current piece stays in use.
    const size_t piece = std::max(length, kPieceBytes);
    pieces_.push_back(std::make_unique_for_overwrite<std::byte[]>(piece));
    bytes_ += piece;
    if (piece > kPieceBytes || piece - length <= left_) {
      return pieces_.back().get();
    }
    next_ = pieces_.back().get();
    left_ = piece;
  }
  std::byte* const taken = next_;
  next_ += length;
  left_ -= length;
  return taken;
}

void OpenSnapshots::Arena::TakeOver(Arena* other) {
  std::move(other->pieces_.begin(), other->pieces_.end(),
            std::back_inserter(pieces_));
  bytes_ += other->bytes_;
  *other = Arena();
}

uint64_t OpenSnapshots::Generation::bytes() const {
  return arena.bytes() + images.size() * kEntryBytes;
}

// --- Snapshots.

OpenSnapshots::~OpenSnapshots() { EndAll("the heap is closed"); }

absl::StatusOr<std::unique_ptr<Snapshot>> OpenSnapshots::Open(
    uint64_t sequence) {
  CHECK(generations_.empty() || generations_.back()->sequence <= sequence)
      << "sequence " << sequence << " has been";
  if (generations_.empty() || generations_.back()->sequence < sequence) {
    if (generations_.size() >= options_.max_open) {
      return absl::ResourceExhaustedError(absl::StrCat(
          options_.max_open,
          " snapshots are open, which is the limit; retry once one "
          "is closed"));
    }
    auto generation = std::make_shared<Generation>();
    generation->owner = this;
    generation->sequence = sequence;
    generations_.push_back(std::move(generation));
  }
  ++opened_;
  ++generations_.back()->open;
  return absl::WrapUnique(new Snapshot(generations_.back()));
}

void OpenSnapshots::Keep(const Intent& intent) {
  Generation& newest = *generations_.back();
  const auto [image, is_new] = newest.images.try_emplace(intent.object);
  if (!is_new) return;
  if (intent.kind != IntentKind::kAlloc) {
    const auto payload = heap_->Payload(intent.object);
    if (!payload.ok()) return;  // no such object; the change will fail
    std::byte* const kept = newest.arena.Take(payload->size());
    std::memcpy(kept, payload->data(), payload->size());
    image->second = {kept, payload->size()};
  }
  uint64_t bytes = 0;
  for (const auto& generation : generations_) bytes += generation->bytes();
  while (!generations_.empty() && bytes > options_.max_bytes) {
    bytes -= generations_.front()->bytes();
    EndOldest(absl::AbortedError(absl::StrCat(
        "the snapshot at ", generations_.front()->sequence,
        " has ended: the changes since then exceed the ",
        options_.max_bytes >> 20,
        " MiB kept for snapshots; take it again, faster or while less is "
        "written, or raise this limit")));
  }
}

absl::StatusOr<absl::Span<const std::byte>> OpenSnapshots::Read(
    const Generation& generation, ObjectId id) const {
  // The newest ones are asked last, as most reads do not need them.
  auto at = std::lower_bound(generations_.begin(), generations_.end(),
                             generation.sequence,
                             [](const auto& each, uint64_t sequence) {
                               return each->sequence < sequence;
                             });
  for (; at != generations_.end(); ++at) {
    const auto image = (*at)->images.find(id);
    if (image == (*at)->images.end()) continue;
    if (image->second.data() != nullptr) return image->second;
    return absl::NotFoundError(
        absl::StrCat("no object had the id ", id, " at ", generation.sequence));
  }
  return heap_->Payload(id);
}

// --- Ends.

void OpenSnapshots::Close(Generation* generation) {
  if (--generation->open > 0) return;
  const auto at = std::find_if(
      generations_.begin(), generations_.end(),
      [generation](const auto& each) { return each.get() == generation; });
  if (at != generations_.begin() && generation->images.size() <= kMostMerged) {
    MergeIntoPrevious(at);
  }
  DropUnused();
}

void OpenSnapshots::MergeIntoPrevious(Generations::iterator generation) {
  Generation& previous = **std::prev(generation);
  for (const auto& [id, image] : (*generation)->images) {
    previous.images.try_emplace(id, image);  // an earlier one counts
  }
  previous.arena.TakeOver(&(*generation)->arena);
  generations_.erase(generation);
}

void OpenSnapshots::DropUnused() {
  while (!generations_.empty() && generations_.front()->open == 0) {
    generations_.pop_front();
  }
}

void OpenSnapshots::EndOldest(const absl::Status& why) {
  Generation& oldest = *generations_.front();
  aborted_ += oldest.open;
  oldest.owner = nullptr;
  oldest.ended = why;
  oldest.images = {};
  oldest.arena = {};
  generations_.pop_front();
  DropUnused();
}

void OpenSnapshots::EndAll(absl::string_view why) {
  while (!generations_.empty()) {
    EndOldest(absl::AbortedError(absl::StrCat("the snapshot at ",
                                              generations_.front()->sequence,
                                              " has ended: ", why)));
  }
}

OpenSnapshotsStats OpenSnapshots::stats() const {
  OpenSnapshotsStats stats;
  for (const auto& generation : generations_) {
    stats.open += generation->open;
    stats.bytes += generation->bytes();
    stats.images += generation->images.size();
  }
  stats.opened = opened_;
  stats.aborted = aborted_;
  return stats;
}

// --- Reading.

Snapshot::~Snapshot() {
  if (generation_->owner != nullptr) {
    generation_->owner->Close(generation_.get());
  }
}

absl::StatusOr<absl::Span<const std::byte>> Snapshot::Read(ObjectId id) {
  if (generation_->owner == nullptr) return generation_->ended;
  return generation_->owner->Read(*generation_, id);
}

void Snapshot::Prefetch(ObjectId id) const {
  if (generation_->owner != nullptr) generation_->owner->heap_->Prefetch(id, 0);
}

}  // namespace kamino::engine
