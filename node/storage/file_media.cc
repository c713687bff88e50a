#include "node/storage/file_media.h"

#include <filesystem>
#include <system_error>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::node {
namespace {

using engine::FileRegion;
using engine::Region;

absl::Status FileError(const std::error_code& error, absl::string_view what,
                       const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", what, " ", path, ": ", error.message()));
}

absl::Status RemoveFile(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  return error ? FileError(error, "remove", path) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Media>> FileMedia::Open(
    const std::string& data_dir, engine::PmemMode pmem, bool prefault) {
  std::error_code error;
  std::filesystem::create_directories(data_dir, error);
  if (error) return FileError(error, "make", data_dir);
  return std::unique_ptr<Media>(new FileMedia(data_dir, pmem, prefault));
}

absl::string_view FileMedia::FileName(Part part) {
  switch (part) {
    case Part::kHeap:
      return "heap.pmem";
    case Part::kRing:
      return "ring.pmem";
    case Part::kUndoCopy:
      return "undo_copy.pmem";
  }
  return "";
}

std::string FileMedia::Name(Part part) const {
  return absl::StrCat(data_dir_, "/", FileName(part));
}

std::string FileMedia::Unfinished(Part part) const {
  return absl::StrCat(Name(part), ".new");
}

bool FileMedia::Exists(Part part) const {
  std::error_code error;
  return std::filesystem::exists(Name(part), error);
}

absl::StatusOr<std::unique_ptr<Region>> FileMedia::Create(Part part,
                                                          size_t bytes) {
  RETURN_IF_ERROR(RemoveFile(Unfinished(part)));
  ASSIGN_OR_RETURN(auto region,
                   FileRegion::Create(Unfinished(part), bytes, pmem_));
  if (prefault_) region->Populate();
  return std::unique_ptr<Region>(std::move(region));
}

absl::Status FileMedia::Publish(Part part) {
  return FileRegion::Rename(Unfinished(part), Name(part));
}

absl::StatusOr<std::unique_ptr<Region>> FileMedia::Open(Part part) {
  ASSIGN_OR_RETURN(auto region, FileRegion::Open(Name(part), pmem_));
  return std::unique_ptr<Region>(std::move(region));
}

absl::Status FileMedia::Remove(Part part) { return RemoveFile(Name(part)); }

}  // namespace kamino::node
