#include "head/storage.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "engine/kamino/kamino_store.h"
#include "glog/logging.h"

namespace kamino::head {
namespace {

using engine::Backup;
using engine::FileRegion;
using engine::Heap;
using engine::KaminoStore;
using replica::OperationRing;

constexpr char kHeapFile[] = "heap.pmem";
constexpr char kRingFile[] = "ring.pmem";
constexpr char kBackupFile[] = "backup.pmem";
constexpr char kUnfinished[] = ".new";

absl::Status Annotate(const absl::Status& status, absl::string_view what) {
  return absl::Status(status.code(),
                      absl::StrCat(what, ": ", status.message()));
}

absl::Status FileError(const std::error_code& error, absl::string_view what,
                       const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", what, " ", path, ": ", error.message()));
}

absl::Status Rename(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  return error ? FileError(error, "rename", from) : absl::OkStatus();
}

absl::Status Remove(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  return error ? FileError(error, "remove", path) : absl::OkStatus();
}

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

std::string Storage::Path(const char* name) const {
  return absl::StrCat(options_.data_dir, "/", name);
}

std::string Storage::Label() const {
  return absl::StrCat(options_.cluster_id, "/", options_.node_id);
}

absl::StatusOr<std::unique_ptr<Storage>> Storage::Open(StorageOptions options) {
  auto storage = absl::WrapUnique(new Storage(std::move(options)));
  std::error_code error;
  std::filesystem::create_directories(storage->options_.data_dir, error);
  if (error) return FileError(error, "make", storage->options_.data_dir);
  // The heap's name appears last, so a heap that is there is whole.
  absl::Status status = Exists(storage->Path(kHeapFile))
                            ? storage->OpenFiles()
                            : storage->CreateFiles();
  if (!status.ok()) return status;
  return storage;
}

absl::Status Storage::CreateFiles() {
  const std::string heap_path = Path(kHeapFile);
  const std::string ring_path = Path(kRingFile);
  for (const std::string& path :
       {heap_path + kUnfinished, ring_path + kUnfinished, ring_path,
        Path(kBackupFile)}) {
    if (absl::Status removed = Remove(path); !removed.ok()) return removed;
  }
  auto heap_region = FileRegion::Create(heap_path + kUnfinished,
                                        options_.heap_bytes, options_.pmem);
  if (!heap_region.ok()) return heap_region.status();
  heap_region_ = std::move(*heap_region);
  auto heap = Heap::Create(heap_region_.get(), Label());
  if (!heap.ok()) return Annotate(heap.status(), heap_path);
  heap_ = std::move(*heap);
  auto ring_region = FileRegion::Create(ring_path + kUnfinished,
                                        options_.ring_bytes, options_.pmem);
  if (!ring_region.ok()) return ring_region.status();
  ring_region_ = std::move(*ring_region);
  auto ring = OperationRing::Create(ring_region_.get(), heap_->uuid());
  if (!ring.ok()) return Annotate(ring.status(), ring_path);
  ring_ = std::move(*ring);
  absl::Status renamed = Rename(ring_path + kUnfinished, ring_path);
  if (!renamed.ok()) return renamed;
  return Rename(heap_path + kUnfinished, heap_path);
}

absl::Status Storage::OpenFiles() {
  const std::string heap_path = Path(kHeapFile);
  const std::string ring_path = Path(kRingFile);
  auto heap_region = FileRegion::Open(heap_path, options_.pmem);
  if (!heap_region.ok()) return heap_region.status();
  heap_region_ = std::move(*heap_region);
  auto heap = Heap::Open(heap_region_.get());
  if (!heap.ok()) return Annotate(heap.status(), heap_path);
  heap_ = std::move(*heap);
  if (absl::Status owner = CheckOwner(); !owner.ok()) return owner;
  if (absl::Status done = Recover(); !done.ok()) {
    return Annotate(done, heap_path);
  }
  if (!Exists(ring_path)) {
    return absl::FailedPreconditionError(
        absl::StrCat(ring_path, " is missing though ", heap_path,
                     " is there; restore it, or begin with an empty folder"));
  }
  auto ring_region = FileRegion::Open(ring_path, options_.pmem);
  if (!ring_region.ok()) return ring_region.status();
  ring_region_ = std::move(*ring_region);
  auto ring = OperationRing::Open(ring_region_.get(), heap_->uuid());
  if (!ring.ok()) return Annotate(ring.status(), ring_path);
  ring_ = std::move(*ring);
  return absl::OkStatus();
}

absl::Status Storage::CheckOwner() const {
  if (heap_->label() != Label()) {
    return absl::FailedPreconditionError(absl::StrCat(
        Path(kHeapFile), " belongs to ", heap_->label(), ", not to ", Label(),
        "; check --cluster_id, --node_id and --data_dir"));
  }
  if (heap_region_->size() != options_.heap_bytes) {
    return absl::FailedPreconditionError(
        absl::StrCat(Path(kHeapFile), " has ", heap_region_->size() >> 20,
                     " MiB but --heap_mb says ", options_.heap_bytes >> 20,
                     "; a heap cannot change its size"));
  }
  return absl::OkStatus();
}

absl::Status Storage::Recover() {
  const std::string path = Path(kBackupFile);
  if (!Exists(path)) return heap_->Load();  // was never head
  auto region = FileRegion::Open(path, options_.pmem);
  if (!region.ok()) return region.status();
  auto backup = engine::OpenSimpleBackup(heap_.get(), region->get());
  if (!backup.ok()) {
    backup = engine::OpenDynamicBackup(heap_.get(), region->get());
  }
  if (!backup.ok()) return Annotate(backup.status(), path);
  return KaminoStore::Open(heap_.get(), std::move(*backup)).status();
}

absl::StatusOr<std::unique_ptr<Backup>> Storage::NewBackup() {
  const std::string path = Path(kBackupFile);
  backup_region_.reset();
  if (absl::Status removed = Remove(path); !removed.ok()) return removed;
  const bool simple = options_.backup == BackupKind::kSimple;
  const size_t bytes =
      simple ? engine::SimpleBackupBytes(options_.heap_bytes)
             : engine::DynamicBackupBytes(options_.heap_bytes, options_.alpha);
  auto region = FileRegion::Create(path, bytes, options_.pmem);
  if (!region.ok()) return region.status();
  backup_region_ = std::move(*region);
  auto backup =
      simple ? engine::CreateSimpleBackup(heap_.get(), backup_region_.get())
             : engine::CreateDynamicBackup(heap_.get(), backup_region_.get());
  if (!backup.ok()) return Annotate(backup.status(), path);
  return backup;
}

}  // namespace kamino::head
