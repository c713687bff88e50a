// Whether a test would notice a planted fault.
#ifndef KAMINO_TESTS_FAULTS_TRIAL_H_
#define KAMINO_TESTS_FAULTS_TRIAL_H_

#include <functional>
#include <string>

namespace kamino::faults {

struct Verdict {
  bool caught = false;
  std::string how;  // in a line
};

// The verdict of `trial`, which runs in a process of its own, since a fault may
// end it. A process that dies of a check or by its memory has noticed the
// fault; one that never ends is killed, and has not: it would not say why. A
// trial that cannot be run has not noticed it either, and `how` says so. Not
// thread-safe.
Verdict RunTrial(const std::function<Verdict()>& trial);

}  // namespace kamino::faults

#endif  // KAMINO_TESTS_FAULTS_TRIAL_H_
