// A node's persistent state: heap, log ring with the node's record, and a
// head's undo copy: the engine's class Backup, under a name that operators do
// not confuse with their own backups.
#ifndef KAMINO_NODE_STORAGE_STORAGE_H_
#define KAMINO_NODE_STORAGE_STORAGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/chain_id.h"
#include "base/chain_mode.h"
#include "base/undo_copy_kind.h"
#include "engine/heap/heap.h"
#include "engine/kamino/backup.h"
#include "engine/pmem/deferred_drains.h"
#include "engine/pmem/tracked_region.h"
#include "node/storage/media.h"
#include "node/storage/media_age.h"
#include "node/storage/restart_count.h"
#include "replica/log/log_ring.h"
#include "replica/log/node_record.h"
#include "replica/state/local_undo.h"
#include "replica/state/scrub_record.h"

namespace kamino::node {

struct StorageOptions {
  std::string cluster_id;
  ChainId chain_id = kOnlyChain;
  // The chain's, fixed: files of another mode are refused.
  ChainMode mode = ChainMode::kKamino;
  std::string node_id;
  uint64_t heap_bytes = 0;
  uint64_t ring_bytes = 0;
  UndoCopyKind undo_copy = UndoCopyKind::kDynamic;
  double alpha = 0.25;  // kDynamic: the undo copy's part of heap_bytes
  // Allocates the undo copy at the start, so that becoming head neither waits
  // for space nor fails for lack of it.
  bool reserve_undo_copy = true;
  // A new heap's incarnation; not 0. A real node draws it at random.
  uint64_t first_incarnation = 1;
  // After so many consecutive unplanned ends soon after the start it is not
  // opened. 0: no limit.
  uint32_t restart_limit = 0;
  // The machine's boot id; 0: unknown. A process that ended with its machine
  // did not crash.
  uint64_t boot = 0;
  // Makes the stamp of this start unique. A real node draws it at random.
  uint64_t salt = 1;
  // For tests: smaller regions than a real node's, and a log area of that size.
  // 0: as the heap decides.
  uint64_t tiny_log_bytes = 0;
};

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

  engine::Heap* heap() { return heap_.get(); }
  engine::TrackedRegion* heap_region() { return heap_region_.get(); }
  replica::LogRing* ring() { return ring_.get(); }
  replica::NodeRecord* record() { return &*record_; }
  replica::ScrubRecord* scrub_record() { return &*scrub_record_; }
  RestartCount* restarts() { return &*restarts_; }
  const StorageOptions& options() const { return options_; }
  size_t ring_bytes() const { return ring_region_->size(); }
  // Size of a new undo copy.
  size_t undo_copy_bytes() const;

  // An empty undo copy that replaces an earlier one, which must be gone.
  // Nothing may still need to be rolled back from that one.
  absl::StatusOr<std::unique_ptr<engine::Backup>> NewUndoCopy();

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
  absl::Status OpenHeap();
  absl::Status OpenRing();
  absl::StatusOr<std::unique_ptr<replica::LogRing>> MakeRing(
      engine::Region* region) const;
  // For a heap of another size than the options say. A heap that was in a chain
  // is kept: kFailedPrecondition.
  absl::Status BeginAnewIfUnused();
  // Resizes the ring to the options' size and keeps its content.
  absl::Status ResizeRing();
  // Checks that the heap, the ring and a head's undo copy are of the same age.
  // Only entries that both heap and ring mark applied count as applied.
  absl::Status CheckAge();
  absl::Status OpenUndoCopy();
  // Gives all regions the next stamp, and the node the next incarnation.
  void RenewStamp();
  void FinishRenewal();
  MediaStamp Stamp() const;
  MediaAge::Ring AgeOfRing() const;
  // Says which other regions are marked with the ring.
  void MarkWithRing();
  void ForgetUndoCopyAge();
  // The undo copy is void, durably, and may be created anew.
  void EndUndoCopy();
  // Rolls back what this node, as a head, had not committed.
  absl::Status Recover();
  absl::Status RecoverHead();
  absl::Status RollBack();
  // The same for entries that it was executing as a replica.
  absl::Status RecoverReplica();
  // `done`: the rollback from the undo copy, which is void from then on.
  absl::Status FinishTakingBack(const absl::Status& done);
  absl::StatusOr<std::unique_ptr<engine::Backup>> OpenBackup();
  // Entries with a commit record are applied.
  absl::Status KeepCommitted(uint64_t last_sequence);
  // Durable on return; while drains are deferred, with the next update.
  void Record(const replica::NodeState& state);
  absl::Status CheckOwner() const;
  absl::StatusOr<std::unique_ptr<engine::Region>> MakeUndoCopyRegion();
  void EmptyLog();
  std::string Label() const;
  // Adds the part's name.
  absl::Status Annotate(const absl::Status& status, Media::Part part) const;
  size_t MinRingBytes() const;

  const StorageOptions options_;
  engine::DeferredDrains drains_;  // of all regions
  const std::unique_ptr<Media> media_;
  std::unique_ptr<engine::TrackedRegion> heap_region_;
  std::unique_ptr<engine::Region> ring_region_;
  std::unique_ptr<engine::Region> undo_copy_region_;
  std::unique_ptr<engine::Heap> heap_;
  std::optional<MediaAge> heap_age_;
  std::optional<MediaAge> undo_copy_age_;  // while it may be needed
  std::unique_ptr<replica::LogRing> ring_;
  std::optional<replica::NodeRecord> record_;
  std::optional<RestartCount> restarts_;
  std::optional<replica::ScrubRecord> scrub_record_;
  std::unique_ptr<engine::Backup> local_backup_;
  std::unique_ptr<replica::LocalUndo> local_undo_;  // by local_backup_
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_STORAGE_H_
