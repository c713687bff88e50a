// The source of a node's regions: files, or a simulator's memory.
#ifndef KAMINO_NODE_STORAGE_MEDIA_H_
#define KAMINO_NODE_STORAGE_MEDIA_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/pmem/region.h"

namespace kamino::node {

// Not thread-safe.
class Media {
 public:
  // A node's three regions.
  enum class Part { kHeap, kRing, kUndoCopy };

  virtual ~Media() = default;

  virtual bool Exists(Part part) const = 0;

  // A new region, zeroed, with all its space; it does not exist before Publish.
  // An earlier unfinished one is removed. Errors as FileRegion::Create.
  virtual absl::StatusOr<std::unique_ptr<engine::Region>> Create(
      Part part, size_t bytes) = 0;
  // From here on it exists, also after a crash, with its durable content.
  virtual absl::Status Publish(Part part) = 0;

  // Errors as FileRegion::Open.
  virtual absl::StatusOr<std::unique_ptr<engine::Region>> Open(Part part) = 0;

  // Does nothing if there is none. Its region must be gone.
  virtual absl::Status Remove(Part part) = 0;

  // For error texts: the file's path.
  virtual std::string Name(Part part) const = 0;

  // Adds the part's name to an error.
  absl::Status WithName(const absl::Status& status, Part part) const {
    return absl::Status(status.code(),
                        absl::StrCat(Name(part), ": ", status.message()));
  }
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_MEDIA_H_
