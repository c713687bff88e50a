// Which limit of the engine a kResourceExhausted error hit. The caller's remedy
// depends on it.
#ifndef KAMINO_ENGINE_RESOURCE_ERROR_H_
#define KAMINO_ENGINE_RESOURCE_ERROR_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kamino::engine {

enum class Resource {
  kHeap,         // no space for an object: delete something
  kTransaction,  // one transaction is too large for log or heap: split it
  kLog,          // other transactions fill the log, or are as many as allowed:
                 // wait for them to end, then begin again
  kUndoCopy,     // all copies are of locked objects: wait
};

absl::Status ResourceError(Resource resource, absl::string_view message);

// Nothing when `status` is not a ResourceError.
std::optional<Resource> ResourceOf(const absl::Status& status);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_RESOURCE_ERROR_H_
