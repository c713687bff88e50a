// A heap of objects on a region; docs/formats/heap.md describes its layout.
//
// An object is a 16-byte header followed by its payload; its id is the offset
// of the payload. Only the header tells whether the object is allocated, so two
// transactions that allocate share no line and no lock on media. Load rebuilds
// the volatile knowledge of free space by a walk over all headers.
//
// Invariants:
//   1. Headers on media tile the object area at every instant: a walk by
//      capacities from its start meets its end, whatever a crash lost.
//   2. A block is in one of three states: free (the allocator's), reserved
//      (taken, free on media), allocated (on media too).
//   3. Freeing on media and giving back to the allocator are two steps, so that
//      the space of a freed object is not reused while its lock is held.
//
// Thread-safe, as far as callers do not touch the same object.
#ifndef KAMINO_ENGINE_HEAP_HEAP_H_
#define KAMINO_ENGINE_HEAP_HEAP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/heap/block_states.h"
#include "engine/heap/heap_format.h"
#include "engine/pmem/region.h"
#include "engine/prefetch.h"
#include "engine/transaction.h"

namespace kamino::engine {

class Allocator;
class WalkMarks;

using HeapUuid = std::array<uint8_t, 16>;

struct HeapStats {
  uint64_t bytes_total = 0;  // object area
  uint64_t bytes_used = 0;   // allocated or reserved, headers included
  uint64_t objects = 0;      // allocated or reserved
};

// The last free space, which the heap's owner reserves (Allocator).
struct HeapReserve {
  uint64_t bytes_kept = 0;   // its size, as KeepReserve set it
  uint64_t bytes_whole = 0;  // free in pieces of a page of the index or more
  uint64_t cuts = 0;         // blocks cut from it since the heap was opened
};

class Heap {
 public:
  static constexpr size_t kMinBytes = 8u << 20;
  // With a log area of a given size: enough for tests, not for large objects.
  static constexpr size_t kMinTinyBytes = 64u << 10;
  static constexpr uint32_t kRootBytes = 256;

  // Makes the region an empty, loaded heap with a zeroed root object and a
  // fresh uuid. `label` (at most 127 bytes) names the heap's owner, which
  // compares it at open. The region must outlive the heap. kInvalidArgument:
  // region or label of a wrong size.
  static absl::StatusOr<std::unique_ptr<Heap>> Create(Region* region,
                                                      absl::string_view label);

  // The same with a log area of a given size, in a region of kMinTinyBytes or
  // more: a multiple of 4,096, at least kMinLogBytes and at most half of the
  // region (asserted).
  static absl::StatusOr<std::unique_ptr<Heap>> CreateWithLog(
      Region* region, absl::string_view label, size_t log_bytes);

  // Checks only the superblock: recovery comes first, then Load.
  // kFailedPrecondition: not a heap, of another version, truncated or grown;
  // kDataLoss: the superblock is damaged. The message says which.
  static absl::StatusOr<std::unique_ptr<Heap>> Open(Region* region);

  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // Walks the headers to find free space, and forgets reservations. No
  // transaction may be running. kDataLoss: the headers do not tile.
  absl::Status Load();
  // Also tells which of `wanted` (ascending) are blocks: bytes within an object
  // can look like a header.
  struct Block {
    uint32_t capacity = 0;  // of the payload, in bytes
    bool allocated = false;
  };
  using Blocks = absl::flat_hash_map<ObjectId, Block>;
  absl::StatusOr<Blocks> Load(absl::Span<const ObjectId> wanted);

  Region* region() const { return region_; }
  const HeapUuid& uuid() const { return uuid_; }
  const std::string& label() const { return label_; }
  ObjectId root() const { return root_; }
  // Offset of the part that nodes of a chain have in common: the objects,
  // including headers. Earlier bytes are each heap's own.
  size_t objects_begin() const {
    return objects_begin_ - heap_format::kUnitBytes;
  }

  // The scheme's log; its own classes define the content.
  absl::Span<std::byte> log_area() const;

  // The payload of an allocated object, whole capacity. kNotFound: no object
  // has this id. Any number may be asked for, but bytes within an object can
  // look like a header: only ids that structures on the heap hold are certain.
  absl::StatusOr<absl::Span<std::byte>> Payload(ObjectId id) const;

  // The same; empty: no object has this id.
  absl::Span<std::byte> FindPayload(ObjectId id) const;

  // Loads the object's header, and the line at `offset` of its payload, into
  // the cache. (For stores past the cache a caller passes a later offset: that
  // loads the page's translation, but not the lines.) Any numbers are allowed.
  void Prefetch(ObjectId id, size_t offset) const {
    // As a number: an id from a damaged page may be no address in the region.
    const uintptr_t payload = reinterpret_cast<uintptr_t>(base_) + id;
    PrefetchToRead(payload - sizeof(heap_format::BlockHeader));
    PrefetchToRead(payload + offset);
  }

  // As Payload for a block that may be reserved or freed; `id` must be the
  // start of a block (asserted).
  absl::Span<std::byte> BlockPayload(ObjectId id) const;

  // Takes free space for a payload of at least `size` bytes, which must be in
  // [1, kMaxObjectBytes] (asserted), rounded up to a SizeClass. On media it
  // stays free, durably a block of its own. `may_cut`: takes it from
  // KeepReserve's space if there is no other. kResourceExhausted: full.
  absl::StatusOr<ObjectId> Reserve(uint32_t size, bool may_cut = true);

  // Takes exactly the block that another node's heap has at `id` with a payload
  // capacity of `capacity` bytes. kDataLoss: it is not free here.
  absl::Status ReserveAt(ObjectId id, uint32_t capacity);

  // Gives a reserved block, or one that was marked free and drained, to the
  // allocator.
  void Release(ObjectId id);

  // Keeps the last `bytes` of free space from now on, even if fewer are free:
  // Reserve takes all other space first, and counts the blocks that it cuts out
  // of this. No other operation observes it, and no trace of it is on media. 0,
  // the initial value, keeps none.
  void KeepReserve(uint64_t bytes);
  HeapReserve reserve() const;

  // The states of blocks on media.
  BlockStates& states() { return states_; }

  // Free ranges of at least `bytes`, free on media too, with meaningless
  // content: [first, second) of each, without headers, ascending.
  std::vector<std::pair<size_t, size_t>> UnusedRanges(size_t bytes) const;

  // The end of the last block.
  ObjectId objects_end() const { return objects_end_; }
  // For a walk piece by piece (engine/kamino/range_walk.h).
  WalkMarks& marks();

  HeapStats stats() const;

 private:
  // With a checked superblock.
  Heap(Region* region, const heap_format::Superblock& superblock);

  Region* const region_;
  std::byte* const base_;  // the region's
  HeapUuid uuid_{};
  std::string label_;
  const ObjectId root_;
  const uint64_t objects_begin_;
  const uint64_t objects_end_;
  BlockStates states_;
  const std::unique_ptr<Allocator> allocator_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_HEAP_HEAP_H_
