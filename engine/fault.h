// Mistakes that a test makes the engine make, to prove that other tests would
// notice them. Only in a test build (KAMINO_PLANTED_FAULTS, target
// //engine:faulty) can there be any; in every other FaultPlanted is false at
// compile time and nothing is left of what hangs on it.
#ifndef KAMINO_ENGINE_FAULT_H_
#define KAMINO_ENGINE_FAULT_H_

#include "absl/strings/string_view.h"

namespace kamino::engine {

#ifdef KAMINO_PLANTED_FAULTS

// Whether the fault of that name is the one that is planted.
bool FaultPlanted(absl::string_view name);

// From now on in this process; an empty name: none. Not thread-safe.
void PlantFault(absl::string_view name);

// Whether the program has come by the place where it is planted: a name that is
// misspelt is planted nowhere. Any thread.
bool PlantedFaultWasMet();

#else

constexpr bool FaultPlanted(absl::string_view) { return false; }
constexpr bool PlantedFaultWasMet() { return false; }

#endif  // KAMINO_PLANTED_FAULTS

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_FAULT_H_
