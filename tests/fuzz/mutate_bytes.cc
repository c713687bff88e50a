#include <algorithm>
#include <random>

#include "tests/fuzz/targets.h"

namespace kamino::fuzz {

std::string MutateBytes(const std::string& input, uint64_t seed, size_t max) {
  std::mt19937_64 random(seed);
  std::string bytes = input;
  const uint64_t changes = 1 + random() % 4;
  for (uint64_t i = 0; i < changes; ++i) {
    if (bytes.empty()) bytes.push_back(static_cast<char>(random()));
    const size_t at = random() % bytes.size();
    const size_t length =
        1 + random() % std::min<size_t>(bytes.size() - at, 16);
    switch (random() % 7) {
      case 0:
        bytes[at] ^= static_cast<char>(1 << random() % 8);
        break;
      case 1:
        bytes[at] = static_cast<char>(random());
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(at, length);
        break;
      case 4:
        bytes.insert(random() % bytes.size(), bytes.substr(at, length));
        break;
      case 5:
        std::fill_n(bytes.begin() + at, length,
                    static_cast<char>(random() % 2 == 0 ? 0xff : 0));
        break;
      default:
        bytes.insert(at,
                     std::string(random() % 64, static_cast<char>(random())));
    }
  }
  if (bytes.size() > max) bytes.resize(max);
  return bytes;
}

}  // namespace kamino::fuzz
