// Keeps a node's heap, ring and undo copy at one age: it checks at a start that
// they are, gives all of them the next stamp, and lets their applied marks
// follow the ring's (node/storage/media_age.h).
//
// Not thread-safe: as Storage, which owns it.
#ifndef KAMINO_NODE_STORAGE_COMMON_AGE_H_
#define KAMINO_NODE_STORAGE_COMMON_AGE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "node/storage/media_age.h"
#include "node/storage/stored_heap.h"
#include "node/storage/stored_ring.h"
#include "node/storage/stored_undo_copy.h"

namespace kamino::node {

class CommonAge {
 public:
  // `salt` is random for each start. The others must outlive it.
  CommonAge(StoredHeap* heap, StoredRing* ring, StoredUndoCopy* undo_copy,
            uint64_t salt);

  // For a new heap and ring.
  void Begin();
  // For existing ones: checks that the heap, the ring and, if something may
  // have to be rolled back, the undo copy, which it opens, are of the same age.
  // Only entries that both heap and ring mark applied count as applied. Errors
  // as those of MediaAge::Check.
  absl::Status Check();
  // Tells the ring which other regions are marked with it.
  void MarkWithRing();
  // Gives all regions the next stamp, and the node the next incarnation.
  void RenewStamp();

  // There is a new undo copy, which may be needed from now on.
  void AddUndoCopy();
  // The undo copy is not needed any more.
  void ForgetUndoCopy();

 private:
  absl::Status CheckUndoCopy();
  void FinishRenewal();
  MediaStamp Stamp() const;
  MediaAge::Ring AgeOfRing() const;

  StoredHeap* const heap_;
  StoredRing* const ring_;
  StoredUndoCopy* const undo_copy_;
  const uint64_t salt_;
  MediaAge heap_age_;
  std::optional<MediaAge> undo_copy_age_;  // while it may be needed
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_COMMON_AGE_H_
