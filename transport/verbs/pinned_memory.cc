#include "transport/verbs/pinned_memory.h"

#include <errno.h>
#include <sys/mman.h>

#include <cstdint>
#include <utility>

#include "absl/status/status.h"

namespace kamino::transport {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

absl::StatusOr<PinnedMemory> PinnedMemory::Allocate(size_t bytes) {
  // Aligned to a huge page: fewer faults to fill it, fewer pages to pin, fewer
  // translations for the device.
  const size_t reserved = bytes + kHugePage;
  void* mapped = ::mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::ErrnoToStatus(errno, "memory for a verbs ring").message());
  }
  PinnedMemory memory;
  memory.mapped_ = {static_cast<std::byte*>(mapped), reserved};
  const auto address = reinterpret_cast<uintptr_t>(mapped);
  const size_t skip = (kHugePage - address % kHugePage) % kHugePage;
  memory.bytes_ = memory.mapped_.subspan(skip, bytes);
  // A child's copy-on-write would move the pages under the device.
  ::madvise(mapped, reserved, MADV_DONTFORK);
  // No matter if the kernel has no huge pages; the rest is never touched.
  ::madvise(memory.bytes_.data(), bytes, MADV_HUGEPAGE);
  return memory;
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : mapped_(std::exchange(other.mapped_, {})),
      bytes_(std::exchange(other.bytes_, {})) {}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PinnedMemory::~PinnedMemory() {
  if (!mapped_.empty()) ::munmap(mapped_.data(), mapped_.size());
}

}  // namespace kamino::transport
