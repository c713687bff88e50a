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
#include "engine/baselines/open_store.h"
#include "engine/baselines/scheme.h"
#include "engine/forwarding_store.h"
#include "engine/heap/heap.h"
#include "engine/pmem/file_region.h"
#include "glog/logging.h"

namespace kamino::bench {
namespace {

using engine::CountingRegion;
using engine::DelayRegion;
using engine::FileRegion;
using engine::PmemCounts;
using engine::Region;
using engine::TransactionalStore;

// libpmemobj takes more than a heap of ours.
constexpr uint64_t kPmemobjOverhead = 32u << 20;

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

// A store's files.
class PoolFiles final : public engine::StoreRegions {
 public:
  PoolFiles(std::string path, uint64_t bytes, StoreSpec spec, Watch watch)
      : path_(std::move(path)),
        bytes_(bytes),
        spec_(std::move(spec)),
        watch_(watch) {}

  absl::StatusOr<Region*> OpenHeap() override {
    if (heap_ == nullptr) RETURN_IF_ERROR(MakeHeap());
    return heap_->region();
  }
  absl::StatusOr<Region*> OpenCopy(uint64_t bytes) override {
    ASSIGN_OR_RETURN(copy_, PoolFile::Create(absl::StrCat(path_, ".backup"),
                                             bytes, spec_, watch_));
    return copy_->region();
  }
  absl::Status MakeHeap() {
    ASSIGN_OR_RETURN(heap_, PoolFile::Create(path_, bytes_, spec_, watch_));
    return absl::OkStatus();
  }

  PoolFile& heap() const { return *heap_; }
  PoolFile* copy() const { return copy_.get(); }

 private:
  const std::string path_;
  const uint64_t bytes_;
  const StoreSpec spec_;
  const Watch watch_;
  std::unique_ptr<PoolFile> heap_;
  std::unique_ptr<PoolFile> copy_;  // null: the store has no undo copy
};

// A store on files that can be watched. engine::OpenStore makes the same on
// files that cannot.
class WatchedStore final : public engine::ForwardingStore {
 public:
  // `fresh` is false: the files have a heap in which a crash left a store.
  static absl::StatusOr<std::unique_ptr<WatchedStore>> Open(
      const StoreSpec& spec, std::unique_ptr<PoolFiles> files, bool fresh) {
    engine::StoreOptions options = spec.Options();
    options.fresh = fresh;
    ASSIGN_OR_RETURN(engine::SchemeStore parts,
                     engine::SchemeNamed(spec.scheme)->open(*files, options));
    return absl::WrapUnique(
        new WatchedStore(std::move(files), std::move(parts)));
  }

  const engine::SchemeStore& parts() const { return parts_; }
  void SetDrain(uint64_t nanos) {
    files_->heap().SetDrain(nanos);
    if (files_->copy() != nullptr) files_->copy()->SetDrain(nanos);
  }
  Dirtiness dirtiness() const {
    return files_->heap().dirtiness()->dirtiness();
  }
  void DoStages(const DoneStages& done) {
    files_->heap().staged()->Do(done.heap);
    if (files_->copy() != nullptr) files_->copy()->staged()->Do(done.undo_copy);
  }
  PmemCounts counts() const {
    PmemCounts sum = files_->heap().counts();
    if (files_->copy() != nullptr) sum += files_->copy()->counts();
    return sum;
  }
  PmemCounts background_counts() const {
    PmemCounts sum = files_->heap().background_counts();
    if (files_->copy() != nullptr) sum += files_->copy()->background_counts();
    return sum;
  }

 private:
  WatchedStore(std::unique_ptr<PoolFiles> files, engine::SchemeStore parts)
      : files_(std::move(files)), parts_(std::move(parts)) {
    // Dirtiness is of objects, not of logs.
    DirtinessRegion* const dirtiness = files_->heap().dirtiness();
    if (dirtiness != nullptr) {
      dirtiness->CountFrom(parts_.objects->objects_begin());
    }
  }

  TransactionalStore& below() const override { return *parts_.store; }

  const std::unique_ptr<PoolFiles> files_;
  const engine::SchemeStore parts_;
};

const engine::Scheme& SchemeOf(const StoreSpec& spec) {
  const engine::Scheme* const scheme = engine::SchemeNamed(spec.scheme);
  CHECK(scheme != nullptr) << spec.scheme << " is not linked";
  return *scheme;
}

bool IsPmemobj(const StoreSpec& spec) { return SchemeOf(spec).open == nullptr; }

uint64_t PmemobjBytes(uint64_t bytes) {
  return engine::HeapRegionBytes(bytes) + kPmemobjOverhead;
}

uint64_t HeapBytes(const StoreSpec& spec, uint64_t bytes) {
  const engine::Scheme& scheme = SchemeOf(spec);
  return scheme.region_bytes ? scheme.region_bytes(bytes)
                             : engine::HeapRegionBytes(bytes);
}

uint64_t CopyBytes(const StoreSpec& spec, uint64_t heap_bytes) {
  if (spec.scheme == kSimple) return engine::SimpleUndoCopyBytes(heap_bytes);
  if (spec.scheme != kDynamic) return 0;
  return engine::DynamicUndoCopyBytes(heap_bytes, spec.alpha.value_or(kAlpha));
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
    auto store = engine::OpenStore(spec.scheme, path, PmemobjBytes(bytes),
                                   spec.Options());
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
  auto files =
      absl::make_unique<PoolFiles>(path, HeapBytes(spec, bytes), spec, watch);
  ASSIGN_OR_RETURN(auto watched, WatchedStore::Open(spec, std::move(files),
                                                    /*fresh=*/true));
  WatchedStore* const ours = watched.get();
  opened.undo_copy = ours->parts().copy_stats;
  opened.heap = ours->parts().objects;
  opened.details = ours->parts().counters;
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
  opened.store = std::move(watched);
  return opened;
}

absl::StatusOr<Reopened> ReopenAfterCrash(const StoreSpec& spec,
                                          const OpenedStore& crashed,
                                          const std::string& path) {
  const auto* const store =
      dynamic_cast<const WatchedStore*>(crashed.store.get());
  if (store == nullptr || !spec.alone() || crashed.undo_copy ||
      store->parts().heap == nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        spec.Name(), " may work while it is copied, or is not one region"));
  }
  const Region& region = *store->parts().heap->region();
  auto files =
      absl::make_unique<PoolFiles>(path, region.size(), spec, Watch::kNothing);
  RETURN_IF_ERROR(files->MakeHeap());
  std::memcpy(files->heap().region()->base(), region.base(), region.size());
  Reopened reopened;
  const uint64_t begin = Ticks();
  ASSIGN_OR_RETURN(auto copied, WatchedStore::Open(spec, std::move(files),
                                                   /*fresh=*/false));
  reopened.nanos = static_cast<double>(Ticks() - begin) * NanosPerTick();
  reopened.opened.heap = copied->parts().objects;
  reopened.opened.store = std::move(copied);
  return reopened;
}

uint64_t FileBytes(const StoreSpec& spec, uint64_t bytes) {
  if (IsPmemobj(spec)) return PmemobjBytes(bytes);
  const uint64_t heap_bytes = HeapBytes(spec, bytes);
  return heap_bytes + CopyBytes(spec, heap_bytes);
}

}  // namespace kamino::bench
