// How long a test waits for an event before it counts as missing.
//
// A test judges no speed: a wait ends with its event, and only a test that
// fails waits for as long as it may. KAMINO_TEST_TIME_SCALE, a factor, makes
// all of these waits longer on a slower machine (CONTRIBUTING.md).
#ifndef KAMINO_TESTS_PATIENCE_H_
#define KAMINO_TESTS_PATIENCE_H_

#include <stdlib.h>

#include <string>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "glog/logging.h"

namespace kamino {

// For an event that usually takes less than `usual`.
inline absl::Duration Patience(absl::Duration usual) {
  static const double scale = [] {
    const char* const told = getenv("KAMINO_TEST_TIME_SCALE");
    const std::string text = told == nullptr || *told == '\0' ? "1" : told;
    double number = 0;
    CHECK(absl::SimpleAtod(text, &number) && number > 0 && number < 1000)
        << "KAMINO_TEST_TIME_SCALE is " << text
        << "; it must be a number above 0 and below 1000";
    return number;
  }();
  return usual * scale;
}

}  // namespace kamino

#endif  // KAMINO_TESTS_PATIENCE_H_
