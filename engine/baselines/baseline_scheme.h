// The part of a baseline's transaction that its scheme fills in; its class
// derives from BaselineTransaction, which calls these functions.
//
// A transaction is one thread's.
#ifndef KAMINO_ENGINE_BASELINES_BASELINE_SCHEME_H_
#define KAMINO_ENGINE_BASELINES_BASELINE_SCHEME_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/baselines/held_objects.h"
#include "engine/transaction.h"

namespace kamino::engine {

class BaselineScheme : public Transaction {
 protected:
  struct NewObject {
    ObjectId id = kNullObject;
    absl::Span<std::byte> bytes;  // zeroed
  };

  // --- Where objects are.

  virtual ObjectId root() const = 0;
  virtual void PrefetchPayload(ObjectId id) const = 0;
  // The payload of a live object. kNotFound.
  virtual absl::StatusOr<absl::Span<std::byte>> Find(ObjectId id) = 0;
  // Takes space that no other transaction sees; PutBack when its lock cannot be
  // had.
  virtual absl::StatusOr<NewObject> Take(uint32_t size) = 0;
  virtual void PutBack(ObjectId id) = 0;

  // --- Reading and declaring.

  // The payload as the transaction left it, to be shown.
  virtual absl::StatusOr<absl::Span<const std::byte>> Show(HeldObject& held) {
    return held.bytes;
  }
  // A range of an object that is live and was not allocated here; returns the
  // bytes to store to.
  virtual absl::StatusOr<std::byte*> DeclareWrite(HeldObject& held,
                                                  uint32_t offset,
                                                  uint32_t length) = 0;
  // Several, none of them empty, of objects that are held.
  virtual absl::Status DeclareWrites(absl::Span<const Intent> writes) = 0;
  // The same with the bytes, which are not none.
  virtual absl::Status Put(HeldObject& held, uint32_t offset,
                           absl::Span<const std::byte> bytes) = 0;
  virtual absl::Status DeclareAlloc(HeldObject& held) = 0;
  virtual absl::Status DeclareFree(HeldObject& held) = 0;

  // --- The end.

  // Commit but for the locks, and its opposite. After an error of the first
  // comes the second.
  virtual absl::Status MakeDurable(const CommitOptions& options) = 0;
  virtual absl::Status RollBack() = 0;
  // The locks have fallen: space may be used again.
  virtual void ReleaseSpace(bool committed) = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_BASELINE_SCHEME_H_
