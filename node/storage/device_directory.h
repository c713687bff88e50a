// The directory of a device: names and their extents. A device has no file
// system, so its names are in its own first bytes.
#ifndef KAMINO_NODE_STORAGE_DEVICE_DIRECTORY_H_
#define KAMINO_NODE_STORAGE_DEVICE_DIRECTORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/pmem/region.h"
#include "node/storage/device_format.h"

namespace kamino::node {

// Whether the bytes are a complete directory of this format.
bool IsWhole(const device_format::Directory& directory);

// Not thread-safe.
//
// Invariants:
//   1. Each change is durable when its method returns, and whole or absent
//      after a crash.
//   2. Between changes both copies are equal, so damage of one loses nothing.
class DeviceDirectory {
 public:
  // Huge pages can map only extents that are aligned to them.
  static constexpr uint32_t kUnitBytes = 2u << 20;

  struct Extent {
    uint64_t offset = 0;
    uint64_t length = 0;
  };

  // Opens the directory of `device`, which must outlive it. Creates one if the
  // first unit is empty, or if it holds something else and `format` is set.
  // kFailedPrecondition: too small, holds something else, has another format
  // version or had another size; kDataLoss: damaged, regardless of `format`.
  static absl::StatusOr<DeviceDirectory> Open(engine::Region* device,
                                              bool format,
                                              uint32_t unit = kUnitBytes);

  std::optional<Extent> Find(absl::string_view name) const;

  // `name` is new, `bytes` is not 0. Leaves the extent's bytes as they are.
  // kResourceExhausted: no gap is large enough.
  absl::StatusOr<Extent> Add(absl::string_view name, uint64_t bytes);
  // Renames `from`, which must exist, to `to`; the old `to` is gone.
  void Rename(absl::string_view from, absl::string_view to);
  // Does nothing if there is none.
  void Remove(absl::string_view name);

 private:
  explicit DeviceDirectory(engine::Region* device) : device_(device) {}

  absl::Status Read();
  absl::Status CheckSlots() const;
  void BeginFormat();
  void Format(uint32_t unit);
  // Makes content_ durable, as the next version.
  void Store();
  void StoreCopy(size_t copy);
  device_format::Directory* Copy(size_t copy) const;
  device_format::Slot* SlotOf(absl::string_view name);
  uint64_t RoundUp(uint64_t bytes) const;
  // The start of the extents.
  uint64_t Begin() const;

  engine::Region* device_;
  device_format::Directory content_ = {};
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_DEVICE_DIRECTORY_H_
