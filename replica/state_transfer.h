// The bytes of a state transfer: what the tail sends of its heap, and what a
// node that joins does with them.
//
// The copy is one of pages. A first sweep takes each of them; pages that were
// stored to since are taken again, until there are so few that they can all be
// sent between two operations. Neither side looks at what is in them.
#ifndef KAMINO_REPLICA_STATE_TRANSFER_H_
#define KAMINO_REPLICA_STATE_TRANSFER_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "engine/pmem/region.h"
#include "engine/pmem/tracked_region.h"
#include "kamino/internal/v1/chain.pb.h"

namespace kamino::replica {

// Not thread-safe.
class StateSender {
 public:
  // Small enough for memory that is used again and again: larger ones would be
  // mapped and unmapped each time.
  static constexpr size_t kChunkBytes = 64u << 10;
  // Of zeros, which take no room in a message.
  static constexpr size_t kMaxZeroBytes = 16u << 20;

  using Ranges = std::vector<std::pair<size_t, size_t>>;

  // Sends what lies at `begin`, a multiple of 64, and after it, but for pages
  // within `unused`, ascending ranges [first, second), as long as nothing is
  // stored there. The region must outlive the sender, which has it track what
  // changes.
  StateSender(engine::TrackedRegion* region, size_t begin,
              const Ranges& unused = {});
  ~StateSender();

  // As in StateCopy.
  size_t BytesLeft() const;
  bool NextChunk(kamino::internal::v1::StateChunk* chunk);

 private:
  void SkipUnused();
  // Of the next bytes [from, to) which of it is one chunk.
  void Fill(size_t from, size_t to, kamino::internal::v1::StateChunk* chunk);

  engine::TrackedRegion* const region_;
  const size_t begin_;
  Ranges unused_;           // whole pages, the last first
  size_t unused_left_ = 0;  // bytes of them, not yet swept
  size_t swept_;            // everything before was sent once
  size_t next_dirty_ = 0;   // page from which to look for dirty ones
};

// Stores a chunk; durable with the region's next Drain. kDataLoss: damaged, or
// not within [begin, region size).
absl::Status StoreChunk(const kamino::internal::v1::StateChunk& chunk,
                        engine::Region* region, size_t begin);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_TRANSFER_H_
