// Memory behind a cache after a crash.
#include "lab/crash_model/cached_region.h"

#include <cstring>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::bench::crash_model {
namespace {

using ::testing::Contains;

constexpr size_t kLine = CachedRegion::kLineBytes;

class CachedRegionTest : public ::testing::Test {
 protected:
  CachedRegionTest() : region_(64 * kLine, {2 * kLine, 2}) {}

  std::byte* Line(size_t line) { return region_.base() + line * kLine; }
  // Also calls Touch.
  void Store(size_t line, int value) {
    std::memset(Line(line), value, kLine);
    region_.Touch(Line(line), kLine);
  }
  // The words of a line after a crash, if all bytes of each have one value.
  std::vector<int> Words(size_t line, uint64_t seed = 1) {
    std::vector<std::byte> image(region_.size());
    region_.Crash(seed, image.data());
    std::vector<int> words;
    for (size_t at = 0; at < kLine; at += CachedRegion::kWordBytes) {
      words.push_back(static_cast<int>(image[line * kLine + at]));
    }
    return words;
  }
  int AfterCrash(size_t line) { return Words(line)[0]; }

  CachedRegion region_;
};

TEST_F(CachedRegionTest, CachedStoresAreLost) {
  Store(1, 7);
  Store(2, 7);
  EXPECT_EQ(AfterCrash(1), 0);
  EXPECT_EQ(AfterCrash(2), 0);
}

TEST_F(CachedRegionTest, EvictedLinesSurvive) {
  Store(1, 7);
  Store(2, 7);
  Store(1, 8);  // is the later one now
  Store(3, 7);
  EXPECT_EQ(AfterCrash(1), 0);
  EXPECT_EQ(AfterCrash(2), 7);
  // Loading evicts as well.
  region_.Touch(Line(20), 1);
  EXPECT_EQ(AfterCrash(1), 8);
}

TEST_F(CachedRegionTest, FlushedAndDrainedLinesSurvive) {
  Store(1, 7);
  region_.Flush(Line(1) + 3, 1);
  region_.Drain();
  EXPECT_EQ(AfterCrash(1), 7);
  const std::vector<std::byte> source(2 * kLine, std::byte{9});
  region_.CopyFlush(Line(5) + 8, source.data(), kLine);
  region_.Drain();
  EXPECT_EQ(Words(5), (std::vector<int>{0, 9, 9, 9, 9, 9, 9, 9}));
  EXPECT_EQ(AfterCrash(6), 9);
}

TEST_F(CachedRegionTest, StoresAfterTheFlushAreLost) {
  Store(1, 7);
  region_.Flush(Line(1), kLine);
  Store(1, 8);
  region_.Drain();
  EXPECT_EQ(AfterCrash(1), 7);
}

TEST_F(CachedRegionTest, ADrainDoesNotOverwriteALaterEviction) {
  Store(1, 7);
  region_.Flush(Line(1), kLine);
  Store(1, 8);
  Store(2, 7);
  Store(3, 7);  // evicts the first
  region_.Drain();
  EXPECT_EQ(AfterCrash(1), 8);
}

TEST_F(CachedRegionTest, AnUndrainedLineSurvivesOrIsLostOrTorn) {
  Store(1, 7);
  region_.Flush(Line(1), kLine);
  std::set<std::vector<int>> seen;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    seen.insert(Words(1, seed));
    EXPECT_EQ(Words(1, seed), Words(1, seed));
  }
  EXPECT_THAT(seen, Contains(std::vector<int>(8, 0)));
  EXPECT_THAT(seen, Contains(std::vector<int>(8, 7)));
  EXPECT_GT(seen.size(), 10u);
}

TEST_F(CachedRegionTest, TheHookSeesACrashBeforeEveryCall) {
  std::vector<int> found;
  region_.SetHook([&] { found.push_back(AfterCrash(1)); });
  const std::vector<std::byte> source(kLine, std::byte{9});
  region_.CopyFlush(Line(1), source.data(), kLine);
  region_.Drain();
  region_.Flush(Line(1), kLine);
  EXPECT_EQ(found.size(), 3u);
  EXPECT_EQ(found.front(), 0);
  EXPECT_EQ(found.back(), 9);
}

}  // namespace
}  // namespace kamino::bench::crash_model
