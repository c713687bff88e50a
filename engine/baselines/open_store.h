// Any scheme's store, ready for use, by name: what benches and the tests that
// compare schemes are given.
#ifndef KAMINO_ENGINE_BASELINES_OPEN_STORE_H_
#define KAMINO_ENGINE_BASELINES_OPEN_STORE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/pmem/file_region.h"
#include "engine/transactional_store.h"

namespace kamino::engine {

struct StoreOptions {
  // Of kamino-dynamic: the backup's size, as a part of the heap's, in (0, 1].
  double alpha = 0.5;

  // For libpmemobj, kForce sets PMEM_IS_PMEM_FORCE=1 in the environment, which
  // it reads once: the first store that a process opens decides for all.
  PmemMode mode = PmemMode::kAuto;

  // A new file, else one that a store of the same scheme was closed on (or had
  // crashed on), which is recovered.
  bool fresh = true;

  // Whether what is done beside transactions has a thread. Without one, logs
  // fill until a transaction has to do it: what a crash may leave at most.
  bool background = true;
};

// "kamino-simple", "kamino-dynamic", "undo-object", "undo-range", "undo-own",
// "cow", "unsafe", "rewind-1-noforce-batch", "wrap", "archapt". REWIND has
// eleven more (RewindOptions), which OpenStore takes as well; "rewind" is the
// one named here. It also takes the rivals of papers that HeapScheme has.
absl::Span<const absl::string_view> SchemeNames();

// Opens a store on the file `path` of `bytes` bytes (not used when the file is
// there already); a backup is a second file, `path` + ".backup". The store owns
// all that it stands on, a thread that propagates to the backup included,
// and leaves the files behind. Transactions of undo-object and undo-range are
// libpmemobj's: a thread may have one that has changed something at a time.
//
// kInvalidArgument: no such scheme, or a size or alpha out of bounds;
// kAlreadyExists: fresh, but a file is there; kResourceExhausted: no space for
// the files; otherwise as FileRegion's and Heap's.
absl::StatusOr<std::unique_ptr<TransactionalStore>> OpenStore(
    absl::string_view scheme, const std::string& path, size_t bytes,
    const StoreOptions& options = StoreOptions());

// Deletes the files of a store that is closed; none there is no error.
void RemoveStore(const std::string& path);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_OPEN_STORE_H_
