#include <cstring>

#include "absl/memory/memory.h"
#include "base/status_macros.h"
#include "engine/baselines/heap_store.h"

namespace kamino::engine {
namespace {

class CowTransaction final : public HeapTransaction {
 public:
  CowTransaction(HeapStore* store, absl::Duration lock_wait)
      : HeapTransaction(store, lock_wait) {}
  ~CowTransaction() override { AbortIfLive(); }

 private:
  absl::StatusOr<std::byte*> DeclareWrite(HeldObject& held, uint32_t offset,
                                          uint32_t length) override {
    MakeShadow(held, 0, 0);
    if (Covering(held, offset, length) == nullptr) {
      AddRange(held, offset, length, /*flushed=*/false);
    }
    return held.bytes.data() + offset;
  }

  absl::Status Put(HeldObject& held, uint32_t offset,
                   absl::Span<const std::byte> bytes) override {
    MakeShadow(held, offset, bytes.size());
    ASSIGN_OR_RETURN(
        auto target,
        DeclareWrite(held, offset, static_cast<uint32_t>(bytes.size())));
    std::memcpy(target, bytes.data(), bytes.size());
    return absl::OkStatus();
  }

  // The range [offset, offset + length) of a new one is left for the caller.
  void MakeShadow(HeldObject& held, size_t offset, size_t length) {
    if (held.shadow != nullptr) return;
    const size_t size = held.bytes.size();
    // Not make_unique, which would zero it.
    held.shadow.reset(new std::byte[size]);
    std::byte* const shadow = held.shadow.get();
    const size_t end = offset + length;
    std::memcpy(shadow, held.bytes.data(), offset);
    std::memcpy(shadow + end, held.bytes.data() + end, size - end);
    held.bytes = absl::MakeSpan(shadow, size);
  }

  // Logged at commit with the writes: an aborted transaction logs nothing.
  absl::Status LogState(const Intent&) override { return absl::OkStatus(); }

  absl::Status MakeDurable(const CommitOptions& options) override {
    FlushAllocated();
    RETURN_IF_ERROR(LogChanges());
    if (!slot().taken() && !options.before_mark.has_value()) {
      return absl::OkStatus();
    }
    // The mark covers the log, but not the bytes of new objects.
    if (states_change() || options.before_mark.has_value()) region().Drain();
    if (options.before_mark.has_value()) {
      RETURN_IF_ERROR((*options.before_mark)(write_set()));
    }
    if (!slot().taken()) return absl::OkStatus();
    slot().AppendMark();
    region().Drain();
    PutInPlace();
    MarkStates();
    region().Drain();
    slot().Retire();
    return absl::OkStatus();
  }

  absl::Status LogChanges() {
    for (const Range& range : ranges()) {
      const HeldObject& object = held()[range.object];
      if (object.freed || range.length == 0) continue;
      RETURN_IF_ERROR(slot().Append({object.id, range.offset, range.length},
                                    object.bytes.data() + range.offset));
    }
    if (!states_change()) return absl::OkStatus();
    for (const HeldObject& object : held()) {
      if (object.allocated == object.freed) continue;
      RETURN_IF_ERROR(slot().Append(
          {object.id, 0, static_cast<uint32_t>(object.bytes.size()),
           object.allocated ? IntentKind::kAlloc : IntentKind::kFree},
          nullptr));
    }
    return absl::OkStatus();
  }

  bool Allocates() {
    if (!states_change()) return false;
    for (const HeldObject& object : held()) {
      if (object.allocated && !object.freed) return true;
    }
    return false;
  }

  void PutInPlace() {
    for (const Range& range : ranges()) {
      const HeldObject& object = held()[range.object];
      if (object.freed) continue;
      region().CopyFlush(heap().BlockPayload(object.id).data() + range.offset,
                         object.bytes.data() + range.offset, range.length);
    }
  }

  absl::Status RollBack() override {
    // Entries without a mark, of a commit that failed.
    slot().Retire();
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Transaction> MakeCowTransaction(HeapStore* store,
                                                absl::Duration lock_wait) {
  return absl::make_unique<CowTransaction>(store, lock_wait);
}

}  // namespace kamino::engine
