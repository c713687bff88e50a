// Atomicity schemes by name. A scheme registers itself where a program links
// it:
//
//   const LinkedScheme linked({/*name=*/"cow", ...});
//
// in a library with alwayslink. OpenStore (open_store.h) and the benches open
// its stores by that name.
#ifndef KAMINO_ENGINE_BASELINES_SCHEME_H_
#define KAMINO_ENGINE_BASELINES_SCHEME_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/baselines/store_options.h"
#include "engine/heap/heap.h"
#include "engine/kamino/undo_copy.h"
#include "engine/pmem/region.h"
#include "engine/transactional_store.h"

namespace kamino::engine {

// Makes or opens a store's regions. It owns the regions, and outlives the
// store.
class StoreRegions {
 public:
  virtual ~StoreRegions() = default;

  // The heap's region: new and zeroed if StoreOptions::fresh, else with a store
  // in it. A scheme calls it once, before OpenCopy.
  virtual absl::StatusOr<Region*> OpenHeap() = 0;
  // The undo copy's. `bytes`: its size if it is new.
  virtual absl::StatusOr<Region*> OpenCopy(uint64_t bytes) = 0;
};

// An open store and what it stands on, without the regions. Members are
// destroyed in the reverse order.
struct SchemeStore {
  std::unique_ptr<Heap> heap;  // null: the store has its own
  std::unique_ptr<TransactionalStore> store;
  // A thread that works beside transactions; null: none does.
  std::shared_ptr<void> worker;

  // For benches. The heap of the objects; null: it is not of Kamino's format.
  const Heap* objects = nullptr;
  // Empty: the store has no undo copy.
  std::function<UndoCopyStats()> copy_stats;
  // The scheme's own counters by name, since the opening. Empty: it has none.
  std::function<std::vector<std::pair<std::string, double>>()> counters;
};

struct Scheme {
  std::string name;
  // SchemeNames() has only those that represent a kind of scheme.
  bool represents = true;
  // Order in lists: by rank; schemes of the same rank in the order in which
  // they register.
  int rank = 0;
  // Another name for the scheme; empty: none.
  std::string alias = "";
  // How the heap's label, or its file, names the scheme. Empty: as `name`.
  std::string label = "";
  // Whether StoreOptions::background makes a difference.
  bool works_beside = false;

  // Whether StoreOptions::scheme_options is valid. Empty: the scheme has no
  // options.
  std::function<absl::Status(absl::string_view)> check_options = {};

  // Opens a store on regions; or, for a scheme that maps its files itself, on
  // the file of that path. One of the two is set.
  std::function<absl::StatusOr<SchemeStore>(StoreRegions&, const StoreOptions&)>
      open = {};
  std::function<absl::StatusOr<std::unique_ptr<TransactionalStore>>(
      const std::string& path, uint64_t bytes, const StoreOptions&)>
      open_file = {};

  // The size of the heap's region for so many bytes of objects with their
  // headers. Empty: HeapRegionBytes.
  std::function<uint64_t(uint64_t)> region_bytes = {};
};

// Registers a scheme when the program starts. A name that another scheme has
// ends the program.
class LinkedScheme {
 public:
  explicit LinkedScheme(Scheme scheme);
};

// All that this program has linked.
std::vector<const Scheme*> LinkedSchemes();
// By its name or alias. Null: there is none.
const Scheme* SchemeNamed(absl::string_view name);

// --- For schemes

// With room for a log of 1/16 of it, but no more than 16 MiB.
uint64_t HeapRegionBytes(uint64_t object_bytes);

// Makes a heap with that label, or opens the one that is there.
// kFailedPrecondition: it has another label.
absl::StatusOr<std::unique_ptr<Heap>> OpenLabelled(Region* region,
                                                   absl::string_view label,
                                                   bool fresh);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_SCHEME_H_
