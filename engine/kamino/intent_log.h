// The intent log (Kamino-Tx, section 3): which ranges a transaction is about to
// change, and how far it got. It holds no data.
//
// Drains: Append takes one, which for the first entry covers the slot's header
// as well; Prepare takes the one that the transaction's data needs anyway; Mark
// takes one; Free takes none of its own.
#ifndef KAMINO_ENGINE_KAMINO_INTENT_LOG_H_
#define KAMINO_ENGINE_KAMINO_INTENT_LOG_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/kamino/intent_log_format.h"
#include "engine/pmem/region.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Thread-safe, as far as each slot is one thread's.
class IntentLog {
 public:
  using Slot = int;

  // `area` lies in `region`; both must outlive the log.
  IntentLog(Region* region, absl::Span<std::byte> area);

  // A free slot, or nothing. Writes nothing.
  absl::optional<Slot> Acquire();

  // Adds an intent, durably. ResourceError(kTransaction): the slot is full.
  absl::Status Append(Slot slot, const Intent& intent);

  // Stores the sequence number and drains what this thread has flushed.
  void Prepare(Slot slot, uint64_t sequence);

  // Sets the commit mark, durably; after Prepare.
  void Mark(Slot slot);

  // Marks the slot free; durable with the caller's next Drain. After that
  // Recycle makes it available.
  void Free(Slot slot);
  void Recycle(Slot slot);

  size_t max_entries() const { return max_entries_; }

  // What a crash left; before the first Acquire.
  struct Unfinished {
    Slot slot;
    bool committed;
    uint64_t sequence;  // committed only
    WriteSet intents;
  };
  std::vector<Unfinished> Scan() const;

 private:
  struct Volatile {
    uint64_t tag = 0;
    size_t count = 0;  // entries
  };

  intent_log_format::SlotHeader* HeaderOf(Slot slot) const;
  intent_log_format::Entry* EntriesOf(Slot slot) const;
  void SetState(Slot slot, intent_log_format::SlotState state);

  Region* const region_;
  std::byte* const base_;
  const size_t slot_bytes_;
  const size_t max_entries_;

  std::array<Volatile, intent_log_format::kSlots> slots_;

  absl::Mutex mutex_;
  std::vector<Slot> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_INTENT_LOG_H_
