#include "node/storage/device_media.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/pmem/sub_region.h"

namespace kamino::node {
namespace {

using engine::Region;

constexpr size_t kZerosBytes = 1u << 20;

std::string Unfinished(Media::Part part) {
  return absl::StrCat(DeviceMedia::ExtentName(part), ".new");
}

absl::Status Annotate(const absl::Status& status, const std::string& name) {
  return absl::Status(status.code(),
                      absl::StrCat(name, ": ", status.message()));
}

}  // namespace

absl::string_view DeviceMedia::ExtentName(Part part) {
  switch (part) {
    case Part::kHeap:
      return "heap";
    case Part::kRing:
      return "ring";
    case Part::kUndoCopy:
      return "undo_copy";
  }
  return "";
}

absl::StatusOr<std::unique_ptr<Media>> DeviceMedia::Open(
    const std::string& path, engine::PmemMode pmem, bool format) {
  ASSIGN_OR_RETURN(auto device, engine::FileRegion::Open(path, pmem));
  return Open(path, std::shared_ptr<Region>(std::move(device)), format);
}

absl::StatusOr<std::unique_ptr<Media>> DeviceMedia::Open(
    const std::string& name, std::shared_ptr<Region> device, bool format,
    uint32_t unit) {
  auto directory = DeviceDirectory::Open(device.get(), format, unit);
  if (!directory.ok()) return Annotate(directory.status(), name);
  return std::unique_ptr<Media>(
      new DeviceMedia(name, std::move(device), *std::move(directory)));
}

std::string DeviceMedia::Name(Part part) const {
  return absl::StrCat(name_, ":", ExtentName(part));
}

bool DeviceMedia::Exists(Part part) const {
  return directory_.Find(ExtentName(part)).has_value();
}

std::unique_ptr<Region> DeviceMedia::RegionOf(const Extent& extent) const {
  return std::make_unique<engine::SubRegion>(device_, extent.offset,
                                             extent.length);
}

void DeviceMedia::Zero(const Extent& extent) {
  const std::vector<std::byte> zeros(kZerosBytes);
  std::byte* const begin = device_->base() + extent.offset;
  for (size_t done = 0; done < extent.length; done += kZerosBytes) {
    device_->CopyFlush(begin + done, zeros.data(),
                       std::min<size_t>(kZerosBytes, extent.length - done));
  }
  device_->Drain();
}

absl::StatusOr<std::unique_ptr<Region>> DeviceMedia::Create(Part part,
                                                            size_t bytes) {
  if (bytes == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot make ", Name(part), ": a size of 0"));
  }
  directory_.Remove(Unfinished(part));
  auto extent = directory_.Add(Unfinished(part), bytes);
  if (!extent.ok()) return Annotate(extent.status(), Name(part));
  Zero(*extent);
  return RegionOf(*extent);
}

absl::Status DeviceMedia::Publish(Part part) {
  if (!directory_.Find(Unfinished(part)).has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot publish ", Name(part), ": it was not made"));
  }
  directory_.Rename(Unfinished(part), ExtentName(part));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Region>> DeviceMedia::Open(Part part) {
  const auto extent = directory_.Find(ExtentName(part));
  if (!extent.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("cannot open ", Name(part), ": there is none"));
  }
  return RegionOf(*extent);
}

absl::Status DeviceMedia::Remove(Part part) {
  directory_.Remove(ExtentName(part));
  return absl::OkStatus();
}

}  // namespace kamino::node
