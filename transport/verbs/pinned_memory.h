// Whole pages of this process alone for a device to read and write.
#ifndef KAMINO_TRANSPORT_VERBS_PINNED_MEMORY_H_
#define KAMINO_TRANSPORT_VERBS_PINNED_MEMORY_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace kamino::transport {

// Zeroed. Registration pins them, not this.
class PinnedMemory {
 public:
  // kResourceExhausted: no memory.
  static absl::StatusOr<PinnedMemory> Allocate(size_t bytes);

  PinnedMemory() = default;
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;
  ~PinnedMemory();

  absl::Span<std::byte> bytes() const { return bytes_; }

 private:
  absl::Span<std::byte> mapped_;  // all of it, for the end
  absl::Span<std::byte> bytes_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_PINNED_MEMORY_H_
