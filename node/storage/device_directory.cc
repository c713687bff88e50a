#include "node/storage/device_directory.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::node {
namespace {

using device_format::Directory;
using device_format::kCopies;
using device_format::kCopyBytes;
using device_format::kMagic;
using device_format::kNameBytes;
using device_format::kVersion;
using device_format::Slot;

uint64_t ChecksumOf(const Directory& directory) {
  return XXH3_64bits(&directory, offsetof(Directory, checksum));
}

bool IsZero(const std::byte* begin, const std::byte* end) {
  return std::all_of(begin, end, [](std::byte b) { return b == std::byte{0}; });
}

absl::string_view NameOf(const Slot& slot) {
  return {slot.name, strnlen(slot.name, kNameBytes)};
}

// An extent's size is rounded up to units, which must lie in the device.
bool Fits(const Slot& slot, uint64_t begin, uint64_t end, uint64_t unit) {
  return slot.offset % unit == 0 && slot.offset >= begin && slot.offset < end &&
         slot.length != 0 && slot.length <= end - slot.offset;
}

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("the device's directory is damaged: ", what));
}

}  // namespace

bool IsWhole(const Directory& directory) {
  return directory.magic == kMagic && directory.version == kVersion &&
         directory.checksum == ChecksumOf(directory);
}

Directory* DeviceDirectory::Copy(size_t copy) const {
  return reinterpret_cast<Directory*>(device_->base() + copy * kCopyBytes);
}

uint64_t DeviceDirectory::RoundUp(uint64_t bytes) const {
  return (bytes + content_.unit - 1) / content_.unit * content_.unit;
}

uint64_t DeviceDirectory::Begin() const {
  return RoundUp(kCopies * kCopyBytes);
}

// --- Opening.

absl::StatusOr<DeviceDirectory> DeviceDirectory::Open(engine::Region* device,
                                                      bool format,
                                                      uint32_t unit) {
  const size_t taken = std::max<size_t>(unit, kCopies * kCopyBytes);
  if (device->size() < taken + unit) {
    return absl::FailedPreconditionError(absl::StrCat(
        "only ", device->size(), " bytes, too few for a node's data"));
  }
  DeviceDirectory directory(device);
  const std::byte* const base = device->base();
  const Directory& first = *directory.Copy(0);
  const Directory& second = *directory.Copy(1);
  const bool begun = first.magic == kMagic &&
                     IsZero(base + sizeof(kMagic), base + kCopyBytes) &&
                     !IsWhole(second);
  const bool ours = first.magic == kMagic || second.magic == kMagic;
  if (begun || (!ours && (format || IsZero(base, base + taken)))) {
    if (!begun) directory.BeginFormat();
    directory.Format(unit);
    return directory;
  }
  if (!ours) {
    return absl::FailedPreconditionError(
        "not a device of Kamino: magic is missing, and the device is not "
        "empty; --format_device overwrites it");
  }
  RETURN_IF_ERROR(directory.Read());
  return directory;
}

absl::Status DeviceDirectory::Read() {
  const Directory* newest = nullptr;
  for (size_t copy = 0; copy < kCopies; ++copy) {
    const Directory* const found = Copy(copy);
    if (!IsWhole(*found)) continue;
    if (newest == nullptr || found->sequence > newest->sequence) newest = found;
  }
  if (newest == nullptr) {
    // Before the checksum, which another version may place differently.
    const Directory& first = *Copy(0);
    if (first.magic == kMagic && first.version == Copy(1)->version &&
        first.version != kVersion) {
      return absl::FailedPreconditionError(
          absl::StrCat("device format is version ", first.version,
                       "; this program reads version ", kVersion));
    }
    return Damaged("checksum");
  }
  content_ = *newest;
  if (content_.size != device_->size()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the device was formatted with ", content_.size, " bytes and has ",
        device_->size(), " now: truncated or grown"));
  }
  RETURN_IF_ERROR(CheckSlots());
  for (size_t copy = 0; copy < kCopies; ++copy) {
    if (std::memcmp(Copy(copy), &content_, sizeof(content_)) == 0) continue;
    LOG(INFO) << "copy " << copy << " of the device's directory is repaired";
    StoreCopy(copy);
  }
  return absl::OkStatus();
}

