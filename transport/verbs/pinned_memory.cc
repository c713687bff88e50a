#include "transport/verbs/pinned_memory.h"

#include <errno.h>
#include <sys/mman.h>

#include <utility>

#include "absl/status/status.h"

namespace kamino::transport {

absl::StatusOr<PinnedMemory> PinnedMemory::Allocate(size_t bytes) {
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::ErrnoToStatus(errno, "memory for a verbs ring").message());
  }
  // A child's copy-on-write would move the pages under the device.
  ::madvise(base, bytes, MADV_DONTFORK);
  // Fewer translations for the device; no matter if the kernel has none.
  ::madvise(base, bytes, MADV_HUGEPAGE);
  PinnedMemory memory;
  memory.bytes_ = {static_cast<std::byte*>(base), bytes};
  return memory;
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})) {}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

PinnedMemory::~PinnedMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace kamino::transport
