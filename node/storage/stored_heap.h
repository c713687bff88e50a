// A node's heap and the region that holds it, with the scrub record that lies
// in the same region.
//
// Not thread-safe: as Storage, which owns it.
#ifndef KAMINO_NODE_STORAGE_STORED_HEAP_H_
#define KAMINO_NODE_STORAGE_STORED_HEAP_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "engine/pmem/tracked_region.h"
#include "node/storage/media.h"
#include "node/storage/storage_options.h"
#include "replica/state/scrub_record.h"

namespace kamino::node {

class StoredHeap {
 public:
  // A new heap, which the caller publishes. Errors as those of Storage::Open.
  static absl::StatusOr<std::unique_ptr<StoredHeap>> Create(
      const StorageOptions& options, Media* media);
  // An existing heap; only its superblock is checked, and that it belongs to
  // the node of `options`. Errors as those of Storage::Open.
  static absl::StatusOr<std::unique_ptr<StoredHeap>> Open(
      const StorageOptions& options, Media* media);

  // For error texts.
  const std::string& name() const { return name_; }
  engine::TrackedRegion* region() { return region_.get(); }
  engine::Heap* heap() { return heap_.get(); }
  replica::ScrubRecord* scrub_record() { return &scrub_record_; }

  // Forgets, durably, the transactions in the heap's log.
  void EmptyLog();

 private:
  StoredHeap(std::string name, std::unique_ptr<engine::TrackedRegion> region,
             std::unique_ptr<engine::Heap> heap);

  const std::string name_;
  const std::unique_ptr<engine::TrackedRegion> region_;
  const std::unique_ptr<engine::Heap> heap_;
  replica::ScrubRecord scrub_record_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_STORED_HEAP_H_
