// Builds a heap from a snapshot: checks each record before it stores it.
#ifndef KAMINO_REPLICA_STATE_SNAPSHOT_READER_H_
#define KAMINO_REPLICA_STATE_SNAPSHOT_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/heap/block_map.h"
#include "engine/pmem/region.h"
#include "replica/state/byte_sink.h"
#include "replica/state/snapshot_format.h"
#include "replica/state/snapshot_writer.h"

namespace kamino::replica {

// Takes the bytes of one snapshot, cut into pieces anywhere. Keeps less than a
// record of them. Not thread-safe.
//
// It stores a record only if the checksums of it and those before it match; but
// the heap is not valid before the end. The caller must ensure that an
// incomplete heap counts as invalid.
class SnapshotReader final : public ByteSink {
 public:
  // Stores the part of `scope` into `region`, which must outlive this.
  // `blocks`: takes only changes, into a heap that has the rest and those
  // allocated blocks. The heap becomes the chain's by the stores and by
  // HeapTiling::Retile of the remaining blocks at the end. Must outlive this.
  SnapshotReader(engine::Region* region, const SnapshotScope& scope,
                 engine::BlockMap* blocks = nullptr)
      : region_(region), scope_(scope), blocks_(blocks) {}

  // The stores are durable with the region's next Drain. kDataLoss: damaged, or
  // not a snapshot. kFailedPrecondition: of another chain, cluster, heap size
  // or version; nothing was stored. Messages say where it is wrong. After an
  // error it takes no more.
  absl::Status Append(absl::string_view bytes) override;

  // The mutation after which the heap is the chain's, once everything has
  // arrived.
  std::optional<uint64_t> end() const { return end_; }
  // The same, at the end of the bytes. kDataLoss: there is more.
  absl::StatusOr<uint64_t> Finish() const;

  // Heap bytes stored so far; some more than once.
  uint64_t bytes_stored() const { return bytes_stored_; }
  // Snapshot bytes kept until more arrive.
  size_t bytes_kept() const { return kept_.size(); }

 private:
  // The size of the part with which `bytes` begin, as far as they show it.
  absl::StatusOr<size_t> PartBytes(absl::string_view bytes) const;
  absl::Status TakePart(absl::string_view part);
  absl::Status Take(absl::string_view bytes);
  absl::Status CheckHeader(const snapshot_format::Header& header) const;
  absl::Status CheckRecord(const snapshot_format::Record& record) const;
  absl::Status CheckPlace(const snapshot_format::Record& record) const;
  void TakeBlocks(const snapshot_format::Record& record,
                  absl::string_view data);
  void Store(const snapshot_format::Record& record, absl::string_view data);
  absl::Status Damaged(absl::string_view what) const;

  engine::Region* const region_;
  const SnapshotScope scope_;
  engine::BlockMap* const blocks_;
  absl::Status status_;    // of all appended so far
  std::string kept_;       // the beginning of a part
  bool begun_ = false;     // the header has come
  uint64_t begun_at_ = 0;  // the mutation, by the header
  uint64_t taken_ = 0;     // bytes of whole parts
  uint64_t records_ = 0;
  uint64_t checksum_ = 0;  // of what was taken
  uint64_t bytes_stored_ = 0;
  std::optional<uint64_t> end_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_SNAPSHOT_READER_H_
