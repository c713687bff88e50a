// A node's files: heap, operation ring and, at a head, the backup.
//
//   <data_dir>/heap.pmem    the objects and the intent log
//   <data_dir>/ring.pmem    the operation ring
//   <data_dir>/backup.pmem  made anew whenever the node becomes head
#ifndef KAMINO_HEAD_STORAGE_H_
#define KAMINO_HEAD_STORAGE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "engine/kamino/backup.h"
#include "engine/pmem/file_region.h"
#include "replica/operation_ring.h"

namespace kamino::head {

enum class BackupKind { kSimple, kDynamic };

struct StorageOptions {
  std::string data_dir;  // made when absent
  std::string cluster_id;
  std::string node_id;
  uint64_t heap_bytes = 0;
  uint64_t ring_bytes = 0;
  BackupKind backup = BackupKind::kDynamic;
  double alpha = 0.25;  // kDynamic: the backup's part of heap_bytes
  engine::PmemMode pmem = engine::PmemMode::kAuto;
};

// Not thread-safe: the core thread owns it once the node runs.
class Storage {
 public:
  // Makes the files, or opens those that are there and recovers the heap.
  // kFailedPrecondition: the files are of another cluster, node, size or
  // version, or another process has them open; kDataLoss: damaged;
  // kResourceExhausted: no space. Messages name the file and what to do.
  static absl::StatusOr<std::unique_ptr<Storage>> Open(StorageOptions options);

  engine::Heap* heap() { return heap_.get(); }
  replica::OperationRing* ring() { return ring_.get(); }
  const StorageOptions& options() const { return options_; }

  // Whether no operation has ever reached this node.
  bool empty() const { return ring_->received() == 0; }

  // An empty backup, in place of an earlier one, which must be gone.
  absl::StatusOr<std::unique_ptr<engine::Backup>> NewBackup();

 private:
  explicit Storage(StorageOptions options) : options_(std::move(options)) {}

  absl::Status CreateFiles();
  absl::Status OpenFiles();
  // Rolls back what this node, as a head, had not committed.
  absl::Status Recover();
  absl::Status CheckOwner() const;
  std::string Path(const char* name) const;
  std::string Label() const;

  const StorageOptions options_;
  std::unique_ptr<engine::FileRegion> heap_region_;
  std::unique_ptr<engine::FileRegion> ring_region_;
  std::unique_ptr<engine::FileRegion> backup_region_;
  std::unique_ptr<engine::Heap> heap_;
  std::unique_ptr<replica::OperationRing> ring_;
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_STORAGE_H_
