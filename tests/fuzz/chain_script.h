// Events of a chain node, as bytes: a byte for the initial situation, then
// steps.
#ifndef KAMINO_TESTS_FUZZ_CHAIN_SCRIPT_H_
#define KAMINO_TESTS_FUZZ_CHAIN_SCRIPT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kamino::fuzz {

enum class StepKind : uint8_t {
  kTick = 0,
  kAccept = 1,
  kOpened = 2,
  kClosed = 3,
  kView = 4,
  kInvite = 5,
  kSubmit = 6,
  kMessage = 7,
};
inline constexpr uint8_t kStepKinds = 8;

struct Step {
  StepKind kind = StepKind::kTick;
  uint8_t link = 0;    // or which view, or which request
  bool stale = false;  // kMessage: its view id stays as it is
  std::string message;
};

struct Script {
  uint8_t situation = 0;
  std::vector<Step> steps;
};

// More steps than that are not read.
inline constexpr size_t kMaxSteps = 400;

std::string Encode(const Script& script);
Script Decode(absl::string_view bytes);  // whatever they are

}  // namespace kamino::fuzz

#endif  // KAMINO_TESTS_FUZZ_CHAIN_SCRIPT_H_
