// The one interface that every atomicity scheme implements and that data
// structures, procedures and benches are written against (Kamino-Tx, section
// 6.1: begin, intent, alloc, free, commit, abort).
//
// Invariants of every implementation:
//   1. Before a store to a declared range can reach its place on the medium,
//      what takes it back, or carries it through, is durable.
//   2. When Commit returns, the transaction has its place in the order of
//      commits. What is at or below TransactionalStore::durable_sequence()
//      survives every crash, each transaction whole; of what committed later,
//      a prefix of that order does. Most schemes have everything durable when
//      Commit returns. Of a Commit that has not returned a crash leaves the
//      whole transaction, or nothing.
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

// What a transaction leaves of what its write set covers. Whoever executes the
// same elsewhere can tell by it whether it came to the same.
struct AfterImage {
  // In the write set's order, folded: the checksum of each range as it is after
  // the transaction. Frees count for nothing, nor does what is freed. 0: not
  // known.
  uint64_t hash = 0;
  // Of each allocation of the write set, in its order: so many bytes from the
  // payload's start are in the hash, and the rest are zeros.
  std::vector<uint32_t> filled;
};

// Something objects can be read from. Not thread-safe.
class Reader {
 public:
  virtual ~Reader() = default;

  // The object's whole payload (its capacity, which may exceed the size asked
  // for at Alloc). The bytes belong to the heap; they stay valid and stable
  // until the transaction ends, but for the transaction's own writes, which
  // only a Read after them is certain to show.
  //
  // kNotFound: no live object has this id. kAborted: see
  // Transaction::conflict(). kDataLoss: its bytes are lost for good
  // (RecoveryReport::lost_objects); Archapt alone.
  virtual absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) = 0;

  // The object is likely to be read soon: brings what that looks at first into
  // the cache. Any number may be given.
  virtual void Prefetch(ObjectId) const {}
};

struct CommitOptions {
  // Number recorded with the commit, where the scheme records one
  // (docs/use/engine.md, "After a crash"): recovery reports the largest. Zero:
  // the scheme numbers by itself.
  uint64_t sequence = 0;

  // Where it is not null, a Commit that succeeds stores here what
  // TransactionalStore::durable_sequence() has to reach for this transaction to
  // survive a crash. 0, to begin with: it does so as soon as Commit returns.
  uint64_t* durable_at = nullptr;

  // When set, the locks of the written objects stay held after the backup
  // has the changes, until the scheme's ReleaseHold(sequence) (section 5.1:
  // until the tail's completion).
  bool hold_locks = false;

  // Called once everything is durable that recovery needs to carry the
  // transaction through, and before its commit mark is. Not every store need
  // be in its place by then; each scheme's store says what is. An error aborts
  // the transaction and is returned by Commit.
  std::optional<absl::FunctionRef<absl::Status(const WriteSet&)>> before_mark;

  // Filled in before that is called, where it is not null and the scheme knows.
  AfterImage* image = nullptr;
};

// One transaction. Used by one thread. Ending it twice, or using it after its
// end, is a bug and asserted. Destroying a live one aborts it.
class Transaction : public Reader {
 public:
  // Declares an intent for [offset, offset + length) of the payload and
  // returns the writable bytes, which hold the object's current content. What
  // is written to them becomes durable at Commit. For an object allocated by
  // this transaction no intent is added.
  //
  // kNotFound: no live object. kOutOfRange: range outside the payload.
  // kResourceExhausted: log or backup full. kAborted: conflict(). kDataLoss: as
  // Read's.
  // After an error the transaction can only be aborted; but see
  // ForgetConflict. A Commit all the same fails with that error, or
  // carries through what was declared before.
  virtual absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                           uint32_t length) = 0;

  // Declares an intent for each of these, which are all kWrite, as a Write of
  // each would, in this order. A scheme does so with one set of drains, while
  // each Write would have its own; but REWIND's noforce-simple and
  // noforce-batch drain more often than for Writes
  // (docs/formats/rewind_log.md). Later calls of Write or Overwrite within a
  // declared range change its bytes. These calls count as ranges of their own
  // where ranges are counted, and wait for no drain; but Kamino over an undo
  // log saves what they change once more.
  //
  // kInvalidArgument: an intent of another kind, and nothing was declared.
  // Errors otherwise: as Write's.
  virtual absl::Status Declare(absl::Span<const Intent> intents);

  // Announces calls of Write for these ranges, in this order. Declares nothing;
  // but a scheme that has to save the old bytes can make them all durable at
  // once. Errors: as Write's.
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

  // Declares an intent for [offset, offset + bytes.size()) and puts `bytes`
  // there; Read shows them at once. Schemes that are told the bytes can store
  // them past the cache, so this is faster than Write for those who have them.
  // `bytes` must not lie within the heap. Errors: as Write's.
  virtual absl::Status Overwrite(ObjectId id, uint32_t offset,
                                 absl::Span<const std::byte> bytes);

  // The same of `head` and `bytes` behind it, for whoever would have to put
  // them together first. `bytes` may lie in an object; if it is this one, from
  // offset + head.size() on. `head` may not.
  virtual absl::Status OverwriteBoth(ObjectId id, uint32_t offset,
                                     absl::Span<const std::byte> head,
                                     absl::Span<const std::byte> bytes);

  // A new object of at least `size` payload bytes, zeroed and writable.
  //
  // kInvalidArgument: size is 0 or over kMaxObjectBytes.
  // kResourceExhausted: the heap is full.
  virtual absl::StatusOr<ObjectId> Alloc(uint32_t size) = 0;

  // The object is gone once the transaction commits; this transaction must not
  // use it again. Its space is reused only when its locks are released.
  //
  // kInvalidArgument: the root object.
  // kNotFound: no live object, or freed by this transaction already.
  // kResourceExhausted, kAborted: as Write's.
  virtual absl::Status Free(ObjectId id) = 0;

  // On success it will not be taken back, and is durable as invariant 2 says.
  // On error the transaction was aborted.
  virtual absl::Status Commit(const CommitOptions& options) = 0;
  absl::Status Commit() { return Commit(CommitOptions{}); }

  // Takes everything back. An error means the heap cannot be trusted any
  // more (its backup is unreadable); the caller must stop using it.
  virtual absl::Status Abort() = 0;

  // What has been declared so far.
  virtual const WriteSet& write_set() const = 0;

  // The object whose lock another transaction holds, after kAborted from Read,
  // Write or Free; a dependent transaction in the sense of section 3.
  virtual std::optional<ObjectId> conflict() const = 0;

  // After a conflict the transaction goes on, without the function that met it,
  // which has declared nothing since it began: the caller's to know. What it
  // has read stays locked until the transaction ends. conflict() is none again.
  virtual void ForgetConflict() = 0;
};

// For who declares several: kInvalidArgument where one is no kWrite.
absl::Status CheckWritesOnly(absl::Span<const Intent> intents);

// For Free of every scheme: kInvalidArgument where it is the root.
absl::Status CheckNotRoot(ObjectId id, ObjectId root);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_TRANSACTION_H_
