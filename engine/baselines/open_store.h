// A store of any scheme that the program has linked, by name.
// docs/use/engine.md shows how to use it; engine/examples/workspace is a
// program that does.
#ifndef KAMINO_ENGINE_BASELINES_OPEN_STORE_H_
#define KAMINO_ENGINE_BASELINES_OPEN_STORE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/baselines/store_options.h"
#include "engine/transactional_store.h"

namespace kamino::engine {

// Least size of every store, fresh or not.
inline constexpr size_t kMinStoreBytes = 8u << 20;

// One scheme of each kind: "kamino-simple", "kamino-dynamic", "undo-object",
// "undo-range", "undo-own", "cow", "unsafe"; with //lab:schemes linked also
// those of other papers (lab/docs/README.md).
std::vector<std::string> SchemeNames();

// All that OpenStore takes, those first. OpenStore also takes a scheme's alias
// (Scheme::alias); the store reports the scheme's name.
std::vector<std::string> AllSchemeNames();

// Opens a store on the file `path` of `bytes` bytes (not used when the file
// exists); an undo copy is a second file, `path` + ".backup". The store owns
// all that it stands on, threads that work beside transactions included.
// Destroying it closes it, with no transaction live, and leaves the files
// behind; one process at a time has them open. Transactions of undo-object and
// undo-range are libpmemobj's: a thread may have one that has changed something
// at a time.
//
// Messages name the path. kInvalidArgument: no such scheme is linked (the
// message lists those that are), or a size, alpha or option is out of bounds;
// kAlreadyExists: fresh, but a file exists; kNotFound: not fresh, and no file
// exists; kFailedPrecondition: the file is another scheme's, or no store, or in
// use; kDataLoss: it is damaged; kResourceExhausted: no space for the files;
// otherwise as FileRegion's and Heap's.
absl::StatusOr<std::unique_ptr<TransactionalStore>> OpenStore(
    absl::string_view scheme, const std::string& path, size_t bytes,
    const StoreOptions& options = StoreOptions());

// Deletes the files of a closed store; if there are none, it does nothing.
void RemoveStore(const std::string& path);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_OPEN_STORE_H_
