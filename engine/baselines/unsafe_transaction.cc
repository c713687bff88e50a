#include <cstring>

#include "absl/memory/memory.h"
#include "base/status_macros.h"
#include "engine/baselines/heap_store.h"

namespace kamino::engine {
namespace {

class UnsafeTransaction final : public HeapTransaction {
 public:
  UnsafeTransaction(HeapStore* store, absl::Duration lock_wait)
      : HeapTransaction(store, lock_wait) {}
  ~UnsafeTransaction() override { AbortIfLive(); }

 private:
  absl::StatusOr<std::byte*> DeclareWrite(HeldObject& held, uint32_t offset,
                                          uint32_t length) override {
    if (flushes_nothing()) return held.bytes.data() + offset;
    Range* range = Covering(held, offset, length);
    if (range == nullptr) {
      AddRange(held, offset, length, /*flushed=*/false);
    } else {
      range->flushed = false;
    }
    return held.bytes.data() + offset;
  }

  absl::Status Put(HeldObject& held, uint32_t offset,
                   absl::Span<const std::byte> bytes) override {
    if (flushes_nothing()) {
      std::memcpy(held.bytes.data() + offset, bytes.data(), bytes.size());
      return absl::OkStatus();
    }
    AddRange(held, offset, static_cast<uint32_t>(bytes.size()),
             /*flushed=*/true);
    region().CopyFlush(held.bytes.data() + offset, bytes.data(), bytes.size());
    DrainIfEach();
    return absl::OkStatus();
  }

  absl::Status LogState(const Intent&) override { return absl::OkStatus(); }

  absl::Status MakeDurable(const CommitOptions& options) override {
    if (flushes_nothing()) {
      StoreStates();
      return options.before_mark.has_value()
                 ? (*options.before_mark)(write_set())
                 : absl::OkStatus();
    }
    FlushRanges();
    FlushAllocated();
    if (options.before_mark.has_value()) {
      region().Drain();
      RETURN_IF_ERROR((*options.before_mark)(write_set()));
    }
    MarkStates();
    if (!drains_each() && !write_set().empty()) region().Drain();
    return absl::OkStatus();
  }

  absl::Status RollBack() override { return absl::OkStatus(); }

  bool flushes_nothing() const { return kind() == HeapScheme::kCached; }
};

}  // namespace

std::unique_ptr<Transaction> MakeUnsafeTransaction(HeapStore* store,
                                                   absl::Duration lock_wait) {
  return absl::make_unique<UnsafeTransaction>(store, lock_wait);
}

}  // namespace kamino::engine
