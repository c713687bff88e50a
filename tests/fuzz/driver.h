// Inputs without libFuzzer: each is one of the target's valid ones, mutated as
// a seed says.
#ifndef KAMINO_TESTS_FUZZ_DRIVER_H_
#define KAMINO_TESTS_FUZZ_DRIVER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/targets.h"

namespace kamino::fuzz {

class Mutations {
 public:
  explicit Mutations(const Target& target)
      : target_(target), seeds_(target.seeds()) {}

  // The valid ones come first, as they are.
  std::string Make(uint64_t seed) const {
    const std::string& valid = seeds_[seed % seeds_.size()];
    if (seed < seeds_.size()) return valid;
    std::string input = valid;
    for (uint64_t i = 0; i <= seed % 3; ++i) {
      input = target_.mutate(input, seed * 8 + i, kMaxInput);
    }
    return input;
  }

 private:
  static constexpr size_t kMaxInput = 1u << 20;

  const Target target_;
  const std::vector<std::string> seeds_;
};

}  // namespace kamino::fuzz

#endif  // KAMINO_TESTS_FUZZ_DRIVER_H_
