// The engine's crash-safe schemes.
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "engine/baselines/heap_store.h"
#include "engine/heap/heap.h"
#include "engine/kamino/kamino_store.h"
#include "engine/kamino/undo_copy.h"
#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {
namespace {

constexpr size_t kHeapBytes = 192u << 10;
constexpr size_t kLogBytes = 64u << 10;
// The minimum, so that the ring of commit records wraps and intents reuse each
// other's places.
constexpr size_t kKaminoLogBytes = heap_format::kMinLogBytes;
// Room for about ten pages of the index: copies are evicted all the time.
constexpr double kAlpha = 0.22;
// Transactions can use more.
constexpr size_t kUndoLogBytes = 32u << 10;

class KaminoRig final : public Rig {
 public:
  KaminoRig(std::unique_ptr<Heap> heap, std::unique_ptr<KaminoStore> store)
      : heap_(std::move(heap)), store_(std::move(store)) {}

  TransactionalStore& store() override { return *store_; }
  void Sync(size_t transactions) override {
    store_->PropagateToUndoCopy(transactions);
  }
  bool can_hold() const override { return true; }
  void ReleaseHold(uint64_t sequence) override {
    store_->ReleaseHold(sequence);
  }
  std::optional<uint64_t> last_sequence() const override {
    return store_->last_sequence();
  }
  uint64_t live_objects() const override { return heap_->stats().objects; }

 private:
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<KaminoStore> store_;
};

class BaselineRig final : public Rig {
 public:
  BaselineRig(std::unique_ptr<Heap> heap, std::unique_ptr<HeapStore> store)
      : heap_(std::move(heap)), store_(std::move(store)) {}

  TransactionalStore& store() override { return *store_; }
  uint64_t live_objects() const override { return heap_->stats().objects; }

 private:
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<HeapStore> store_;
};

using BackupMaker = absl::StatusOr<std::unique_ptr<UndoCopy>> (*)(const Heap*,
                                                                  Region*);

Scheme Kamino(std::string name, size_t undo_copy_bytes,
              BackupMaker make_undo_copy, BackupMaker open_undo_copy,
              bool copy_at_commit) {
  Scheme scheme;
  scheme.name = std::move(name);
  scheme.areas = {{"heap", kHeapBytes}, {"backup", undo_copy_bytes}};
  scheme.switches_within_calls = true;
  scheme.open = [=](const std::vector<Region*>& regions,
                    bool make) -> absl::StatusOr<std::unique_ptr<Rig>> {
    auto heap = make ? Heap::CreateWithLog(regions[0], "crash", kKaminoLogBytes)
                     : Heap::Open(regions[0]);
    if (!heap.ok()) return heap.status();
    auto undo_copy =
        (make ? make_undo_copy : open_undo_copy)(heap->get(), regions[1]);
    if (!undo_copy.ok()) return undo_copy.status();
    KaminoOptions options;
    options.copy_at_commit = copy_at_commit;
    auto store = KaminoStore::Open(heap->get(), std::move(*undo_copy), options);
    if (!store.ok()) return store.status();
    return absl::make_unique<KaminoRig>(std::move(*heap), std::move(*store));
  };
  return scheme;
}

Scheme UndoLogged() {
  Scheme scheme = Kamino("undo-log", LogUndoCopyBytes(kUndoLogBytes),
                         CreateLogUndoCopy, OpenLogUndoCopy,
                         /*copy_at_commit=*/false);
  scheme.one_at_a_time = true;
  return scheme;
}

Scheme Baseline(HeapScheme which) {
  Scheme scheme;
  scheme.name = std::string(HeapSchemeName(which));
  scheme.areas = {{"heap", kHeapBytes}};
  scheme.open = [=](const std::vector<Region*>& regions,
                    bool make) -> absl::StatusOr<std::unique_ptr<Rig>> {
    auto heap =
        make ? Heap::CreateWithLog(regions[0], HeapSchemeName(which), kLogBytes)
             : Heap::Open(regions[0]);
    if (!heap.ok()) return heap.status();
    auto store = HeapStore::Open(which, heap->get());
    if (!store.ok()) return store.status();
    return absl::make_unique<BaselineRig>(std::move(*heap), std::move(*store));
  };
  return scheme;
}

std::vector<Scheme> MakeSchemes() {
  return {
      Kamino("kamino-simple", SimpleUndoCopyBytes(kHeapBytes),
             CreateSimpleUndoCopy, OpenSimpleUndoCopy, /*copy_at_commit=*/true),
      Kamino("kamino-dynamic", DynamicUndoCopyBytes(kHeapBytes, kAlpha),
             CreateDynamicUndoCopy, OpenDynamicUndoCopy,
             /*copy_at_commit=*/true),
      // As at the head of a chain.
      Kamino("kamino-later", DynamicUndoCopyBytes(kHeapBytes, kAlpha),
             CreateDynamicUndoCopy, OpenDynamicUndoCopy,
             /*copy_at_commit=*/false),
      UndoLogged(),
      Baseline(HeapScheme::kUndo),
      Baseline(HeapScheme::kCopyOnWrite),
      Baseline(HeapScheme::kUndoEach),
  };
}

const LinkedRigs kLinked(MakeSchemes(), /*first=*/true);

}  // namespace

}  // namespace kamino::engine::crash
