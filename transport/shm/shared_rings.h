// Owns one side's mapping of a link's shared memory.
#ifndef KAMINO_TRANSPORT_SHM_SHARED_RINGS_H_
#define KAMINO_TRANSPORT_SHM_SHARED_RINGS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/loop/unique_fd.h"
#include "transport/shm/shm_format.h"

namespace kamino::transport {

// Thread-safe except for moves.
class SharedRings {
 public:
  // A fresh memory file, zeroed, whose size can never change again. `fd` names
  // it and may be closed once it is passed on. `ring_bytes` is rounded up to a
  // power of two. kResourceExhausted: no memory.
  struct Created;
  static absl::StatusOr<Created> Create(size_t ring_bytes);

  // Maps the peer's file. kFailedPrecondition: it is not one that Create made;
  // above all, a file that could shrink would kill the reader with SIGBUS.
  static absl::StatusOr<SharedRings> Adopt(const UniqueFd& fd,
                                           uint64_t ring_bytes);

  SharedRings() = default;  // maps nothing
  SharedRings(SharedRings&& other) noexcept;
  SharedRings& operator=(SharedRings&& other) noexcept;
  ~SharedRings();

  SharedControl& control() const {
    return *reinterpret_cast<SharedControl*>(base_);
  }
  absl::Span<std::byte> to_acceptor() const {
    return {base_ + kRingDataOffset, ring_bytes_};
  }
  absl::Span<std::byte> to_connector() const {
    return {base_ + kRingDataOffset + ring_bytes_, ring_bytes_};
  }
  size_t ring_bytes() const { return ring_bytes_; }

 private:
  static absl::StatusOr<SharedRings> Map(int fd, size_t ring_bytes);

  std::byte* base_ = nullptr;
  size_t ring_bytes_ = 0;
};

struct SharedRings::Created {
  SharedRings rings;
  UniqueFd fd;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SHM_SHARED_RINGS_H_
