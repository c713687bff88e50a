// Cache lines and what is in them.
#ifndef KAMINO_LAB_CONTROLLER_LINE_H_
#define KAMINO_LAB_CONTROLLER_LINE_H_

#include <array>
#include <cstdint>

#include "absl/container/flat_hash_map.h"

namespace kamino::bench::controller {

inline constexpr uint64_t kLineBytes = 64;
inline constexpr uint64_t kWordBytes = 8;
inline constexpr uint64_t kWordsPerLine = kLineBytes / kWordBytes;

using LineNumber = uint64_t;  // address / kLineBytes
using WordNumber = uint64_t;  // address / kWordBytes
inline constexpr LineNumber kNoLine = ~LineNumber{0};

inline LineNumber LineOf(WordNumber word) { return word / kWordsPerLine; }

// A value is the number of the store that made it; 0: none did.
struct LineData {
  std::array<uint64_t, kWordsPerLine> words{};

  uint64_t& at(WordNumber word) { return words[word % kWordsPerLine]; }
  uint64_t at(WordNumber word) const { return words[word % kWordsPerLine]; }
};

// The contents of the home locations, in SCM.
class Home {
 public:
  LineData Read(LineNumber line) const {
    const auto found = lines_.find(line);
    return found == lines_.end() ? LineData() : found->second;
  }
  uint64_t ReadWord(WordNumber word) const {
    return Read(LineOf(word)).at(word);
  }
  void Write(LineNumber line, const LineData& data) { lines_[line] = data; }
  void WriteWord(WordNumber word, uint64_t value) {
    lines_[LineOf(word)].at(word) = value;
  }

 private:
  absl::flat_hash_map<LineNumber, LineData> lines_;
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_LINE_H_
