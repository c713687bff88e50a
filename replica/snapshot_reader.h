// Makes a heap of a snapshot: checks each record and only then stores it.
#ifndef KAMINO_REPLICA_SNAPSHOT_READER_H_
#define KAMINO_REPLICA_SNAPSHOT_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/heap/block_map.h"
#include "engine/pmem/region.h"
#include "replica/byte_sink.h"
#include "replica/snapshot_format.h"
#include "replica/snapshot_writer.h"

namespace kamino::replica {

// Takes the bytes of one snapshot, cut into pieces anywhere. Keeps less than a
// record of them, whatever they say. Not thread-safe.
//
// Nothing is stored of a record that is not the one which was written here, by
// its checksum and those before it; but the heap is none before the end. What
// leaves nothing valid behind is for the caller to see to.
class SnapshotReader final : public ByteSink {
 public:
  // Stores into `region`, which must outlive this, what is of `scope`.
  // `blocks`: takes changes alone, into a heap that has the rest and those
  // allocated blocks, which becomes the chain's by what is stored and by
  // Heap::Retile of what is left of them at the end. Must outlive this.
  SnapshotReader(engine::Region* region, const SnapshotScope& scope,
                 engine::BlockMap* blocks = nullptr)
      : region_(region), scope_(scope), blocks_(blocks) {}

  // What is stored is durable with the region's next Drain.
  // kDataLoss: damaged, or no snapshot. kFailedPrecondition: of another chain,
  // cluster, size of heap or version; nothing was stored. Messages say where it
  // is wrong. No more is taken after an error.
  absl::Status Append(absl::string_view bytes) override;

  // The mutation after which the heap is the chain's, once all has come.
  std::optional<uint64_t> end() const { return end_; }
  // The same, at the end of the bytes. kDataLoss: there is more.
  absl::StatusOr<uint64_t> Finish() const;

  // Of the heap, stored so far; some more than once.
  uint64_t bytes_stored() const { return bytes_stored_; }
  // Of the snapshot, kept until more comes.
  size_t bytes_kept() const { return kept_.size(); }

 private:
  // Bytes of the part that `bytes` begin with, as far as they tell.
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
  uint64_t checksum_ = 0;  // of what is taken
  uint64_t bytes_stored_ = 0;
  std::optional<uint64_t> end_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_SNAPSHOT_READER_H_
