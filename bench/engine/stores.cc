#include "bench/engine/stores.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/harness/clock.h"
#include "bench/pmem_shim/pmem_shim.h"
#include "engine/baselines/archapt/archapt_mover.h"
#include "engine/baselines/archapt/archapt_options.h"
#include "engine/baselines/archapt/archapt_store.h"
#include "engine/baselines/heap_store.h"
#include "engine/baselines/open_store.h"
#include "engine/baselines/rewind/rewind_checkpointer.h"
#include "engine/baselines/rewind/rewind_options.h"
#include "engine/baselines/rewind/rewind_store.h"
#include "engine/baselines/wrap/wrap_retirer.h"
#include "engine/baselines/wrap/wrap_store.h"
#include "engine/forwarding_store.h"
#include "engine/heap/heap.h"
#include "engine/kamino/backup_propagator.h"
#include "engine/kamino/kamino_store.h"
#include "engine/pmem/file_region.h"

namespace kamino::bench {
namespace {

using engine::ArchaptMover;
using engine::ArchaptOptions;
using engine::ArchaptStore;
using engine::Backup;
using engine::BackupPropagator;
using engine::CountingRegion;
using engine::DelayRegion;
using engine::FileRegion;
using engine::Heap;
using engine::HeapStore;
using engine::KaminoStore;
using engine::ObjectId;
using engine::PmemCounts;
using engine::Region;
using engine::RewindCheckpointer;
using engine::RewindStore;
using engine::Transaction;
using engine::TransactionalStore;
using engine::WrapRetirer;
using engine::WrapStore;

// Overhead of an empty heap, with room: a log of 1/16 of it, but no more than
// 16 MiB. libpmemobj takes more.
constexpr uint64_t kHeapOverhead = 6u << 20;
constexpr uint64_t kMaxLog = 16u << 20;
constexpr uint64_t kPmemobjOverhead = 32u << 20;
constexpr uint64_t kPage = 4096;

constexpr char kSimple[] = "kamino-simple";
constexpr char kDynamic[] = "kamino-dynamic";

// The preloaded library, if it was. Thread-safe as that is.
class PmemShim {
 public:
  static PmemShim& Get() {
    static PmemShim shim;
    return shim;
  }

  bool loaded() const { return order_ != nullptr; }
  void Order(const engine::PmemDelays& delays, Watch watch) {
    if (!loaded()) return;
    ordered_ = {watch == Watch::kCounts ? uint64_t{1} : 0, delays.drain_ns,
                delays.line_ns, 0};
    order_(&ordered_);
  }
  void Drop(bool drop) {
    if (!loaded()) return;
    ordered_.drops = drop ? 1 : 0;
    order_(&ordered_);
  }
  PmemCounts Counts() const {
    PmemShimCounts counts;
    count_(&counts);
    return {counts.lines, counts.drains};
  }

 private:
  PmemShim()
      : order_(reinterpret_cast<PmemShimOrder>(
            dlsym(RTLD_DEFAULT, kPmemShimOrder))),
        count_(reinterpret_cast<PmemShimCount>(
            dlsym(RTLD_DEFAULT, kPmemShimCount))) {}

  const PmemShimOrder order_;
  const PmemShimCount count_;
  PmemShimOrders ordered_;
};

// A file that is a region, slower and watched if asked for.
class PoolFile {
 public:
  static absl::StatusOr<std::unique_ptr<PoolFile>> Create(
      const std::string& path, uint64_t bytes, const StoreSpec& spec,
      Watch watch) {
    ASSIGN_OR_RETURN(std::unique_ptr<Region> file,
                     FileRegion::Create(path, bytes, engine::PmemMode::kForce));
    DelayRegion* slow = nullptr;
    if (spec.delays.any() || spec.drains_vary) {
      auto delayed =
          std::make_unique<DelayRegion>(std::move(file), spec.delays);
      slow = delayed.get();
      file = std::move(delayed);
    }
    return absl::WrapUnique(new PoolFile(std::move(file), slow, watch));
  }

  Region* region() const {
    if (counting_ != nullptr) return counting_.get();
    if (staged_ != nullptr) return staged_.get();
    if (dirtiness_ != nullptr) return dirtiness_.get();
    return file_.get();
  }
  // Only for a file that is slowed.
  void SetDrain(uint64_t nanos) { slow_->SetDrain(nanos); }
  DirtinessRegion* dirtiness() const { return dirtiness_.get(); }
  StagedRegion* staged() const { return staged_.get(); }
  PmemCounts counts() const {
    return counting_ != nullptr ? counting_->counts() : PmemCounts{};
  }
  PmemCounts background_counts() const {
    return counting_ != nullptr ? counting_->background_counts() : PmemCounts{};
  }

