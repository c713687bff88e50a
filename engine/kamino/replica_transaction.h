// Executes an operation in place at a replica (section 5.1): the write set came
// with it and is durable in the ring, which is the intent log. So this keeps no
// log, takes no locks, and cannot be aborted. In a traditional chain
// replica/state/local_undo.h keeps the data for a rollback before this begins.
#ifndef KAMINO_ENGINE_KAMINO_REPLICA_TRANSACTION_H_
#define KAMINO_ENGINE_KAMINO_REPLICA_TRANSACTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "engine/heap/heap.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Every declaration must equal the next one of `write_set`: otherwise kDataLoss
// ("diverged: ...") from the call that differs or, for a missing declaration,
// from Commit; the node must then stop. Alloc returns the ids of the write set.
// Commit gives freed objects back to the allocator. In mode kamino no later
// operation of the chain reuses their space before all nodes freed them; in the
// others (base/chain_mode.h, Pipelines) one may, once the head has it back.
// Abort and destruction without Commit leave the heap torn: in mode kamino a
// neighbour repairs it by the ring, in mode images the node itself
// (replica/repair/roll_forward.h); in mode traditional
// replica/state/local_undo.h rolls it back.
class ReplicaTransaction : public Transaction {
 public:
  // Both must outlive this; the heap is loaded.
  ReplicaTransaction(Heap* heap, const WriteSet& write_set);
  ~ReplicaTransaction() override;

  // AfterImage::hash of the result. `filled` is the head's AfterImage::filled.
  uint64_t HashImage(absl::Span<const uint32_t> filled) const;

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override;
  absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                   uint32_t length) override;
  absl::Status OverwriteBoth(ObjectId id, uint32_t offset,
                             absl::Span<const std::byte> head,
                             absl::Span<const std::byte> bytes) override;
  absl::StatusOr<ObjectId> Alloc(uint32_t size) override;
  absl::Status Free(ObjectId id) override;
  using Transaction::Commit;
  // Calls options.before_mark; ignores the rest.
  absl::Status Commit(const CommitOptions& options) override;
  absl::Status Abort() override;
  const WriteSet& write_set() const override;
  std::optional<ObjectId> conflict() const override { return std::nullopt; }
  void ForgetConflict() override {}

 protected:
  // --- Access to the bytes.

  // kNotFound: no object has this id.
  virtual absl::StatusOr<absl::Span<std::byte>> Find(ObjectId id) const {
    return heap_->Payload(id);
  }
  // The bytes of an object that Find has found, for stores.
  virtual absl::Span<std::byte> Open(ObjectId id) {
    return heap_->BlockPayload(id);
  }
  // The block of an allocation, zeroed.
  virtual absl::Status Make(const Intent& intent);
  // Makes the declared ranges durable.
  virtual void Store();
  // After before_mark.
  virtual void Finish();

  Heap* heap() const { return heap_; }

 private:
  absl::Status Expect(const Intent& intent);
  // Loads the range of that declaration into the cache: the header, and the
  // first KiB of the range.
  void PrefetchExpected(size_t index) const;
  absl::Status Diverged(const Intent& intent) const;

  Heap* const heap_;
  const WriteSet& expected_;
  size_t next_ = 0;    // of expected_
  WriteSet declared_;  // a prefix of expected_
  absl::flat_hash_set<ObjectId> allocated_;
  absl::flat_hash_set<ObjectId> freed_;
};

// The same without effect: its stores go to memory. A node learns by it the
// result of an operation that it must not execute yet.
class TrialTransaction final : public ReplicaTransaction {
 public:
  using ReplicaTransaction::ReplicaTransaction;

 protected:
  absl::StatusOr<absl::Span<std::byte>> Find(ObjectId id) const override;
  absl::Span<std::byte> Open(ObjectId id) override;
  absl::Status Make(const Intent& intent) override;
  void Store() override {}
  void Finish() override {}

 private:
  // The new content of stored or allocated objects.
  using Payload = std::unique_ptr<std::vector<std::byte>>;
  absl::flat_hash_map<ObjectId, Payload> payloads_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_REPLICA_TRANSACTION_H_
