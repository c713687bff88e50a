// A node's log ring and the region that holds it, with the node's record and
// the count of its restarts, which lie in the same region.
//
// Not thread-safe: as Storage, which owns it.
#ifndef KAMINO_NODE_STORAGE_STORED_RING_H_
#define KAMINO_NODE_STORAGE_STORED_RING_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "engine/pmem/region.h"
#include "node/storage/media.h"
#include "node/storage/restart_count.h"
#include "node/storage/storage_options.h"
#include "replica/log/log_ring.h"
#include "replica/log/node_record.h"

namespace kamino::node {

class StoredRing {
 public:
  // Options and media must outlive the ring. Errors as those of Storage::Open.

  // An empty ring, which the caller publishes, and the first record.
  static absl::StatusOr<std::unique_ptr<StoredRing>> Create(
      const StorageOptions* options, Media* media, const engine::Heap& heap);
  // The existing ring beside `heap`.
  static absl::StatusOr<std::unique_ptr<StoredRing>> Open(
      const StorageOptions* options, Media* media, const engine::Heap& heap);

  // For error texts.
  std::string name() const { return media_->Name(Media::Part::kRing); }
  size_t bytes() const { return region_->size(); }
  replica::LogRing* ring() { return ring_.get(); }
  replica::NodeRecord* record() { return &*record_; }
  RestartCount* restarts() { return &*restarts_; }

  // Gives the ring the options' size, if it has another one, and keeps its
  // content.
  absl::Status Resize();

  // The undo copy is void, durably, and may be created anew.
  void EndUndoCopy();

 private:
  StoredRing(const StorageOptions* options, Media* media,
             const engine::HeapUuid& heap_uuid)
      : options_(*options), media_(media), heap_uuid_(heap_uuid) {}

  absl::Status CreateNew();
  absl::Status OpenExisting();
  // Replaces a ring of another mode, unless it was in a chain:
  // kFailedPrecondition.
  absl::Status ChooseMode();
  size_t MinBytes() const;
  absl::StatusOr<std::unique_ptr<replica::LogRing>> MakeRing(
      engine::Region* region) const;
  void CountRestarts();

  const StorageOptions& options_;
  Media* const media_;
  const engine::HeapUuid heap_uuid_;
  std::unique_ptr<engine::Region> region_;
  std::unique_ptr<replica::LogRing> ring_;
  std::optional<replica::NodeRecord> record_;
  std::optional<RestartCount> restarts_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_STORED_RING_H_