 private:
  PoolFile(std::unique_ptr<Region> file, DelayRegion* slow, Watch watch)
      : file_(std::move(file)), slow_(slow) {
    if (watch == Watch::kCounts) {
      counting_ = absl::make_unique<CountingRegion>(file_.get());
    }
    if (watch == Watch::kStages) {
      staged_ = absl::make_unique<StagedRegion>(file_.get());
    }
    if (watch == Watch::kDirtiness) {
      dirtiness_ = absl::make_unique<DirtinessRegion>(file_.get());
    }
  }

  const std::unique_ptr<Region> file_;
  DelayRegion* const slow_;  // file_, or null
  // At most one of the three.
  std::unique_ptr<CountingRegion> counting_;
  std::unique_ptr<StagedRegion> staged_;
  std::unique_ptr<DirtinessRegion> dirtiness_;
};

// A scheme of ours with all that it stands on. engine::OpenStore makes the
// same; here regions may be watched, and the backup can be asked.
class Bundle final : public engine::ForwardingStore {
 public:
  static absl::StatusOr<std::unique_ptr<Bundle>> Create(const StoreSpec& spec,
                                                        const std::string& path,
                                                        uint64_t bytes,
                                                        Watch watch);

  // REWIND's, over what another's region holds.
  static absl::StatusOr<std::unique_ptr<Bundle>> Copy(
      const RewindTuning& rewind, const StoreSpec& spec, const Region& region,
      const std::string& path, double* nanos);

  bool has_backup() const { return kamino_ != nullptr; }
  // Null where it is another scheme.
  const ArchaptStore* archapt() const { return archapt_.get(); }
  engine::BackupStats backup_stats() const { return kamino_->stats().backup; }
  const Heap* heap() const {
    return wrap_ != nullptr ? wrap_->heap() : heap_.get();
  }
  void SetDrain(uint64_t nanos) {
    heap_file_->SetDrain(nanos);
    if (backup_file_ != nullptr) backup_file_->SetDrain(nanos);
  }
  Dirtiness dirtiness() const { return heap_file_->dirtiness()->dirtiness(); }
  void DoStages(const DoneStages& done) {
    heap_file_->staged()->Do(done.heap);
    if (backup_file_ != nullptr) backup_file_->staged()->Do(done.backup);
  }
  PmemCounts counts() const {
    PmemCounts sum = heap_file_->counts();
    if (backup_file_ != nullptr) sum += backup_file_->counts();
    return sum;
  }
  PmemCounts background_counts() const {
    PmemCounts sum = heap_file_->background_counts();
    if (backup_file_ != nullptr) sum += backup_file_->background_counts();
    return sum;
  }

 private:
  Bundle() = default;

  // Where dirtiness is watched: of objects, not of logs.
  void CountObjectsFrom(uint64_t begin) {
    if (heap_file_->dirtiness() != nullptr) {
      heap_file_->dirtiness()->CountFrom(begin);
    }
  }
  absl::Status OpenArchapt(const StoreSpec& spec, const std::string& path,
                           uint64_t bytes, Watch watch);
  absl::Status OpenKamino(const StoreSpec& spec, const std::string& path,
                          Watch watch);

  // Whichever there is.
  TransactionalStore& below() const override {
    if (kamino_ != nullptr) return *kamino_;
    if (rewind_ != nullptr) return *rewind_;
    if (wrap_ != nullptr) return *wrap_;
    if (archapt_ != nullptr) return *archapt_;
    return *heap_store_;
  }

