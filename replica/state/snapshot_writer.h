// Writes a heap's content, while the chain continues, as a stream of bytes from
// which SnapshotReader builds a heap: to a joining node, or to a file.
//
// It copies pages. A first sweep takes each page; pages that were stored to
// since are taken again, until there are so few that all can be written between
// two log entries. Neither side interprets the pages.
#ifndef KAMINO_REPLICA_STATE_SNAPSHOT_WRITER_H_
#define KAMINO_REPLICA_STATE_SNAPSHOT_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/chain_id.h"
#include "engine/heap/block_map.h"
#include "engine/pmem/page_set.h"
#include "engine/pmem/tracked_region.h"
#include "replica/state/byte_sink.h"
#include "replica/state/snapshot_format.h"

namespace kamino::replica {

// Identifies the heap of a snapshot, and the heaps it can be read into.
struct SnapshotScope {
  ChainId chain_id = kOnlyChain;
  // Reserved: clusters have none yet, so all nodes leave zeros here.
  snapshot_format::ClusterUuid cluster = {};
  // The snapshot covers the region from here on; a multiple of 64.
  uint64_t begin = 0;
};

// Not thread-safe. The heap must not be torn when it is called. One writer per
// region at a time: it uses the region's tracking alone.
class SnapshotWriter {
 public:
  using Ranges = std::vector<std::pair<size_t, size_t>>;

  // Leaves out pages within `unused`, ascending ranges [first, second), as long
  // as nothing is stored there. The chain has executed mutation `sequence` so
  // far. The region must outlive the writer, which makes it track changes.
  SnapshotWriter(engine::TrackedRegion* region, const SnapshotScope& scope,
                 uint64_t sequence, const Ranges& unused = {});
  // Writes only changes: those pages, and later changes. `blocks` has the
  // changes of their blocks, now and later, and must outlive this.
  SnapshotWriter(engine::TrackedRegion* region, const SnapshotScope& scope,
                 uint64_t sequence, const engine::PageSet& pages,
                 const engine::BlockChanges* blocks);
  ~SnapshotWriter();

  // Only for changes: also writes those pages.
  void Add(const engine::PageSet& pages) { region_->AddDirty(pages); }

  // Heap bytes that must be written before the snapshot equals the current
  // heap.
  size_t BytesLeft() const;

  // Writes the next record, and the header before the first: together at most
  // snapshot_format::kMaxPieceBytes. The stream may be cut here into pieces of
  // limited size. Returns how many bytes of the heap that is; 0: none is left.
  // Errors are the sink's, and end the snapshot.
  absl::StatusOr<size_t> WriteRecord(ByteSink* sink);

  // Writes everything that is left, and the end: the snapshot is of the heap
  // after mutation `sequence`, the last one executed. Errors as WriteRecord's.
  absl::Status Finish(uint64_t sequence, ByteSink* sink);

 private:
  void SkipUnused();
  absl::Status Begin(ByteSink* sink);
  // Writes one record from the next bytes [from, to); returns how many it took.
  absl::StatusOr<size_t> WriteFrom(size_t from, size_t to, ByteSink* sink);
  absl::StatusOr<size_t> WriteDirtyPage(ByteSink* sink);
  absl::Status Put(snapshot_format::Record record, absl::string_view data,
                   ByteSink* sink);

  engine::TrackedRegion* const region_;
  const SnapshotScope scope_;
  const uint64_t begun_at_;
  const engine::BlockChanges* const blocks_ = nullptr;  // only for changes
  Ranges unused_;           // whole pages, the last first
  size_t unused_left_ = 0;  // bytes of them, not yet swept
  size_t swept_;            // everything before was written once
  size_t next_dirty_ = 0;   // page from which to look for dirty ones
  bool begun_ = false;      // the header is written
  uint64_t records_ = 0;
  uint64_t checksum_ = 0;  // of the bytes written
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_SNAPSHOT_WRITER_H_
