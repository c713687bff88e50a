// Bounds the cost of one request for the thread that executes it. It counts
// touched objects rather than time, so that the same request on the same state
// costs the same at every node and run.
#ifndef KAMINO_REPLICA_REQUEST_METER_H_
#define KAMINO_REPLICA_REQUEST_METER_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/transaction.h"

namespace kamino::replica {

// About 100 ms of the head's core thread, for which all other requests wait: an
// object costs 0.2 to 0.9 us there, locks included, depending on how much of
// the heap is in the processor's cache. (x86-64, 3 GHz; a replica, which takes
// no locks, needs a tenth.)
inline constexpr uint64_t kMaxTouchedObjects = 1u << 17;

// So many bytes of values, read or written, count as one object.
inline constexpr uint64_t kBytesPerTouch = 1024;

// The effect of a request's function on the objects, without its outcome.
struct RoomTaken {
  uint64_t allocated = 0;  // bytes of blocks, headers included
  uint64_t freed = 0;      // likewise
  bool wrote = false;      // it has changed something
};

// Errors are sticky: after the first, every call returns it. Not thread-safe.
class RequestMeter {
 public:
  // Without a limit: the head has admitted the request, so every node must.
  RequestMeter() = default;
  // `abandoned`, which may be null or empty and outlives this, tells whether
  // the client has stopped waiting; it is called now and then. It need not be
  // deterministic: the requests that it ends have not entered the chain.
  explicit RequestMeter(uint64_t max_touched,
                        const std::function<bool()>* abandoned = nullptr)
      : max_touched_(max_touched), abandoned_(abandoned) {}

  // kResourceExhausted (REASON_TOO_LARGE): the limit is passed. kCancelled: the
  // request was abandoned.
  absl::Status TouchObject() { return Touch(1); }
  absl::Status TouchBytes(uint64_t bytes);

  // The function has written something, or allocated or freed a block of so
  // many bytes.
  void NoteWrite() { room_.wrote = true; }
  void NoteAlloc(uint64_t bytes);
  void NoteFree(uint64_t bytes);

  uint64_t touched() const { return touched_; }
  const RoomTaken& room() const { return room_; }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status Touch(uint64_t objects);

  const uint64_t max_touched_ = ~uint64_t{0};
  const std::function<bool()>* const abandoned_ = nullptr;
  uint64_t touched_ = 0;
  uint64_t asked_at_ = 0;   // touched_ when abandoned_ was asked last
  uint64_t odd_bytes_ = 0;  // less than kBytesPerTouch
  RoomTaken room_;
  absl::Status status_;
};

// A transaction that counts each access. Both must outlive this. The code that
// began the transaction ends it.
class MeteredTransaction final : public engine::Transaction {
 public:
  MeteredTransaction(engine::Transaction* transaction, RequestMeter* meter)
      : transaction_(transaction), meter_(meter) {}

  absl::StatusOr<absl::Span<const std::byte>> Read(
      engine::ObjectId id) override;
  void Prefetch(engine::ObjectId id) const override {
    transaction_->Prefetch(id);
  }
  absl::StatusOr<std::byte*> Write(engine::ObjectId id, uint32_t offset,
                                   uint32_t length) override;
  absl::Status ForeseeWrites(absl::Span<const engine::Intent> writes) override {
    return transaction_->ForeseeWrites(writes);
  }
  absl::Status ExpectWrites(
      absl::Span<const engine::ObjectId> objects) override {
    return transaction_->ExpectWrites(objects);
  }
  bool gathers_copies() const override {
    return transaction_->gathers_copies();
  }
  absl::Status Overwrite(engine::ObjectId id, uint32_t offset,
                         absl::Span<const std::byte> bytes) override;
  absl::Status OverwriteBoth(engine::ObjectId id, uint32_t offset,
                             absl::Span<const std::byte> head,
                             absl::Span<const std::byte> bytes) override;
  absl::StatusOr<engine::ObjectId> Alloc(uint32_t size) override;
  absl::Status Free(engine::ObjectId id) override;
  using Transaction::Commit;
  absl::Status Commit(const engine::CommitOptions& options) override;
  absl::Status Abort() override;
  const engine::WriteSet& write_set() const override {
    return transaction_->write_set();
  }
  std::optional<engine::ObjectId> conflict() const override {
    return transaction_->conflict();
  }
  void ForgetConflict() override { transaction_->ForgetConflict(); }

 private:
  // Bytes of the block of `id`, which was declared last with that kind.
  uint64_t LastBlock(engine::ObjectId id, engine::IntentKind kind) const;

  engine::Transaction* const transaction_;
  RequestMeter* const meter_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_REQUEST_METER_H_
