// Which pages of a node's heap changed since some mutations, for members that
// are away and hold the rest (replica/catch_up_history.h).
//
// One set of pages for each moment, of what changed from then until the next
// one; so each page that is stored to is marked once. And of the blocks that
// became allocated or free since the first moment what they are now, as how
// free space is cut differs between nodes (engine/heap/block_map.h). A moment
// takes a bit for each page of the heap, which is 64 KiB for 2 GiB, and blocks
// 16 bytes for each page that they change in.
//
// Not thread-safe.
#ifndef KAMINO_NODE_STORAGE_CHANGED_PAGES_H_
#define KAMINO_NODE_STORAGE_CHANGED_PAGES_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "engine/heap/block_map.h"
#include "engine/heap/heap.h"
#include "engine/pmem/page_set.h"
#include "engine/pmem/tracked_region.h"
#include "engine/transaction.h"
#include "replica/log_entry.h"
#include "replica/log_ring.h"

namespace kamino::node {

// Adds the pages that it may store to. kDataLoss: none of the heap's.
absl::Status AddPagesOf(const engine::Intent& intent, engine::PageSet* pages);

class ChangedPages {
 public:
  // Both must outlive it.
  ChangedPages(engine::TrackedRegion* region, engine::Heap* heap)
      : region_(region), heap_(heap) {}
  ~ChangedPages() { Forget(); }

  // As those of replica::StateCopy.
  void Keep(uint64_t since, const replica::LogRing& ring);
  void ForgetBefore(uint64_t since);
  void Forget();
  bool KnowsAfter(uint64_t sequence) const;

  // What changed after that mutation, and maybe others. KnowsAfter it.
  engine::PageSet After(uint64_t sequence) const;
  // Of blocks, from the first moment on. While something is kept.
  const engine::BlockChanges* blocks() const { return &*blocks_; }

 private:
  struct Moment {
    uint64_t since;
    std::unique_ptr<engine::PageSet> pages;  // until the next moment
  };

  // What the entry has changed, if it was executed, or may have.
  absl::Status Add(const replica::LogEntry& entry, bool executed);

  engine::TrackedRegion* const region_;
  engine::Heap* const heap_;
  std::deque<Moment> moments_;
  std::optional<engine::BlockChanges> blocks_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_CHANGED_PAGES_H_