// A checksum does not show these errors, but everything else relies on these
// fields.
absl::Status DeviceDirectory::CheckSlots() const {
  if (content_.unit < kCopyBytes || content_.unit % kCopyBytes != 0) {
    return Damaged("unit");
  }
  std::vector<Extent> taken;
  std::vector<absl::string_view> names;
  for (const Slot& slot : content_.slots) {
    const absl::string_view name = NameOf(slot);
    if (name.empty()) continue;
    if (name.size() == kNameBytes ||
        std::count(names.begin(), names.end(), name) != 0) {
      return Damaged("names");
    }
    names.push_back(name);
    if (!Fits(slot, Begin(), content_.size, content_.unit)) {
      return Damaged("extents");
    }
    for (const Extent& other : taken) {
      if (slot.offset < other.offset + other.length &&
          other.offset < slot.offset + slot.length) {
        return Damaged("extents overlap");
      }
    }
    taken.push_back({slot.offset, slot.length});
  }
  return absl::OkStatus();
}

// The magic is stored first and alone. If the first copy has nothing else,
// formatting has not come further, however torn the second copy is; once that
// one is whole, the device is formatted.
void DeviceDirectory::BeginFormat() {
  std::memset(device_->base(), 0, kCopies * kCopyBytes);
  device_->Persist(device_->base(), kCopies * kCopyBytes);
  Copy(0)->magic = kMagic;
  device_->Persist(Copy(0), sizeof(kMagic));
}

void DeviceDirectory::Format(uint32_t unit) {
  content_.magic = kMagic;
  content_.version = kVersion;
  content_.unit = unit;
  content_.size = device_->size();
  content_.sequence = 1;
  content_.checksum = ChecksumOf(content_);
  StoreCopy(1);
  StoreCopy(0);
}

// --- Changes.

void DeviceDirectory::StoreCopy(size_t copy) {
  device_->CopyFlush(Copy(copy), &content_, sizeof(content_));
  device_->Drain();
}

void DeviceDirectory::Store() {
  ++content_.sequence;
  content_.checksum = ChecksumOf(content_);
  // One after the other, so that one is always whole.
  for (size_t copy = 0; copy < kCopies; ++copy) StoreCopy(copy);
}

Slot* DeviceDirectory::SlotOf(absl::string_view name) {
  for (Slot& slot : content_.slots) {
    if (NameOf(slot) == name) return &slot;
  }
  return nullptr;
}

std::optional<DeviceDirectory::Extent> DeviceDirectory::Find(
    absl::string_view name) const {
  for (const Slot& slot : content_.slots) {
    if (NameOf(slot) == name) return Extent{slot.offset, slot.length};
  }
  return std::nullopt;
}

absl::StatusOr<DeviceDirectory::Extent> DeviceDirectory::Add(
    absl::string_view name, uint64_t bytes) {
  CHECK(!name.empty() && name.size() < kNameBytes && bytes != 0);
  CHECK(SlotOf(name) == nullptr) << name << " is there already";
  Slot* const slot = SlotOf("");
  CHECK(slot != nullptr) << "no slot for " << name;
  std::vector<Extent> taken;
  for (const Slot& other : content_.slots) {
    if (!NameOf(other).empty()) taken.push_back({other.offset, other.length});
  }
  std::sort(taken.begin(), taken.end(), [](const Extent& a, const Extent& b) {
    return a.offset < b.offset;
  });
  taken.push_back({content_.size, 0});
  // The first gap that is large enough.
  uint64_t begin = Begin();
  uint64_t largest = 0;
  for (const Extent& next : taken) {
    const uint64_t gap = next.offset > begin ? next.offset - begin : 0;
    if (gap >= bytes) {
      std::memcpy(slot->name, name.data(), name.size());
      slot->offset = begin;
      slot->length = bytes;
      Store();
      return Extent{begin, bytes};
    }
    largest = std::max(largest, gap);
    begin = RoundUp(next.offset + next.length);
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "no room for ", bytes >> 20, " MiB on the device: ", largest >> 20,
      " MiB is the largest gap"));
}

void DeviceDirectory::Rename(absl::string_view from, absl::string_view to) {
  CHECK(!to.empty() && to.size() < kNameBytes);
  Slot* const slot = SlotOf(from);
  CHECK(slot != nullptr) << "nothing is named " << from;
  if (Slot* const old = SlotOf(to)) *old = Slot{};
  std::memset(slot->name, 0, kNameBytes);
  std::memcpy(slot->name, to.data(), to.size());
  Store();
}

void DeviceDirectory::Remove(absl::string_view name) {
  Slot* const slot = SlotOf(name);
  if (slot == nullptr) return;
  *slot = Slot{};
  Store();
}

}  // namespace kamino::node
