// Writes a heap's content, while the chain goes on, as a stream of bytes that
// SnapshotReader makes a heap of: to a node that joins, or to a file.
//
// The copy is one of pages. A first sweep takes each of them; pages that were
// stored to since are taken again, until there are so few that they can all be
// written between two log entries. Neither side looks at what is in them.
#ifndef KAMINO_REPLICA_SNAPSHOT_WRITER_H_
#define KAMINO_REPLICA_SNAPSHOT_WRITER_H_

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
#include "replica/byte_sink.h"
#include "replica/snapshot_format.h"

namespace kamino::replica {

// Which heap a snapshot is of, and may become one of.
struct SnapshotScope {
  ChainId chain_id = kOnlyChain;
  // Reserved: clusters have none yet, so all nodes leave zeros here.
  snapshot_format::ClusterUuid cluster = {};
  // The snapshot has what lies here in the region, a multiple of 64, and all
  // that follows.
  uint64_t begin = 0;
};

// Not thread-safe. Nothing may be half executed when it is called. One writer a
// region at a time: it has the region's tracking for itself.
class SnapshotWriter {
 public:
  using Ranges = std::vector<std::pair<size_t, size_t>>;

  // Leaves out pages within `unused`, ascending ranges [first, second), as long
  // as nothing is stored there. The chain has executed mutation `sequence` so
  // far. The region must outlive the writer, which has it track what changes.
  SnapshotWriter(engine::TrackedRegion* region, const SnapshotScope& scope,
                 uint64_t sequence, const Ranges& unused = {});
  // Writes changes alone: those pages, and what changes from here on. `blocks`
  // has what became of their blocks, now and later, and must outlive this.
  SnapshotWriter(engine::TrackedRegion* region, const SnapshotScope& scope,
                 uint64_t sequence, const engine::PageSet& pages,
                 const engine::BlockChanges* blocks);
  ~SnapshotWriter();

  // Only of changes: those pages are written as well.
  void Add(const engine::PageSet& pages) { region_->AddDirty(pages); }

  // Of the heap, that have to be written so that the snapshot is of the heap
  // as it is now.
  size_t BytesLeft() const;

  // Writes the next record, and the header before the first: together at most
  // snapshot_format::kMaxPieceBytes. The stream may be cut here into pieces of
  // limited size. Returns how many bytes of the heap that is; 0: none is left.
  // Errors are the sink's, and the snapshot's end.
  absl::StatusOr<size_t> WriteRecord(ByteSink* sink);

  // Writes all that is left, and the end: the snapshot is of the heap after
  // mutation `sequence`, which is the last one executed. Errors likewise.
  absl::Status Finish(uint64_t sequence, ByteSink* sink);

 private:
  void SkipUnused();
  absl::Status Begin(ByteSink* sink);
  // Of the next bytes [from, to) as much as is one record; returns how much.
  absl::StatusOr<size_t> WriteFrom(size_t from, size_t to, ByteSink* sink);
  absl::StatusOr<size_t> WriteDirtyPage(ByteSink* sink);
  absl::Status Put(snapshot_format::Record record, absl::string_view data,
                   ByteSink* sink);

  engine::TrackedRegion* const region_;
  const SnapshotScope scope_;
  const uint64_t begun_at_;
  const engine::BlockChanges* const blocks_ = nullptr;  // of changes alone
  Ranges unused_;           // whole pages, the last first
  size_t unused_left_ = 0;  // bytes of them, not yet swept
  size_t swept_;            // everything before was written once
  size_t next_dirty_ = 0;   // page from which to look for dirty ones
  bool begun_ = false;      // the header is written
  uint64_t records_ = 0;
  uint64_t checksum_ = 0;  // of what is written
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_SNAPSHOT_WRITER_H_
