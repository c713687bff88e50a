// The bytes of one fuzzed input, taken from the front. There is always more:
// zeros, once they are used up.
#ifndef KAMINO_TESTS_FUZZ_INPUT_H_
#define KAMINO_TESTS_FUZZ_INPUT_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace kamino::fuzz {

class Input {
 public:
  explicit Input(absl::string_view bytes) : left_(bytes) {}

  bool empty() const { return left_.empty(); }
  absl::string_view Bytes(size_t length) {
    const absl::string_view taken = left_.substr(0, length);
    left_.remove_prefix(taken.size());
    return taken;
  }
  uint64_t Number(int bytes) {  // little-endian
    uint64_t number = 0;
    const absl::string_view taken = Bytes(bytes);
    for (size_t i = taken.size(); i > 0; --i) {
      number = number << 8 | static_cast<uint8_t>(taken[i - 1]);
    }
    return number;
  }

 private:
  absl::string_view left_;
};

inline void AppendNumber(uint64_t number, int bytes, std::string* to) {
  for (int i = 0; i < bytes; ++i) {
    to->push_back(static_cast<char>(number >> 8 * i));
  }
}

}  // namespace kamino::fuzz

#endif  // KAMINO_TESTS_FUZZ_INPUT_H_
