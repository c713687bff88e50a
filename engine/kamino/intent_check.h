// Finds stores without an intent: a bug of the transaction's user, which a
// crash or an abort would turn into damage. It reads every object of the
// transaction, so only debug builds do it, and tests on an instrumented engine.
// Private to the store.
#ifndef KAMINO_ENGINE_KAMINO_INTENT_CHECK_H_
#define KAMINO_ENGINE_KAMINO_INTENT_CHECK_H_

#include "engine/explore.h"
#include "engine/kamino/transaction_state.h"

namespace kamino::engine {

// For the condition of an `if`: at compile time, except in an instrumented
// engine.
#if defined(KAMINO_INSTRUMENTED)
inline bool ChecksIntents() {
  return check_intents.load(std::memory_order_relaxed);
}
#elif !defined(NDEBUG)
constexpr bool ChecksIntents() { return true; }
#else
constexpr bool ChecksIntents() { return false; }
#endif

// The transaction has locked the object to read it.
void RememberAsRead(absl::Span<const std::byte> payload,
                    TransactionState::Object* object, TransactionState* state);

// Before the transaction ends, with its locks held. Asserts that objects that
// it has only read are unchanged, and that objects that it has written equal
// their undo copies outside of the declared ranges (invariant 3 of the store).
void CheckIntents(const TransactionState& state);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_INTENT_CHECK_H_
