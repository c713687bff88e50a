// A node's regions on a device without a file system (devdax), found by the
// device's own directory. docs/formats/device.md.
#ifndef KAMINO_NODE_STORAGE_DEVICE_MEDIA_H_
#define KAMINO_NODE_STORAGE_DEVICE_MEDIA_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "engine/pmem/file_region.h"
#include "node/storage/device_directory.h"
#include "node/storage/media.h"

namespace kamino::node {

class DeviceMedia final : public Media {
 public:
  // `path`: a character device of persistent memory, or a file of any size that
  // stands for one. Its regions keep the device open, as this does. `format`:
  // see DeviceDirectory::Open. Errors as there and as FileRegion::Open;
  // messages name the path.
  static absl::StatusOr<std::unique_ptr<Media>> Open(const std::string& path,
                                                     engine::PmemMode pmem,
                                                     bool format);
  // On any region, in extents of multiples of `unit`.
  static absl::StatusOr<std::unique_ptr<Media>> Open(
      const std::string& name, std::shared_ptr<engine::Region> device,
      bool format, uint32_t unit = DeviceDirectory::kUnitBytes);

  bool Exists(Part part) const override;
  // Overwrites the part's whole extent: slow on a large device.
  absl::StatusOr<std::unique_ptr<engine::Region>> Create(Part part,
                                                         size_t bytes) override;
  absl::Status Publish(Part part) override;
  absl::StatusOr<std::unique_ptr<engine::Region>> Open(Part part) override;
  absl::Status Remove(Part part) override;
  std::string Name(Part part) const override;

  // Its name in the directory.
  static absl::string_view ExtentName(Part part);

 private:
  using Extent = DeviceDirectory::Extent;

  DeviceMedia(std::string name, std::shared_ptr<engine::Region> device,
              DeviceDirectory directory)
      : name_(std::move(name)),
        device_(std::move(device)),
        directory_(std::move(directory)) {}
  std::unique_ptr<engine::Region> RegionOf(const Extent& extent) const;
  void Zero(const Extent& extent);

  const std::string name_;
  const std::shared_ptr<engine::Region> device_;
  DeviceDirectory directory_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_DEVICE_MEDIA_H_
