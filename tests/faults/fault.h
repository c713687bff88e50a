// Mistakes that a test makes the product make, to prove that other tests would
// notice them. The product's sources know nothing of it: those of its files
// that are to err are patched copies (docs/testing/faults.md).
#ifndef KAMINO_TESTS_FAULTS_FAULT_H_
#define KAMINO_TESTS_FAULTS_FAULT_H_

#include "absl/strings/string_view.h"

namespace kamino::faults {

// Whether the fault of that name is the one that is planted.
bool FaultPlanted(absl::string_view name);

// From now on in this process; an empty name: none. Not thread-safe.
void PlantFault(absl::string_view name);

// Whether the program has come by the place where it is planted: a name that is
// misspelt is planted nowhere, nor is one of a file whose patched copy the
// program was not linked with. Any thread.
bool PlantedFaultWasMet();

}  // namespace kamino::faults

#endif  // KAMINO_TESTS_FAULTS_FAULT_H_
