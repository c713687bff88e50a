#include "lab/wrap/log_room.h"

#include <utility>

namespace kamino::engine {

LogRoom::LogRoom(const WrapLayout& layout) {
  // The first one is taken first.
  for (size_t i = layout.buckets(); i > 0; --i) {
    free_.push_back(layout.BucketAt(i - 1));
  }
}

std::optional<uint64_t> LogRoom::TakeBucket(size_t kept) {
  if (free_.size() <= kept) return std::nullopt;
  const uint64_t bucket = free_.back();
  free_.pop_back();
  return bucket;
}

void LogRoom::Give(const Wrap& wrap) {
  GiveBuckets(wrap);
  for (const LogPiece& piece : wrap.pieces) {
    if (piece.block != kNullObject) blocks_.push_back(piece.block);
  }
}

void LogRoom::GiveBuckets(const Wrap& wrap) {
  ++given_;
  for (const LogPiece& piece : wrap.pieces) {
    if (piece.block == kNullObject) free_.push_back(piece.offset);
  }
}

void LogRoom::GiveBlocks(absl::Span<const ObjectId> blocks) {
  blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
}

std::vector<ObjectId> LogRoom::BeginRelease() {
  if (!blocks_.empty()) ++releasing_;
  return std::exchange(blocks_, {});
}

void LogRoom::EndRelease() {
  --releasing_;
  ++given_;
}

}  // namespace kamino::engine
