// Any scheme's store, ready for use, by name; docs/use/engine.md shows how it
// is used, and engine/examples/workspace is a program that does.
#ifndef KAMINO_ENGINE_BASELINES_OPEN_STORE_H_
#define KAMINO_ENGINE_BASELINES_OPEN_STORE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/baselines/archapt/archapt_options.h"
#include "engine/baselines/rewind/rewind_options.h"
#include "engine/baselines/wrap/wrap_options.h"
#include "engine/pmem/file_region.h"
#include "engine/transactional_store.h"

namespace kamino::engine {

struct StoreOptions {
  // kamino-dynamic: the backup's size, as a part of the heap's, in (0, 1].
  double alpha = 0.5;

  // kAuto on a file that is not on persistent memory syncs the file at each
  // drain: a commit takes as long as the disk does. kForce takes any file for
  // persistent memory: for trying things out, or where losing power may lose
  // the file. For libpmemobj, kForce sets PMEM_IS_PMEM_FORCE=1 in the
  // environment, which it reads once: the first store that a process opens
  // decides for all.
  PmemMode mode = PmemMode::kAuto;

  // A new file, else one that a store of the same scheme was closed on (or had
  // crashed on), which is recovered.
  bool fresh = true;

  // Whether what is done beside transactions has a thread. Without one, logs
  // fill until a transaction has to do it: what a crash may leave at most.
  bool background = true;

  // REWIND: bucket, group, checkpoint_records and the other options that are
  // not on media. Layers, force and form are not used: the scheme's name says
  // them.
  RewindOptions rewind;

  // archapt. queue_bytes also says how long the log of a fresh store is; later
  // it is as long as it was made. `unchecked` must be false.
  ArchaptOptions archapt;

  // wrap. Sizes are those of a fresh store; later they are what they were.
  WrapOptions wrap;
};

// Least size of every store, fresh or not.
inline constexpr size_t kMinStoreBytes = 8u << 20;

// "kamino-simple", "kamino-dynamic", "undo-object", "undo-range", "undo-own",
// "cow", "unsafe", "rewind-1-noforce-batch", "wrap", "archapt": one of each
// kind, to be compared.
absl::Span<const absl::string_view> SchemeNames();

// All that OpenStore takes: those, REWIND's eleven others, and the rivals of
// papers that HeapScheme has. Beside them it takes "rewind", by which a store
// is made and found that says of itself "rewind-1-noforce-batch".
std::vector<std::string> AllSchemeNames();

// Opens a store on the file `path` of `bytes` bytes (not used when the file is
// there already); a backup is a second file, `path` + ".backup". The store owns
// all that it stands on, threads that work beside transactions included.
// Destroying it closes it, with no transaction live, and leaves the files
// behind; one process at a time has them open. Transactions of undo-object and
// undo-range are libpmemobj's: a thread may have one that has changed something
// at a time.
//
// Messages name the path. kInvalidArgument: no such scheme (the message has
// those that there are), or a size, alpha or tuning out of bounds;
// kAlreadyExists: fresh, but a file is there; kNotFound: not fresh, and no file
// is there; kFailedPrecondition: the file is another scheme's, or no store, or
// in use; kDataLoss: it is damaged; kResourceExhausted: no space for the files;
// otherwise as FileRegion's and Heap's.
absl::StatusOr<std::unique_ptr<TransactionalStore>> OpenStore(
    absl::string_view scheme, const std::string& path, size_t bytes,
    const StoreOptions& options = StoreOptions());

// Deletes the files of a store that is closed; none there is no error.
void RemoveStore(const std::string& path);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_OPEN_STORE_H_
