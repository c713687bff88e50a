// What a node's heap is good for: what it says to the manager, shows to
// operators and remembers of itself.
#ifndef KAMINO_MEMBERSHIP_CONDITION_H_
#define KAMINO_MEMBERSHIP_CONDITION_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace kamino::membership {

// Numbers are on the wire and on media (docs/formats/log_entry.md): never
// change them. On media is what outlasts a restart: kFresh, kReceiving,
// kBehind, or kSound; whether a restart made more of kSound is found out after
// it.
enum class Condition : uint32_t {
  kUnknown = 0,    // it has not said so yet
  kFresh = 1,      // empty: it was never in a chain
  kSound = 2,      // holds everything that was acknowledged
  kTorn = 3,       // the same, but for operations that a restart interrupted
  kBehind = 4,     // may lack what was acknowledged: it joined just now
  kReceiving = 5,  // of no use: a state transfer has not ended
  kReturned = 6,  // sound by its own word: it was restarted, and its neighbours
                  // have not borne it out yet
  kOutrun = 7,    // the same, but a neighbour holds more than it could: one of
                  // the two is on an old copy
};

inline constexpr int kConditions = 8;

absl::string_view ConditionName(Condition condition);  // "sound", ...

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_CONDITION_H_
