// The room for wraps' records: buckets that are free, and blocks of the heap
// that are to be released.
#ifndef KAMINO_LAB_WRAP_LOG_ROOM_H_
#define KAMINO_LAB_WRAP_LOG_ROOM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "lab/wrap/wrap.h"
#include "lab/wrap/wrap_layout.h"

namespace kamino::engine {

// Not thread-safe.
class LogRoom {
 public:
  // All buckets are free.
  explicit LogRoom(const WrapLayout& layout);

  // Leaves `kept` free ones for others; nothing: there are no more.
  std::optional<uint64_t> TakeBucket(size_t kept);

  // The wrap does not need its pieces any more: its buckets are free, its
  // blocks are to be released.
  void Give(const Wrap& wrap);
  // The same, of a wrap whose blocks are released already.
  void GiveBuckets(const Wrap& wrap);
  // The blocks are to be released.
  void GiveBlocks(absl::Span<const ObjectId> blocks);

  // Takes the blocks to be released out; EndRelease when they are, unless there
  // is none.
  std::vector<ObjectId> BeginRelease();
  void EndRelease();
  // Whether blocks are to be released, or are being.
  bool releasing() const { return !blocks_.empty() || releasing_ > 0; }

  // Number of times that buckets or blocks were given back.
  uint64_t given() const { return given_; }

 private:
  std::vector<uint64_t> free_;  // buckets
  std::vector<ObjectId> blocks_;
  size_t releasing_ = 0;  // threads between BeginRelease and EndRelease
  uint64_t given_ = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_WRAP_LOG_ROOM_H_
