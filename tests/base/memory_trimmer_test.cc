#include "base/memory_trimmer.h"

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/patience.h"

namespace kamino {
namespace {

// Own memory of this process, in KiB.
size_t Resident() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    size_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib;
  }
  return 0;
}

TEST(MemoryTrimmerTest, FreedMemoryIsReturned) {
  constexpr size_t kPieces = 2048;
  constexpr size_t kPieceBytes = 64 << 10;
  constexpr size_t kHalfKib = kPieces * kPieceBytes / 1024 / 2;
  MemoryTrimmer trimmer;
  // One that stays behind each, so that nothing comes to an end of the heap.
  std::vector<std::string> kept;
  {
    std::vector<std::string> pieces;
    for (size_t i = 0; i < kPieces; ++i) {
      pieces.emplace_back(kPieceBytes, 'x');
      kept.emplace_back(100, 'y');
    }
  }
  const size_t before = Resident();
  ASSERT_GT(before, kHalfKib);
  trimmer.Ask();
  const absl::Time end = absl::Now() + Patience(absl::Seconds(20));
  while (Resident() + kHalfKib > before && absl::Now() < end) {
  }
  EXPECT_LT(Resident() + kHalfKib, before);
  EXPECT_EQ(kept.back(), std::string(100, 'y'));
}

}  // namespace
}  // namespace kamino
