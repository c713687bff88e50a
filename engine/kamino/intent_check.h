// Finds stores that no intent covers: a bug of whoever runs the transaction,
// which a crash or an abort would turn into damage. It reads every object that
// the transaction has, so only debug builds do it, and tests on an instrumented
// engine. Private to the store.
#ifndef KAMINO_ENGINE_KAMINO_INTENT_CHECK_H_
#define KAMINO_ENGINE_KAMINO_INTENT_CHECK_H_

#include "engine/explore.h"
#include "engine/kamino/transaction_state.h"

namespace kamino::engine {

// For the condition of an `if`: at compile time, but in an instrumented engine.
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
                    TransactionState::Object* object);

// Before the transaction ends, its locks held. Asserted: what it has only read
// is as it was then; what it has written is, but for the ranges it declared, as
// its copy in the backup (invariant 3 of the store).
void CheckIntents(const TransactionState& state);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_INTENT_CHECK_H_
