// The region of a node's undo copy, and the engine's UndoCopy in it.
//
// Not thread-safe: as Storage, which owns it.
#ifndef KAMINO_NODE_STORAGE_STORED_UNDO_COPY_H_
#define KAMINO_NODE_STORAGE_STORED_UNDO_COPY_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "engine/kamino/undo_copy.h"
#include "engine/pmem/region.h"
#include "node/storage/media.h"
#include "node/storage/storage_options.h"

namespace kamino::node {

class StoredUndoCopy {
 public:
  // Both must outlive it. Has no region yet.
  StoredUndoCopy(const StorageOptions* options, Media* media)
      : options_(*options), media_(media) {}

  // For error texts.
  std::string name() const { return media_->Name(Media::Part::kUndoCopy); }
  engine::Region* region() { return region_.get(); }
  // Size of a new one.
  size_t NewBytes() const;

  // Opens the region that an earlier start left. kFailedPrecondition: it is
  // truncated, or of another heap.
  absl::Status Open(const engine::Heap& heap);
  // Opens the undo copy in the opened region.
  absl::StatusOr<std::unique_ptr<engine::UndoCopy>> OpenUndoCopy(
      engine::Heap* heap);
  // The region is not used again if a new one would have another size.
  void DropOtherSize();

  // Makes sure that there is a region; it is reused if it has the right size.
  absl::Status Reserve();
  // An empty undo copy in a reserved region; an earlier one must be gone.
  absl::StatusOr<std::unique_ptr<engine::UndoCopy>> NewUndoCopy(
      engine::Heap* heap);

 private:
  const StorageOptions& options_;
  Media* const media_;
  std::unique_ptr<engine::Region> region_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_STORED_UNDO_COPY_H_
