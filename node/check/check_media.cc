#include "node/check/check_media.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "node/storage/device_directory.h"
#include "node/storage/device_media.h"
#include "node/storage/file_media.h"

namespace kamino::node {
namespace {

using device_format::Directory;
using device_format::kCopies;
using device_format::kCopyBytes;
using device_format::kNameBytes;
using device_format::Slot;

constexpr Media::Part kParts[] = {Media::Part::kHeap, Media::Part::kRing,
                                  Media::Part::kUndoCopy};

absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", what, " ", path, ": ", strerror(errno)));
}

bool IsThere(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0;
}

// 0: unknown.
uint64_t SizeOf(int file, const struct stat& info) {
  if (S_ISREG(info.st_mode)) return static_cast<uint64_t>(info.st_size);
  uint64_t size = 0;
  if (S_ISBLK(info.st_mode)) {
    return ioctl(file, BLKGETSIZE64, &size) == 0 ? size : 0;
  }
  std::ifstream told(absl::StrCat("/sys/dev/char/", major(info.st_rdev), ":",
                                  minor(info.st_rdev), "/size"));
  told >> size;
  return told.fail() ? 0 : size;
}

}  // namespace

void ViewedRegion::CopyFlush(void* to, const void* from, size_t length) {
  std::memcpy(to, from, length);
}

struct CheckMedia::Mapping {
  int file = -1;
  std::byte* base = nullptr;
  size_t size = 0;

  ~Mapping() {
    if (base != nullptr) munmap(base, size);
    if (file >= 0) close(file);
  }
};

CheckMedia::CheckMedia() = default;
CheckMedia::~CheckMedia() = default;

absl::StatusOr<std::unique_ptr<CheckMedia>> CheckMedia::Open(
    const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return Failed("look at", path);
  auto media = absl::WrapUnique(new CheckMedia);
  RETURN_IF_ERROR(S_ISDIR(info.st_mode) ? media->OpenFolder(path)
                                        : media->OpenDevice(path));
  return media;
}

absl::StatusOr<CheckMedia::Mapping*> CheckMedia::Map(const std::string& path) {
  auto mapping = std::make_unique<Mapping>();
  // Opening a pipe would wait for a writer.
  mapping->file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (mapping->file < 0) return Failed("open", path);
  struct stat info = {};
  if (fstat(mapping->file, &info) != 0) return Failed("look at", path);
  if (!S_ISREG(info.st_mode) && !S_ISBLK(info.st_mode) &&
      !S_ISCHR(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is neither a file nor a device"));
  }
  // A node locks it exclusively.
  if (flock(mapping->file, LOCK_SH | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Failed("lock", path);
    return absl::FailedPreconditionError(absl::StrCat(
        path, " is in use by another process; stop the node first"));
  }
  mapping->size = SizeOf(mapping->file, info);
  if (mapping->size == 0) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is empty"));
  }
  void* const base =
      mmap(nullptr, mapping->size, PROT_READ, MAP_SHARED, mapping->file, 0);
  if (base == MAP_FAILED) return Failed("map", path);
  mapping->base = static_cast<std::byte*>(base);
  mappings_.push_back(std::move(mapping));
  return mappings_.back().get();
}

std::optional<CheckMedia::Part>* CheckMedia::PlaceOf(Media::Part part) {
  switch (part) {
    case Media::Part::kHeap:
      return &heap_;
    case Media::Part::kRing:
      return &ring_;
    case Media::Part::kUndoCopy:
      return &undo_copy_;
  }
  return nullptr;
}

absl::Status CheckMedia::OpenFolder(const std::string& path) {
  for (const Media::Part which : kParts) {
    const std::string name =
        absl::StrCat(path, "/", FileMedia::FileName(which));
    if (!IsThere(name)) continue;
    ASSIGN_OR_RETURN(const Mapping* const mapping, Map(name));
    PlaceOf(which)->emplace(Part{
        name, std::make_unique<ViewedRegion>(mapping->base, mapping->size)});
  }
  if (heap_.has_value() || ring_.has_value()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, " has neither ", FileMedia::FileName(kParts[0]),
                   " nor ", FileMedia::FileName(kParts[1]),
                   ": it is not the data folder of a node; if the node runs "
                   "with --device, name the device"));
}

absl::Status CheckMedia::OpenDevice(const std::string& path) {
  ASSIGN_OR_RETURN(const Mapping* const mapping, Map(path));
  if (mapping->size < kCopies * kCopyBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not the device of a node"));
  }
  std::optional<Directory> newest;
  for (size_t copy = 0; copy < kCopies; ++copy) {
    Directory directory;
    std::memcpy(&directory, mapping->base + copy * kCopyBytes,
                sizeof(directory));
    if (!IsWhole(directory)) {
      findings_.push_back(
          absl::StrCat("copy ", copy, " of the device's directory is damaged"));
    } else if (!newest.has_value() || directory.sequence > newest->sequence) {
      newest = directory;
    }
  }
  if (!newest.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path,
                     " is not the device of a node, or both copies of its "
                     "directory are damaged"));
  }
  for (const Slot& slot : newest->slots) {
    const std::string name(slot.name, strnlen(slot.name, kNameBytes));
    const auto* const which = std::find_if(
        std::begin(kParts), std::end(kParts), [&name](Media::Part part) {
          return name == DeviceMedia::ExtentName(part);
        });
    if (which == std::end(kParts)) continue;
    if (slot.offset % kCopyBytes != 0 || slot.length == 0 ||
        slot.offset >= mapping->size ||
        slot.length > mapping->size - slot.offset) {
      findings_.push_back(
          absl::StrCat("the extent of ", name, " lies outside of the device"));
      continue;
    }
    PlaceOf(*which)->emplace(
        Part{absl::StrCat(path, ":", name),
             std::make_unique<ViewedRegion>(mapping->base + slot.offset,
                                            slot.length)});
  }
  return absl::OkStatus();
}

}  // namespace kamino::node
