// The pages of a node's heap that changed since some mutations, for absent
// members that hold the rest (replica/repair/catch_up_history.h).
//
// There is one set of pages for each moment, with the changes until the next
// one; so each stored page is marked once. Of blocks that became allocated or
// free since the first moment it keeps the current state, because nodes cut
// free space differently (engine/heap/block_map.h). A moment takes a bit for
// each page of the heap, which is 64 KiB for 2 GiB, and blocks 16 bytes for
// each page that they change in.
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
#include "replica/log/log_entry.h"
#include "replica/log/log_ring.h"

namespace kamino::node {

// Adds the pages that it may store to. kDataLoss: not a range of the heap.
absl::Status AddPagesOf(const engine::Intent& intent, engine::PageSet* pages);

class ChangedPages {
 public:
  // Both must outlive it.
  ChangedPages(engine::TrackedRegion* region, engine::Heap* heap)
      : region_(region), heap_(heap) {}
  ~ChangedPages() { Forget(); }

  // As in replica::StateCopy.
  void Keep(uint64_t since, const replica::LogRing& ring);
  void ForgetBefore(uint64_t since);
  void Forget();
  bool KnowsAfter(uint64_t sequence) const;

  // The pages that changed after that mutation, perhaps others too. Requires
  // KnowsAfter.
  engine::PageSet After(uint64_t sequence) const;
  // Changes of blocks, from the first moment on. Only while something is kept.
  const engine::BlockChanges* blocks() const { return &*blocks_; }

 private:
  struct Moment {
    uint64_t since;
    std::unique_ptr<engine::PageSet> pages;  // until the next moment
  };

  // Adds the entry's changes, whether it was executed or may have been.
  absl::Status Add(const replica::LogEntry& entry, bool executed);

  engine::TrackedRegion* const region_;
  engine::Heap* const heap_;
  std::deque<Moment> moments_;
  std::optional<engine::BlockChanges> blocks_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_CHANGED_PAGES_H_
