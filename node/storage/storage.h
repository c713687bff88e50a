// A node's persistent state: heap, log ring with the node's record, and undo
// copy.
//
// StoredHeap, StoredRing and StoredUndoCopy open or create one region each.
// CommonAge keeps them at one age, and StartRecovery rolls back what a crash
// interrupted.
#ifndef KAMINO_NODE_STORAGE_STORAGE_H_
#define KAMINO_NODE_STORAGE_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "engine/kamino/undo_copy.h"
#include "engine/pmem/deferred_drains.h"
#include "engine/pmem/tracked_region.h"
#include "node/storage/common_age.h"
#include "node/storage/media.h"
#include "node/storage/restart_count.h"
#include "node/storage/storage_options.h"
#include "node/storage/stored_heap.h"
#include "node/storage/stored_ring.h"
#include "node/storage/stored_undo_copy.h"
#include "replica/log/log_ring.h"
#include "replica/log/node_record.h"
#include "replica/state/local_undo.h"
#include "replica/state/scrub_record.h"

namespace kamino::node {

// Not thread-safe: the core thread owns it once the node runs.
class Storage final : public replica::LocalUndoSource {
 public:
  // Creates the regions, or opens existing ones and recovers the heap. The
  // incarnation is one higher than last time. kFailedPrecondition: the regions
  // are of another cluster, node, size or version, not of the same age, or open
  // in another process; or this node has crashed too often; kDataLoss: damaged;
  // kResourceExhausted: no space. Messages name the region and the remedy.
  static absl::StatusOr<std::unique_ptr<Storage>> Open(
      StorageOptions options, std::unique_ptr<Media> media);

  engine::Heap* heap() { return heap_->heap(); }
  engine::TrackedRegion* heap_region() { return heap_->region(); }
  replica::LogRing* ring() { return ring_->ring(); }
  replica::NodeRecord* record() { return ring_->record(); }
  replica::ScrubRecord* scrub_record() { return heap_->scrub_record(); }
  RestartCount* restarts() { return ring_->restarts(); }
  const StorageOptions& options() const { return options_; }
  size_t ring_bytes() const { return ring_->bytes(); }
  // Size of a new undo copy.
  size_t undo_copy_bytes() const { return undo_copy_.NewBytes(); }

  // An empty undo copy that replaces an earlier one, which must be gone.
  // Nothing may still need to be rolled back from that one.
  absl::StatusOr<std::unique_ptr<engine::UndoCopy>> NewUndoCopy();

  // By the undo copy, as long as this node does not execute as head: until
  // another one is created, or the heap is received.
  absl::StatusOr<replica::LocalUndo*> BeginLocalUndo() override;
  replica::LocalUndo* local_undo() override { return local_undo_.get(); }

  // From now on, durably, a state transfer determines the heap.
  void BeginReceiving();
  // The transfer is done: the heap is the chain's after mutation `sequence`,
  // and the ring continues from there. kDataLoss: it is not a heap. On a disk
  // this becomes durable only with the next update of the record, which says
  // kReceiving until then: after a crash before it, the node receives the heap
  // again. A node that follows the chain is not a member yet, so it need not
  // sync each log entry that it executes. If it did, it would fall behind the
  // chain, and the chain would wait for it once it is a member.
  absl::Status FinishReceiving(uint64_t sequence);
  // Ends the deferral of drains, for example to measure the medium.
  void EndDeferredDrains() { drains_.End(); }

 private:
  Storage(StorageOptions options, std::unique_ptr<Media> media);

  absl::Status Create();
  absl::Status OpenExisting();
  // For a heap of another size than the options say. A heap that was in a chain
  // is kept: kFailedPrecondition.
  absl::Status BeginAnewIfUnused();
  // Durable on return; while drains are deferred, with the next update.
  void Record(const replica::NodeState& state);

  const StorageOptions options_;
  engine::DeferredDrains drains_;  // of all regions
  const std::unique_ptr<Media> media_;
  std::unique_ptr<StoredHeap> heap_;
  std::unique_ptr<StoredRing> ring_;
  StoredUndoCopy undo_copy_;
  std::optional<CommonAge> age_;  // of the three above
  std::unique_ptr<engine::UndoCopy> local_undo_copy_;
  std::unique_ptr<replica::LocalUndo> local_undo_;  // by local_undo_copy_
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_STORAGE_H_
