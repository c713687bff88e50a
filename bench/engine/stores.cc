#include "bench/engine/stores.h"

#include <thread>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "engine/heap/heap.h"
#include "engine/kamino/backup_applier.h"
#include "engine/kamino/kamino_store.h"
#include "engine/pmem/file_region.h"

namespace kamino::bench {
namespace {

using engine::Backup;
using engine::BackupApplier;
using engine::CountingRegion;
using engine::FileRegion;
using engine::Heap;
using engine::KaminoStore;
using engine::ObjectId;
using engine::PmemCounts;
using engine::Region;
using engine::Transaction;

// What an empty heap takes for itself, with room.
constexpr uint64_t kHeapOverhead = 32u << 20;
constexpr uint64_t kPage = 4096;

// A file that is a region, counted if asked for.
class PoolFile {
 public:
  static absl::StatusOr<std::unique_ptr<PoolFile>> Create(
      const std::string& path, uint64_t bytes, bool counted) {
    auto file = FileRegion::Create(path, bytes, engine::PmemMode::kForce);
    if (!file.ok()) return file.status();
    return absl::WrapUnique(new PoolFile(*std::move(file), counted));
  }

  Region* region() const {
    return counting_ != nullptr ? static_cast<Region*>(counting_.get())
                                : file_.get();
  }
  PmemCounts counts() const {
    return counting_ != nullptr ? counting_->counts() : PmemCounts{};
  }

 private:
  PoolFile(std::unique_ptr<FileRegion> file, bool counted)
      : file_(std::move(file)) {
    if (counted) counting_ = absl::make_unique<CountingRegion>(file_.get());
  }

  const std::unique_ptr<FileRegion> file_;
  std::unique_ptr<CountingRegion> counting_;
};

// A KaminoStore with all that it needs.
class KaminoBundle final : public engine::TransactionalStore {
 public:
  static absl::StatusOr<std::unique_ptr<KaminoBundle>> Create(
      const StoreSpec& spec, const std::string& path, uint64_t bytes,
      bool counted);

  absl::string_view scheme() const override { return store_->scheme(); }
  std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) override {
    return store_->Begin(lock_wait);
  }
  ObjectId root() const override { return store_->root(); }
  void Quiesce() override {
    while (store_->stats().backup_pending > 0) std::this_thread::yield();
  }
  uint64_t bytes_used() const override { return store_->bytes_used(); }

  engine::BackupStats backup_stats() const { return store_->stats().backup; }
  PmemCounts counts() const {
    PmemCounts sum = heap_file_->counts();
    return sum += backup_file_->counts();
  }

 private:
  KaminoBundle() = default;

  std::unique_ptr<PoolFile> heap_file_;
  std::unique_ptr<PoolFile> backup_file_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<KaminoStore> store_;
  std::unique_ptr<BackupApplier> applier_;
};

uint64_t HeapBytes(uint64_t bytes) {
  return (bytes + kHeapOverhead + kPage - 1) / kPage * kPage;
}

uint64_t BackupBytes(const StoreSpec& spec, uint64_t heap_bytes) {
  return spec.alpha.has_value()
             ? engine::DynamicBackupBytes(heap_bytes, *spec.alpha)
             : engine::SimpleBackupBytes(heap_bytes);
}

absl::StatusOr<std::unique_ptr<KaminoBundle>> KaminoBundle::Create(
    const StoreSpec& spec, const std::string& path, uint64_t bytes,
    bool counted) {
  auto bundle = absl::WrapUnique(new KaminoBundle);
  const uint64_t heap_bytes = HeapBytes(bytes);
  auto file =
      PoolFile::Create(absl::StrCat(path, ".heap"), heap_bytes, counted);
  if (!file.ok()) return file.status();
  bundle->heap_file_ = *std::move(file);
  file = PoolFile::Create(absl::StrCat(path, ".backup"),
                          BackupBytes(spec, heap_bytes), counted);
  if (!file.ok()) return file.status();
  bundle->backup_file_ = *std::move(file);
  auto heap = Heap::Create(bundle->heap_file_->region(), "bench");
  if (!heap.ok()) return heap.status();
  bundle->heap_ = *std::move(heap);
  Region* const region = bundle->backup_file_->region();
  auto backup = spec.alpha.has_value()
                    ? CreateDynamicBackup(bundle->heap_.get(), region)
                    : CreateSimpleBackup(bundle->heap_.get(), region);
  if (!backup.ok()) return backup.status();
  auto store = KaminoStore::Open(bundle->heap_.get(), *std::move(backup));
  if (!store.ok()) return store.status();
  bundle->store_ = *std::move(store);
  bundle->applier_ = absl::make_unique<BackupApplier>(bundle->store_.get());
  return bundle;
}

}  // namespace

std::string StoreSpec::Name() const {
  return alpha.has_value() ? absl::StrCat(scheme, "@", *alpha) : scheme;
}

std::vector<StoreSpec> AllStores() {
  return {{"kamino-simple", {}}, {"kamino-dynamic", 0.5}};
}

bool Counts(const StoreSpec&) { return true; }

absl::StatusOr<OpenStore> OpenForBench(const StoreSpec& spec,
                                       const std::string& path, uint64_t bytes,
                                       bool counted) {
  auto bundle = KaminoBundle::Create(spec, path, bytes, counted);
  if (!bundle.ok()) return bundle.status();
  const KaminoBundle* const kamino = bundle->get();
  OpenStore open;
  open.backup = [kamino] { return kamino->backup_stats(); };
  if (counted) open.counts = [kamino] { return kamino->counts(); };
  open.store = *std::move(bundle);
  return open;
}

uint64_t FileBytes(const StoreSpec& spec, uint64_t bytes) {
  const uint64_t heap_bytes = HeapBytes(bytes);
  return heap_bytes + BackupBytes(spec, heap_bytes);
}

}  // namespace kamino::bench
