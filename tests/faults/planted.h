// A fault that is planted for as long as an object of this type lives, and that
// the test must have come by in this time.
#ifndef KAMINO_TESTS_FAULTS_PLANTED_H_
#define KAMINO_TESTS_FAULTS_PLANTED_H_

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tests/faults/fault.h"

namespace kamino::faults {

// Not thread-safe, and one at a time.
class Planted {
 public:
  explicit Planted(absl::string_view fault) { PlantFault(fault); }
  ~Planted() {
    EXPECT_TRUE(PlantedFaultWasMet());
    PlantFault("");
  }
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;
};

}  // namespace kamino::faults

#endif  // KAMINO_TESTS_FAULTS_PLANTED_H_
