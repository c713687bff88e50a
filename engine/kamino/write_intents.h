// Makes undo copies of objects, and intents for them, durable before a
// transaction stores to them (invariant 1 of the store). Over an undo log it
// does nothing: ranges are saved when they are known (RangeSaver). Private to
// the store.
//
// Not thread-safe.
#ifndef KAMINO_ENGINE_KAMINO_WRITE_INTENTS_H_
#define KAMINO_ENGINE_KAMINO_WRITE_INTENTS_H_

#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "engine/kamino/store_parts.h"
#include "engine/kamino/transaction_state.h"
#include "engine/transaction.h"

namespace kamino::engine {

class WriteIntents {
 public:
  using Object = TransactionState::Object;

  // `state` is used until the transaction ends.
  WriteIntents(const StoreParts& parts, TransactionState* state)
      : parts_(parts), state_(state) {}

  // For an object that is locked exclusively, and not new. Durable on return,
  // except between Gather and DrainGathered.
  absl::Status Ensure(Object* object) {
    if (object->intended || parts_.saver->saves()) return absl::OkStatus();
    if (object->copy == nullptr) {
      object->copy = parts_.undo_copy->FindMirrored(object->id);
    }
    if (object->copy != nullptr && parts_.sticky->Has(object->id)) {
      object->intended = true;
      return absl::OkStatus();
    }
    return EnsureCopyAndIntent(object);
  }
  // The same for these objects, which lack an intent, with one set of drains.
  absl::Status EnsureAll(std::vector<ObjectId> lacking);

  // Several are declared: one drain makes their intents durable. It is needed
  // also after an error, since other transactions treat these intents as
  // durable.
  void Gather() { gathers_ = true; }
  void DrainGathered() {
    gathers_ = false;
    Drain();
  }

  // After an abort, which ends the pins.
  void EvictAfterAbort() {
    // Its copies would stay in place, which left no room for the others.
    if (fragmented_) parts_.undo_copy->EvictAll();
  }

 private:
  absl::Status EnsureCopyAndIntent(Object* object);
  // `error`: the undo copy has no room for a copy of `object`. Returns another
  // error if the copies of this transaction alone exceed the undo copy.
  absl::Status ExplainNoCopy(const Object& object, const absl::Status& error);
  // Makes the stored intents durable.
  void Drain();

  // Stored, and not durable yet.
  struct Undrained {
    ObjectId id;
    bool replaced;  // another's
  };

  const StoreParts& parts_;
  TransactionState* const state_;
  bool gathers_ = false;
  absl::InlinedVector<Undrained, 8> undrained_;
  // The undo copy had no room for a copy because of fragmentation: it may have
  // room for all copies of this transaction once it holds no other.
  bool fragmented_ = false;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_WRITE_INTENTS_H_
