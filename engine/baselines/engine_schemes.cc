// Registers the engine's own schemes.
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "engine/baselines/heap_store.h"
#include "engine/baselines/pmemobj_store.h"
#include "engine/baselines/scheme.h"
#include "engine/kamino/kamino_store.h"
#include "engine/kamino/undo_copy_propagator.h"

namespace kamino::engine {
namespace {

absl::StatusOr<std::unique_ptr<UndoCopy>> OpenUndoCopy(
    bool simple, Heap* heap, StoreRegions& regions,
    const StoreOptions& options) {
  const uint64_t heap_bytes = heap->region()->size();
  ASSIGN_OR_RETURN(Region* const region,
                   regions.OpenCopy(simple ? SimpleUndoCopyBytes(heap_bytes)
                                           : DynamicUndoCopyBytes(
                                                 heap_bytes, options.alpha)));
  if (options.fresh) {
    return simple ? CreateSimpleUndoCopy(heap, region)
                  : CreateDynamicUndoCopy(heap, region);
  }
  return simple ? OpenSimpleUndoCopy(heap, region)
                : OpenDynamicUndoCopy(heap, region);
}

Scheme Kamino(const std::string& name, bool simple) {
  Scheme scheme;
  scheme.name = name;
  scheme.works_beside = true;
  scheme.open =
      [name, simple](
          StoreRegions& regions,
          const StoreOptions& options) -> absl::StatusOr<SchemeStore> {
    SchemeStore made;
    ASSIGN_OR_RETURN(Region* const region, regions.OpenHeap());
    ASSIGN_OR_RETURN(made.heap, OpenLabelled(region, name, options.fresh));
    ASSIGN_OR_RETURN(auto copy,
                     OpenUndoCopy(simple, made.heap.get(), regions, options));
    ASSIGN_OR_RETURN(auto store,
                     KaminoStore::Open(made.heap.get(), std::move(copy)));
    KaminoStore* const kamino = store.get();
    made.objects = made.heap.get();
    made.copy_stats = [kamino] { return kamino->stats().undo_copy; };
    if (options.background) {
      made.worker = std::make_shared<UndoCopyPropagator>(kamino);
    }
    made.store = std::move(store);
    return made;
  };
  return scheme;
}

Scheme Libpmemobj(const std::string& name, UndoUnit unit) {
  Scheme scheme;
  scheme.name = name;
  scheme.label = "libpmemobj";
  scheme.open_file = [unit](const std::string& path, uint64_t bytes,
                            const StoreOptions& options)
      -> absl::StatusOr<std::unique_ptr<TransactionalStore>> {
    if (options.mode == PmemMode::kForce) {
      setenv("PMEM_IS_PMEM_FORCE", "1", /*overwrite=*/1);
    }
    ASSIGN_OR_RETURN(auto store, options.fresh
                                     ? PmemobjStore::Create(path, bytes, unit)
                                     : PmemobjStore::Open(path, unit));
    return store;
  };
  return scheme;
}

Scheme OnHeap(HeapScheme kind, bool represents = true) {
  Scheme scheme;
  scheme.name = std::string(HeapSchemeName(kind));
  scheme.represents = represents;
  scheme.open =
      [kind, name = scheme.name](
          StoreRegions& regions,
          const StoreOptions& options) -> absl::StatusOr<SchemeStore> {
    SchemeStore made;
    ASSIGN_OR_RETURN(Region* const region, regions.OpenHeap());
    ASSIGN_OR_RETURN(made.heap, OpenLabelled(region, name, options.fresh));
    ASSIGN_OR_RETURN(made.store, HeapStore::Open(kind, made.heap.get()));
    made.objects = made.heap.get();
    return made;
  };
  return scheme;
}

const LinkedScheme kLinked[] = {
    LinkedScheme(Kamino("kamino-simple", /*simple=*/true)),
    LinkedScheme(Kamino("kamino-dynamic", /*simple=*/false)),
    LinkedScheme(Libpmemobj("undo-object", UndoUnit::kObject)),
    LinkedScheme(Libpmemobj("undo-range", UndoUnit::kRange)),
    LinkedScheme(OnHeap(HeapScheme::kUndo)),
    LinkedScheme(OnHeap(HeapScheme::kCopyOnWrite)),
    LinkedScheme(OnHeap(HeapScheme::kUnsafe)),
    // Rivals of papers.
    LinkedScheme(OnHeap(HeapScheme::kUnsafeEach, /*represents=*/false)),
    LinkedScheme(OnHeap(HeapScheme::kCached, /*represents=*/false)),
    LinkedScheme(OnHeap(HeapScheme::kUndoEach, /*represents=*/false)),
};

}  // namespace
}  // namespace kamino::engine
