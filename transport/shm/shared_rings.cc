#include "transport/shm/shared_rings.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "transport/shm/unmap.h"

namespace kamino::transport {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

absl::Status Exhausted(absl::string_view what) {
  return absl::ResourceExhaustedError(
      absl::StrCat("shared memory: ", what, ": ", ::strerror(errno)));
}

}  // namespace

absl::StatusOr<SharedRings::Created> SharedRings::Create(size_t ring_bytes) {
  size_t rounded = kLeastRingBytes;
  while (rounded < ring_bytes) rounded *= 2;
  UniqueFd fd(::memfd_create("kamino-link", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return Exhausted("memfd_create");
  const off_t size = static_cast<off_t>(SharedBytes(rounded));
  // Allocated now: later, lack of memory would be a SIGBUS.
  if (::ftruncate(fd.get(), size) != 0) return Exhausted("ftruncate");
  if (::fallocate(fd.get(), 0, 0, size) != 0) return Exhausted("fallocate");
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return Exhausted("seal");
  ASSIGN_OR_RETURN(SharedRings rings, Map(fd.get(), rounded));
  return Created{std::move(rings), std::move(fd)};
}

absl::StatusOr<SharedRings> SharedRings::Adopt(const UniqueFd& fd,
                                               uint64_t ring_bytes) {
  if (!fd.valid()) {
    return absl::FailedPreconditionError("the peer passed no shared memory");
  }
  if (ring_bytes < kLeastRingBytes || ring_bytes > kMostRingBytes ||
      (ring_bytes & (ring_bytes - 1)) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the peer's rings are of ", ring_bytes, " bytes"));
  }
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  struct stat info;
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 ||
      ::fstat(fd.get(), &info) != 0 ||
      static_cast<uint64_t>(info.st_size) != SharedBytes(ring_bytes)) {
    return absl::FailedPreconditionError(
        "the peer's shared memory is not sealed, or not of the size it says");
  }
  return Map(fd.get(), ring_bytes);
}

absl::StatusOr<SharedRings> SharedRings::Map(int fd, size_t ring_bytes) {
  void* base = ::mmap(nullptr, SharedBytes(ring_bytes), PROT_READ | PROT_WRITE,
                      MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return Exhausted("mmap");
  SharedRings rings;
  rings.base_ = static_cast<std::byte*>(base);
  rings.ring_bytes_ = ring_bytes;
  return rings;
}

SharedRings::SharedRings(SharedRings&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      ring_bytes_(std::exchange(other.ring_bytes_, 0)) {}

SharedRings& SharedRings::operator=(SharedRings&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(ring_bytes_, other.ring_bytes_);
  return *this;
}

SharedRings::~SharedRings() {
  if (base_ != nullptr) UnmapSoon(base_, SharedBytes(ring_bytes_));
}

}  // namespace kamino::transport