  std::unique_ptr<PoolFile> heap_file_;
  std::unique_ptr<PoolFile> backup_file_;
  std::unique_ptr<Heap> heap_;  // null: the store has its own
  // One of the five.
  std::unique_ptr<HeapStore> heap_store_;
  std::unique_ptr<KaminoStore> kamino_;
  std::unique_ptr<RewindStore> rewind_;
  std::unique_ptr<WrapStore> wrap_;
  std::unique_ptr<ArchaptStore> archapt_;
  // Threads that work beside the store.
  std::unique_ptr<BackupPropagator> propagator_;
  std::unique_ptr<RewindCheckpointer> checkpointer_;
  std::unique_ptr<WrapRetirer> retirer_;
  std::unique_ptr<ArchaptMover> mover_;
};

uint64_t HeapBytes(uint64_t bytes) {
  const uint64_t sum = bytes + std::min(bytes / 15, kMaxLog) + kHeapOverhead;
  return (sum + kPage - 1) / kPage * kPage;
}

// Has room for sums as well, and for a log beside the objects.
uint64_t ArchaptBytes(uint64_t bytes) {
  const uint64_t objects = HeapBytes(bytes + bytes / 6);
  const uint64_t log =
      std::min<uint64_t>(objects / 3, 2 * ArchaptOptions().queue_bytes);
  return (objects + log + kPage) / kPage * kPage;
}

uint64_t BackupBytes(const StoreSpec& spec, uint64_t heap_bytes) {
  return spec.scheme == kDynamic ? engine::DynamicBackupBytes(
                                       heap_bytes, spec.alpha.value_or(kAlpha))
                                 : engine::SimpleBackupBytes(heap_bytes);
}

bool IsPmemobj(const StoreSpec& spec) {
  return spec.scheme == "undo-object" || spec.scheme == "undo-range";
}

uint64_t PmemobjBytes(uint64_t bytes) {
  return HeapBytes(bytes) + kPmemobjOverhead;
}

bool IsKamino(const StoreSpec& spec) {
  return spec.scheme == kSimple || spec.scheme == kDynamic;
}

absl::StatusOr<std::unique_ptr<Bundle>> Bundle::Create(const StoreSpec& spec,
                                                       const std::string& path,
                                                       uint64_t bytes,
                                                       Watch watch) {
  auto bundle = absl::WrapUnique(new Bundle);
  if (spec.scheme == engine::kArchaptName) {
    RETURN_IF_ERROR(bundle->OpenArchapt(spec, path, bytes, watch));
    return bundle;
  }
  ASSIGN_OR_RETURN(bundle->heap_file_,
                   PoolFile::Create(path, HeapBytes(bytes), spec, watch));
  if (spec.scheme == engine::wrap_format::kLabel) {
    ASSIGN_OR_RETURN(bundle->wrap_,
                     WrapStore::Create(bundle->heap_file_->region()));
    bundle->CountObjectsFrom(bundle->wrap_->heap()->objects_begin());
    if (!IsWrapAlone(spec)) {
      bundle->retirer_ = absl::make_unique<WrapRetirer>(bundle->wrap_.get());
    }
    return bundle;
  }
  const auto rewind = RewindOf(spec);
  ASSIGN_OR_RETURN(
      bundle->heap_,
      Heap::Create(bundle->heap_file_->region(),
                   rewind.has_value() ? rewind->options.Name() : spec.scheme));
  bundle->CountObjectsFrom(bundle->heap_->objects_begin());
  const auto heap_scheme = engine::HeapSchemeNamed(spec.scheme);
  if (heap_scheme.has_value()) {
    ASSIGN_OR_RETURN(bundle->heap_store_,
                     HeapStore::Open(*heap_scheme, bundle->heap_.get()));
    return bundle;
  }
  if (rewind.has_value()) {
    ASSIGN_OR_RETURN(bundle->rewind_,
                     RewindStore::Open(rewind->options, bundle->heap_.get()));
    if (!rewind->options.force && !rewind->alone) {
      bundle->checkpointer_ =
          absl::make_unique<RewindCheckpointer>(bundle->rewind_.get());
    }
    return bundle;
  }
  RETURN_IF_ERROR(bundle->OpenKamino(spec, path, watch));
  return bundle;
}

absl::StatusOr<std::unique_ptr<Bundle>> Bundle::Copy(const RewindTuning& rewind,
                                                     const StoreSpec& spec,
                                                     const Region& region,
                                                     const std::string& path,
                                                     double* nanos) {
  auto bundle = absl::WrapUnique(new Bundle);
  ASSIGN_OR_RETURN(bundle->heap_file_, PoolFile::Create(path, region.size(),
                                                        spec, Watch::kNothing));
  std::memcpy(bundle->heap_file_->region()->base(), region.base(),
              region.size());
  const uint64_t begin = Ticks();
  ASSIGN_OR_RETURN(bundle->heap_, Heap::Open(bundle->heap_file_->region()));
  ASSIGN_OR_RETURN(bundle->rewind_,
                   RewindStore::Open(rewind.options, bundle->heap_.get()));
  *nanos = static_cast<double>(Ticks() - begin) * NanosPerTick();
  return bundle;
}

std::vector<std::pair<std::string, double>> DetailsOf(
    const engine::ArchaptStats& stats) {
  return {{"lines of objects", static_cast<double>(stats.flushed_lines)},
          {"lines skipped", static_cast<double>(stats.skipped_lines)},
          {"lines replaced", static_cast<double>(stats.replaced_lines)},
          {"lines of sums", static_cast<double>(stats.sums_lines)},
          {"matrices", static_cast<double>(stats.matrices)},
          {"matrices dissolved", static_cast<double>(stats.dissolved)}};
}

absl::Status Bundle::OpenArchapt(const StoreSpec& spec, const std::string& path,
                                 uint64_t bytes, Watch watch) {
  const ArchaptOptions options = *ArchaptOf(spec);
  ASSIGN_OR_RETURN(heap_file_,
                   PoolFile::Create(path, ArchaptBytes(bytes), spec, watch));
  Region* const region = heap_file_->region();
  ASSIGN_OR_RETURN(
      heap_, Heap::CreateWithLog(region, engine::ArchaptLabel(options),
                                 ArchaptLogBytes(options, region->size())));
  CountObjectsFrom(heap_->objects_begin());
  ASSIGN_OR_RETURN(archapt_, ArchaptStore::Open(options, heap_.get()));
  mover_ = absl::make_unique<ArchaptMover>(archapt_.get());
  return absl::OkStatus();
}

absl::Status Bundle::OpenKamino(const StoreSpec& spec, const std::string& path,
                                Watch watch) {
  ASSIGN_OR_RETURN(auto file,
                   PoolFile::Create(absl::StrCat(path, ".backup"),
                                    BackupBytes(spec, heap_->region()->size()),
                                    spec, watch));
  backup_file_ = std::move(file);
  Region* const region = backup_file_->region();
  ASSIGN_OR_RETURN(auto backup, spec.scheme == kDynamic
                                    ? CreateDynamicBackup(heap_.get(), region)
                                    : CreateSimpleBackup(heap_.get(), region));
  ASSIGN_OR_RETURN(kamino_, KaminoStore::Open(heap_.get(), std::move(backup)));
  propagator_ = absl::make_unique<BackupPropagator>(kamino_.get());
  return absl::OkStatus();
}

}  // namespace

bool CanWatch(const StoreSpec& spec) { return !IsPmemobj(spec); }

bool HasPmemShim() { return PmemShim::Get().loaded(); }

bool CanCount(const StoreSpec& spec) { return CanWatch(spec) || HasPmemShim(); }

void DropPmemobjFlushes(bool drop) { PmemShim::Get().Drop(drop); }

absl::StatusOr<OpenedStore> OpenForBench(const StoreSpec& spec,
                                         const std::string& path,
                                         uint64_t bytes, Watch watch) {
  OpenedStore opened;
  if (IsPmemobj(spec)) {
    engine::StoreOptions options;
    options.mode = engine::PmemMode::kForce;
    auto store =
        engine::OpenStore(spec.scheme, path, PmemobjBytes(bytes), options);
    if (!store.ok()) return store.status();
    opened.store = *std::move(store);
    PmemShim::Get().Order(spec.delays, watch);
    if (HasPmemShim() && spec.drains_vary) {
      opened.set_drain_ns = [delays = spec.delays, watch](uint64_t nanos) {
        PmemShim::Get().Order({nanos, delays.line_ns}, watch);
      };
    }
    if (HasPmemShim() && watch == Watch::kCounts) {
      opened.counts = [] { return PmemShim::Get().Counts(); };
      // It does nothing beside transactions.
      opened.background_counts = [] { return PmemCounts(); };
    }
    return opened;
  }
  ASSIGN_OR_RETURN(auto bundle, Bundle::Create(spec, path, bytes, watch));
  Bundle* const ours = bundle.get();
  if (ours->has_backup()) {
    opened.backup = [ours] { return ours->backup_stats(); };
  }
  opened.heap = ours->heap();
  if (const ArchaptStore* const archapt = ours->archapt()) {
    opened.details = [archapt] { return DetailsOf(archapt->stats()); };
  }
  if (spec.drains_vary) {
    opened.set_drain_ns = [ours](uint64_t nanos) { ours->SetDrain(nanos); };
  }
  if (watch == Watch::kCounts) {
    opened.counts = [ours] { return ours->counts(); };
    opened.background_counts = [ours] { return ours->background_counts(); };
  }
  if (watch == Watch::kDirtiness) {
    opened.dirtiness = [ours] { return ours->dirtiness(); };
  }
  if (watch == Watch::kStages) {
    opened.do_stages = [ours](const DoneStages& done) { ours->DoStages(done); };
  }
  opened.store = std::move(bundle);
  return opened;
}

absl::StatusOr<Reopened> ReopenAfterCrash(const StoreSpec& spec,
                                          const OpenedStore& crashed,
                                          const std::string& path) {
  const auto rewind = RewindOf(spec);
  if (!rewind.has_value() || !rewind->alone || crashed.heap == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(spec.Name(), " may do something while it is copied"));
  }
  Reopened reopened;
  ASSIGN_OR_RETURN(auto bundle,
                   Bundle::Copy(*rewind, spec, *crashed.heap->region(), path,
                                &reopened.nanos));
  reopened.opened.heap = bundle->heap();
  reopened.opened.store = std::move(bundle);
  return reopened;
}

uint64_t FileBytes(const StoreSpec& spec, uint64_t bytes) {
  if (IsPmemobj(spec)) return PmemobjBytes(bytes);
  if (spec.scheme == engine::kArchaptName) return ArchaptBytes(bytes);
  const uint64_t heap_bytes = HeapBytes(bytes);
  return heap_bytes + (IsKamino(spec) ? BackupBytes(spec, heap_bytes) : 0);
}

}  // namespace kamino::bench
