#ifndef KAMINO_TESTS_FAULTS_NAMES_H_
#define KAMINO_TESTS_FAULTS_NAMES_H_

#include "absl/strings/string_view.h"

namespace kamino::faults {

// Whether a fault of that name is planted anywhere, be it in a source that the
// program is not linked with.
bool FaultKnown(absl::string_view name);

}  // namespace kamino::faults

#endif  // KAMINO_TESTS_FAULTS_NAMES_H_
