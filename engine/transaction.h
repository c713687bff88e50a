// The interface that every atomicity scheme implements. Data structures,
// procedures and benches are written against it (Kamino-Tx, section 6.1: begin,
// intent, alloc, free, commit, abort).
//
// Invariants of every implementation:
//   1. Before a store to a declared range can reach the medium, the scheme has
//      made durable what rolls it back or forward.
//   2. Commit fixes the transaction's place in the order of commits. Every
//      transaction at or below TransactionalStore::durable_sequence() survives
//      every crash whole; of the later commits a prefix of that order survives.
//      Most schemes make everything durable before Commit returns. A crash
//      during Commit leaves the whole transaction or nothing.
//   3. After Abort, or a crash before the commit, the heap equals the one
//      before Begin.
#ifndef KAMINO_ENGINE_TRANSACTION_H_
#define KAMINO_ENGINE_TRANSACTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace kamino::engine {

// Byte offset of an object's payload from the start of the heap's region; the
// same on every node of a chain. A multiple of 64. Zero names no object.
using ObjectId = uint64_t;
inline constexpr ObjectId kNullObject = 0;

// Largest payload of one object, in bytes: a 1 MiB value, its key of at most
// 1 KiB, and the record header, with room to spare.
inline constexpr uint32_t kMaxObjectBytes = (1u << 20) + (8u << 10);

// Numbers are persisted (commit log, log ring); never change them.
enum class IntentKind : uint8_t {
  kWrite = 1,  // bytes [offset, offset + length) of the payload
  kAlloc = 2,  // length = payload capacity in bytes; offset = 0
  kFree = 3,   // length = payload capacity in bytes; offset = 0
};

struct Intent {
  ObjectId object = kNullObject;
  uint32_t offset = 0;  // bytes into the payload
  uint32_t length = 0;  // bytes
  IntentKind kind = IntentKind::kWrite;

  friend bool operator==(const Intent& a, const Intent& b) {
    return a.object == b.object && a.offset == b.offset &&
           a.length == b.length && a.kind == b.kind;
  }
};

// In the order the transaction declared them.
using WriteSet = std::vector<Intent>;

// Summary of what a transaction left in its write set's ranges. A node that
// executes the same mutation compares its result by it.
struct AfterImage {
  // The checksums of the ranges after the transaction, folded in the write
  // set's order. Frees and freed objects do not count. 0: not known.
  uint64_t hash = 0;
  // For each allocation of the write set, in order: so many bytes from the
  // payload's start are in the hash; the rest are zeros.
  std::vector<uint32_t> filled;
};

// Something objects can be read from. Not thread-safe.
class Reader {
 public:
  virtual ~Reader() = default;

  // The object's whole payload (its capacity, which may exceed the size passed
  // to Alloc). The bytes belong to the heap. They stay valid and stable until
  // the transaction ends, except for the transaction's own writes, which only a
  // later Read is certain to show.
  //
  // kNotFound: no live object has this id. kAborted: see
  // Transaction::conflict(). kDataLoss: its bytes are lost for good
  // (RecoveryReport::lost_objects). Only a scheme that leaves flushes to the
  // cache can lose them.
  virtual absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) = 0;

  // Hint that the object will be read soon: loads what Read looks at first into
  // the cache. `id` may be any number.
  virtual void Prefetch(ObjectId) const {}
};

struct CommitOptions {
  // Number recorded with the commit, where the scheme records one
  // (docs/use/engine.md, "After a crash"): recovery reports the largest. Zero:
  // the scheme numbers by itself.
  uint64_t sequence = 0;

  // If not null, a Commit that succeeds stores here the value that
  // TransactionalStore::durable_sequence() must reach before this transaction
  // survives a crash. Initially 0: it survives as soon as Commit returns.
  uint64_t* durable_at = nullptr;

  // When set, the locks of the written objects stay held after the undo copy
  // has the changes, until the scheme's ReleaseHold(sequence) (section 5.1:
  // until the tail's completion).
  bool hold_locks = false;

  // Called after everything that recovery needs to roll the transaction forward
  // is durable, and before its commit record is. Some stores may not be in
  // place yet; each scheme's store documents which. An error aborts the
  // transaction, and Commit returns it.
  std::optional<absl::FunctionRef<absl::Status(const WriteSet&)>> before_mark;

  // If not null and the scheme knows it: filled in before that call.
  AfterImage* image = nullptr;
};

