// The state of a node's heap, which the node reports to the manager and to
// operators, and stores.
#ifndef KAMINO_MEMBERSHIP_CONDITION_H_
#define KAMINO_MEMBERSHIP_CONDITION_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace kamino::membership {

// Numbers are on the wire and on media (docs/formats/log_entry.md): never
// change them. A node stores only kFresh, kReceiving, kBehind or kSound. After
// a restart it determines whether kSound still holds.
enum class Condition : uint32_t {
  kUnknown = 0,    // not reported yet
  kFresh = 1,      // empty: it was never in a chain
  kSound = 2,      // holds everything that was acknowledged
  kTorn = 3,       // as kSound, except for entries that a restart interrupted
  kBehind = 4,     // may lack acknowledged mutations: it has just joined
  kReceiving = 5,  // unusable: a state transfer has not ended
  // restarted, sound by its own report; not confirmed by a neighbour yet
  kReturned = 6,
  // as kReturned, but a neighbour holds more than it could: one is stale
  kOutrun = 7,
};

inline constexpr int kConditions = 8;

absl::string_view ConditionName(Condition condition);  // "sound", ...

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_CONDITION_H_
