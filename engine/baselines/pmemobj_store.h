// Undo logging as libpmemobj does it, through its public interface, with its
// own allocator and its defaults: the baseline that section 7 of the paper
// compares with.
//
// libpmemobj does not check the offsets it is given, and does not know objects'
// sizes to the byte; so that a bad id is an error here as elsewhere, every
// object begins with 16 bytes that say what it is. A look-up costs one load,
// from the object itself.
//
// before_mark is called when all that the transaction has written is durable.
#ifndef KAMINO_ENGINE_BASELINES_PMEMOBJ_STORE_H_
#define KAMINO_ENGINE_BASELINES_PMEMOBJ_STORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/baselines/baseline_transaction.h"
#include "engine/prefetch.h"
#include "engine/transactional_store.h"

struct pmemobjpool;

namespace kamino::engine {

enum class UndoUnit {
  kObject,  // "undo-object": the whole object at its first write
  kRange,   // "undo-range": what is declared
};

// Thread-safe, but a Transaction is one thread's, and a thread may have one
// live transaction that has changed something (asserted). ObjectIds are offsets
// in the pool.
class PmemobjStore final : public TransactionalStore {
 public:
  // A new pool on a new file, with all its space allocated. kAlreadyExists: the
  // path exists; kInvalidArgument: too small; kResourceExhausted: no space;
  // kFailedPrecondition: cannot be made.
  static absl::StatusOr<std::unique_ptr<PmemobjStore>> Create(
      const std::string& path, size_t bytes, UndoUnit unit);

  // An existing pool, recovered. kNotFound; kFailedPrecondition: in use, or not
  // a pool of this.
  static absl::StatusOr<std::unique_ptr<PmemobjStore>> Open(
      const std::string& path, UndoUnit unit);

  ~PmemobjStore() override;
  PmemobjStore(const PmemobjStore&) = delete;
  PmemobjStore& operator=(const PmemobjStore&) = delete;

  absl::string_view scheme() const override;
  std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) override;
  ObjectId root() const override { return root_; }
  void Quiesce() override {}  // nothing is left to do after an end
  // Counts only those logs that are part of the pool.
  uint64_t bytes_used() const override;

 private:
  friend class PmemobjTransaction;

  PmemobjStore(pmemobjpool* pool, UndoUnit unit, uint64_t pool_bytes);
  // Finds the root and all objects, or closes the pool.
  static absl::StatusOr<std::unique_ptr<PmemobjStore>> Load(
      pmemobjpool* pool, UndoUnit unit, const std::string& path);
  absl::Status FindObjects();

  // Precedes every payload. A caller may pass an id that names no object.
  struct Prefix {
    uint64_t size;  // of the payload
    uint64_t tag;   // the store's and the id, while the object is live
  };

  // libpmemobj's offset of the object.
  static uint64_t OffsetOf(ObjectId id) { return id - sizeof(Prefix); }
  Prefix* PrefixOf(ObjectId id) const {
    return reinterpret_cast<Prefix*>(base_ + OffsetOf(id));
  }
  // The object must be allocated, committed or not.
  absl::Span<std::byte> PayloadOf(ObjectId id) const {
    return absl::MakeSpan(base_ + id, PrefixOf(id)->size);
  }
  // Any number may be given to these.
  bool IsLive(ObjectId id) const;
  void Prefetch(ObjectId id) const {
    const uintptr_t prefix = reinterpret_cast<uintptr_t>(base_) + OffsetOf(id);
    PrefetchToRead(prefix);
    PrefetchToRead(prefix + sizeof(Prefix));
  }
  // Returns the id of a new object at that offset. It is not live yet.
  ObjectId MakePrefix(uint64_t offset);
  // The store need not be durable: tags differ each time a pool is open. The
  // caller holds the object's lock, or knows that no transaction can.
  void SetLive(ObjectId id, bool live);

  pmemobjpool* const pool_;
  const UndoUnit unit_;
  const uint64_t pool_bytes_;
  uint64_t pool_uuid_ = 0;
  std::byte* base_ = nullptr;
  ObjectId root_ = kNullObject;

  uint64_t tag_ = 0;  // of this time that the pool is open
  std::atomic<uint64_t> bytes_live_{0};
  ObjectLocks locks_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_PMEMOBJ_STORE_H_
