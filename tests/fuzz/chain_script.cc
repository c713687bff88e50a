#include "tests/fuzz/chain_script.h"

#include <algorithm>

#include "tests/fuzz/input.h"

namespace kamino::fuzz {

std::string Encode(const Script& script) {
  std::string bytes(1, static_cast<char>(script.situation));
  for (const Step& step : script.steps) {
    const bool message = step.kind == StepKind::kMessage;
    const uint8_t kind =
        static_cast<uint8_t>(step.kind) + (step.stale ? kStepKinds : 0);
    AppendNumber(kind, 1, &bytes);
    AppendNumber(step.link, 1, &bytes);
    if (!message) continue;
    AppendNumber(step.message.size(), 3, &bytes);
    bytes += step.message;
  }
  return bytes;
}

Script Decode(absl::string_view bytes) {
  Input input(bytes);
  Script script;
  script.situation = static_cast<uint8_t>(input.Number(1));
  while (!input.empty() && script.steps.size() < kMaxSteps) {
    Step step;
    const uint64_t kind = input.Number(1) % (2 * kStepKinds);
    step.kind = static_cast<StepKind>(kind % kStepKinds);
    step.stale = kind >= kStepKinds;
    step.link = std::max<uint8_t>(1, input.Number(1));  // 0 names none
    if (step.kind == StepKind::kMessage) {
      const size_t length = input.Number(3);
      step.message = std::string(input.Bytes(length));
    }
    script.steps.push_back(std::move(step));
  }
  return script;
}

}  // namespace kamino::fuzz
