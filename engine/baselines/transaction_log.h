// A log of changes with their bytes: old ones for undo, new ones for redo.
//
// Everything here flushes and nothing drains but what takes space from the
// heap: the schemes know best which drains they can share. An entry is
// self-checking, so one drain makes it durable, whole.
#ifndef KAMINO_ENGINE_BASELINES_TRANSACTION_LOG_H_
#define KAMINO_ENGINE_BASELINES_TRANSACTION_LOG_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/baselines/transaction_log_format.h"
#include "engine/heap/heap.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Thread-safe, as far as each slot is one thread's.
class TransactionLog {
 public:
  using Slot = int;

  // In the heap's log area; the heap must outlive the log.
  explicit TransactionLog(Heap* heap);

  // A free slot, or nothing. Writes nothing.
  std::optional<Slot> Acquire();

  // Adds an intent; for a write, `bytes` are intent.length ones. A slot that
  // is full grows into space of the heap. ResourceError(kTransaction): there is
  // none; what has been added of this intent then does no harm.
  absl::Status Append(Slot slot, const Intent& intent, const std::byte* bytes);

  // Adds the mark, for which there is always room.
  void AppendMark(Slot slot);

  // Makes the slot's entries void. Durable, it can be recycled.
  void Retire(Slot slot);
  void Recycle(Slot slot);

  struct Record {
    Intent intent;
    const std::byte* bytes;  // of a write; in the log
  };
  struct Contents {
    std::vector<Record> records;
    bool marked = false;
  };
  // Contents of the slot: while its transaction is live, or, before the first
  // Acquire, what a crash left. kDataLoss: the heap has no such block.
  absl::StatusOr<Contents> Read(Slot slot) const;

  // For the end of a recovery: includes slots that cannot be read.
  void RetireAll();

  // Makes the block of an alloc or free intent allocated or free, and flushes.
  // Puts the bytes of a write in their place, and flushes. kDataLoss: the heap
  // has no such block or range.
  absl::Status SetAllocated(const Intent& intent, bool allocated) const;
  absl::Status PutBytes(const Record& record) const;

 private:
  struct alignas(64) Volatile {
    uint64_t tag = 0;
    std::byte* chunk = nullptr;  // where entries are added
    size_t size = 0;             // of the chunk, a multiple of kEntryAlignment
    size_t used = 0;
    std::vector<ObjectId> blocks;  // grown into
  };
  using EntryHeader = transaction_log_format::EntryHeader;
  using EntryKind = transaction_log_format::EntryKind;

  transaction_log_format::SlotHeader* HeaderOf(Slot slot) const;
  absl::Span<std::byte> EntriesOf(Slot slot) const;
  uint64_t CheckOf(Slot slot, const EntryHeader& header, const std::byte* place,
                   const std::byte* data, size_t data_bytes) const;
  void Add(Slot slot, EntryKind kind, const Intent& intent,
           const std::byte* data, size_t data_bytes);
  absl::Status Grow(Slot slot, size_t wanted);

  Heap* const heap_;
  Region* const region_;
  std::byte* const base_;
  const size_t slot_bytes_;
  const uint64_t seed_;

  std::array<Volatile, transaction_log_format::kSlots> slots_;
  std::atomic<uint64_t> free_{~uint64_t{0}};  // a bit for each slot
};

static_assert(transaction_log_format::kSlots == 64, "TransactionLog::free_");

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_TRANSACTION_LOG_H_
