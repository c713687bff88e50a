// The directory of a device: which names lie where. A device has no file
// system, so its names are kept in its own first bytes.
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

// Whether it is a directory of this format, as somebody has stored it.
bool IsWhole(const device_format::Directory& directory);

// Not thread-safe.
//
// Invariants:
//   1. Each change is durable when its method returns, and whole or absent
//      after a crash.
//   2. While no change is under way both copies are equal, so one of them may
//      be damaged without anything being lost.
class DeviceDirectory {
 public:
  // Huge pages map extents that begin and end with them.
  static constexpr uint32_t kUnitBytes = 2u << 20;

  struct Extent {
    uint64_t offset = 0;
    uint64_t length = 0;
  };

  // That of `device`, which must outlive it. A device whose first unit is empty
  // is given one, as is one that holds something else if `format` says so.
  // kFailedPrecondition: too small, holds something else, has another format
  // version or had another size; kDataLoss: damaged, whatever `format` says.
  static absl::StatusOr<DeviceDirectory> Open(engine::Region* device,
                                              bool format,
                                              uint32_t unit = kUnitBytes);

  std::optional<Extent> Find(absl::string_view name) const;

  // `name` is new, `bytes` is not 0. What the extent holds is left as it is.
  // kResourceExhausted: no gap is large enough.
  absl::StatusOr<Extent> Add(absl::string_view name, uint64_t bytes);
  // `to` becomes what `from` is, which must exist; what `to` was is gone.
  void Rename(absl::string_view from, absl::string_view to);
  // Nothing happens when there is none.
  void Remove(absl::string_view name);

 private:
  explicit DeviceDirectory(engine::Region* device) : device_(device) {}

  absl::Status Read();
  absl::Status CheckSlots() const;
  void BeginFormat();
  void Format(uint32_t unit);
  // Makes content_ durable, as the next of its sequence.
  void Store();
  void StoreCopy(size_t copy);
  device_format::Directory* Copy(size_t copy) const;
  device_format::Slot* SlotOf(absl::string_view name);
  uint64_t RoundUp(uint64_t bytes) const;
  // Where the extents begin.
  uint64_t Begin() const;

  engine::Region* device_;
  device_format::Directory content_ = {};
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_DEVICE_DIRECTORY_H_