// One transaction. Used by one thread. Ending it twice, or using it after its
// end, is a bug and asserted. Destroying a live one aborts it.
class Transaction : public Reader {
 public:
  // Declares an intent for [offset, offset + length) of the payload and returns
  // the writable bytes, which hold the object's current content. Bytes stored
  // there become durable at Commit. An object that this transaction allocated
  // gets no intent.
  //
  // kNotFound: no live object. kOutOfRange: range outside the payload.
  // kResourceExhausted: log or undo copy full. kAborted: conflict(). kDataLoss:
  // as Read's. After an error the transaction can only be aborted, except by
  // ForgetConflict. A Commit nevertheless fails with that error, or commits
  // what was declared before it.
  virtual absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                           uint32_t length) = 0;

  // Declares these intents, all kWrite, in this order, as one Write for each
  // would. A scheme does so with one set of drains, while each Write would have
  // its own. A scheme that logs each word may drain more often than for Writes
  // (docs/use/engine.md). Later calls of Write or Overwrite within a declared
  // range change its bytes. These calls count as
  // ranges of their own where ranges are counted, and wait for no drain; but
  // Kamino over an undo log saves the bytes that they change once more.
  //
  // kInvalidArgument: an intent of another kind, and nothing was declared.
  // Errors otherwise: as Write's.
  virtual absl::Status Declare(absl::Span<const Intent> intents);

  // Announces calls of Write for these ranges, in this order. Declares nothing,
  // but a scheme that saves old bytes can make them all durable at once.
  // Errors: as Write's.
  virtual absl::Status ForeseeWrites(absl::Span<const Intent> /*writes*/) {
    return absl::OkStatus();
  }

  // Announces writes to these live objects, in any order; `objects` may repeat
  // one. Declares nothing, but locks the objects as Write does. A scheme that
  // copies an object before its first write makes all these copies durable with
  // one set of drains. Errors: as Write's.
  virtual absl::Status ExpectWrites(absl::Span<const ObjectId> /*objects*/) {
    return absl::OkStatus();
  }
  // Whether ExpectWrites saves drains.
  virtual bool gathers_copies() const { return false; }

  // Declares an intent for [offset, offset + bytes.size()) and stores `bytes`
  // there; Read shows them at once. Faster than Write if the caller has the
  // bytes already, because a scheme can store them past the cache. `bytes` must
  // not lie within the heap. Errors: as Write's.
  virtual absl::Status Overwrite(ObjectId id, uint32_t offset,
                                 absl::Span<const std::byte> bytes);

  // The same with `head` followed by `bytes`, so that the caller need not join
  // them. `bytes` may lie in an object; in this one only from offset +
  // head.size() on. `head` may not.
  virtual absl::Status OverwriteBoth(ObjectId id, uint32_t offset,
                                     absl::Span<const std::byte> head,
                                     absl::Span<const std::byte> bytes);

  // A new object of at least `size` payload bytes, zeroed and writable.
  //
  // kInvalidArgument: size is 0 or over kMaxObjectBytes.
  // kResourceExhausted: the heap is full.
  virtual absl::StatusOr<ObjectId> Alloc(uint32_t size) = 0;

  // Frees the object when the transaction commits; this transaction must not
  // use it again. Its space is reused only after its locks are released.
  //
  // kInvalidArgument: the root object.
  // kNotFound: no live object, or freed by this transaction already.
  // kResourceExhausted, kAborted: as Write's.
  virtual absl::Status Free(ObjectId id) = 0;

  // On success the transaction is not rolled back, and it is durable as
  // invariant 2 says. On error the transaction was aborted.
  virtual absl::Status Commit(const CommitOptions& options) = 0;
  absl::Status Commit() { return Commit(CommitOptions{}); }

  // Rolls everything back. After an error the heap cannot be trusted (its undo
  // copy is unreadable), and the caller must stop using it.
  virtual absl::Status Abort() = 0;

  // The intents declared so far; valid until the next declaration.
  virtual const WriteSet& write_set() const = 0;

  // The object whose lock another transaction holds, after kAborted from Read,
  // Write or Free; a dependent transaction in the sense of section 3.
  virtual std::optional<ObjectId> conflict() const = 0;

  // Continues the transaction after a conflict. The function that met the
  // conflict must have declared nothing; the caller ensures that. Objects that
  // it read stay locked until the transaction ends. Clears conflict().
  virtual void ForgetConflict() = 0;
};

// For schemes that declare several at once: kInvalidArgument if one is not
// kWrite.
absl::Status CheckWritesOnly(absl::Span<const Intent> intents);

// For every scheme's Free: kInvalidArgument if `id` is the root.
absl::Status CheckNotRoot(ObjectId id, ObjectId root);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_TRANSACTION_H_
