#include "absl/memory/memory.h"
#include "base/status_macros.h"
#include "engine/baselines/heap_store.h"

namespace kamino::engine {
namespace {

class UndoTransaction final : public HeapTransaction {
 public:
  UndoTransaction(HeapStore* store, absl::Duration lock_wait)
      : HeapTransaction(store, lock_wait) {}
  ~UndoTransaction() override { AbortIfLive(); }

 private:
  absl::StatusOr<std::byte*> DeclareWrite(HeldObject& held, uint32_t offset,
                                          uint32_t length) override {
    if (Range* range = Covering(held, offset, length); range != nullptr) {
      range->flushed = false;
      return held.bytes.data() + offset;
    }
    RETURN_IF_ERROR(Save(held, offset, length));
    AddRange(held, offset, length, /*flushed=*/false);
    return held.bytes.data() + offset;
  }

  absl::Status Put(HeldObject& held, uint32_t offset,
                   absl::Span<const std::byte> bytes) override {
    const uint32_t length = static_cast<uint32_t>(bytes.size());
    if (Covering(held, offset, length) == nullptr) {
      RETURN_IF_ERROR(Save(held, offset, length));
      AddRange(held, offset, length, /*flushed=*/true);
    }
    region().CopyFlush(held.bytes.data() + offset, bytes.data(), length);
    DrainIfEach();
    return absl::OkStatus();
  }

  absl::Status DeclareWrites(absl::Span<const Intent> writes) override {
    ranges().Expect(writes.size());
    bool any = false;
    for (const Intent& write : writes) {
      const HeldObject& held = *this->held().Find(write.object);
      Range* range = Covering(held, write.offset, write.length);
      if (range != nullptr) {
        range->flushed = false;
        continue;
      }
      RETURN_IF_ERROR(slot().Append(write, held.bytes.data() + write.offset));
      AddRange(held, write.offset, write.length, /*flushed=*/false);
      any = true;
    }
    if (any) DrainEntries();
    return absl::OkStatus();
  }

  // The old bytes are durable on return, and all entries before.
  absl::Status Save(const HeldObject& held, uint32_t offset, uint32_t length) {
    RETURN_IF_ERROR(
        slot().Append({held.id, offset, length}, held.bytes.data() + offset));
    DrainEntries();
    return absl::OkStatus();
  }

  void DrainEntries() {
    region().Drain();
    state_waits_ = false;
  }

  // Headers change at commit only, so these wait for a drain that comes anyway.
  absl::Status LogState(const Intent& intent) override {
    state_waits_ = true;
    return slot().Append(intent, nullptr);
  }

  absl::Status MakeDurable(const CommitOptions& options) override {
    FlushRanges();
    FlushAllocated();
    if (state_waits_) region().Drain();
    MarkStates();
    if (!drains_each() && slot().taken()) region().Drain();
    if (options.before_mark.has_value()) {
      RETURN_IF_ERROR((*options.before_mark)(write_set()));
    }
    slot().Retire();
    return absl::OkStatus();
  }

  absl::Status RollBack() override {
    if (!slot().taken()) return absl::OkStatus();
    ASSIGN_OR_RETURN(auto contents, slot().Read());
    RETURN_IF_ERROR(engine::RollBack(log(), contents));
    region().Drain();
    slot().Retire();
    return absl::OkStatus();
  }

  bool state_waits_ = false;  // for a drain, before headers may change
};

}  // namespace

std::unique_ptr<Transaction> MakeUndoTransaction(HeapStore* store,
                                                 absl::Duration lock_wait) {
  return absl::make_unique<UndoTransaction>(store, lock_wait);
}

}  // namespace kamino::engine
