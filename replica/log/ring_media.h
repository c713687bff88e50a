// The bytes of a log ring in its region (replica/log/ring_format.h): the
// header, the cleaned cursor and the slots of entries.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_LOG_RING_MEDIA_H_
#define KAMINO_REPLICA_LOG_RING_MEDIA_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/chain_mode.h"
#include "engine/pmem/region.h"
#include "replica/log/ring_format.h"
#include "replica/log/ring_space.h"

namespace kamino::replica {

class RingMedia {
 public:
  using HeapUuid = std::array<uint8_t, 16>;

  // The last cleaned mutation, and the offset of the entry after it.
  struct Cleaned {
    uint64_t sequence;
    uint64_t offset;
  };

  // The region must outlive it.
  explicit RingMedia(engine::Region* region) : region_(region) {}

  engine::Region* region() const { return region_; }
  // Bytes for entries.
  uint64_t capacity() const;
  HeapUuid heap() const;
  ChainMode mode() const { return static_cast<ChainMode>(header()->mode); }

  // Writes a header without the magic: until EndFormat the region is no ring.
  // The caller writes the rest of the header between the two calls.
  void BeginFormat(const HeapUuid& heap, ChainMode mode, uint64_t cleaned,
                   uint32_t generation);
  void EndFormat();
  // kFailedPrecondition: not a ring, of another version, or of another heap;
  // kDataLoss: damaged.
  absl::Status CheckHeader(const HeapUuid& heap) const;

  absl::StatusOr<Cleaned> ReadCleaned();
  // Durable on return.
  void PersistCleaned(const Cleaned& cleaned);

  // The slot of the entry that begins with mutation `first`: at `from`, or at
  // the ring's start if `from` has a wrap mark. Nothing if it is not there, is
  // damaged, or takes more than `room` bytes.
  std::optional<RingSlot> Find(uint64_t first, uint64_t from,
                               uint64_t room) const;
  absl::string_view BytesOf(const RingSlot& slot) const;
  // Writes a slot for the entry of `length` bytes that `write` stores, and a
  // wrap mark at `from` if the slot is not there. Durable once the region is
  // drained.
  void Write(uint64_t first, uint64_t length, uint64_t from, uint64_t offset,
             absl::FunctionRef<void(char* to)> write);
  // The slot is no entry any more, durably.
  void Erase(uint64_t offset);

 private:
  ring_format::RingHeader* header() const;
  std::byte* EntryAt(uint64_t slot_offset) const;

  engine::Region* const region_;
  int current_line_ = 0;  // the valid CleanedLine
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LOG_RING_MEDIA_H_
