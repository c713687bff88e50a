// The largest sequence, in two words, either of which a crash may leave.
#include "lab/rewind/sequence_mark.h"

#include <cstdint>
#include <set>

#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

constexpr uint64_t kSeed = 123456789;

class SequenceMarkTest : public ::testing::Test {
 protected:
  static SequenceMark MarkOf(SimRegion* region) {
    const CheckedWords words(region, kSeed);
    return {words, words.WordAt(64), words.WordAt(128)};
  }

  SequenceMarkTest() {
    const CheckedWords words(&region_, kSeed);
    for (const uint64_t at : {64, 128}) words.Persist(words.WordAt(at), 0);
  }

  // The values that crashes during the change from one to the other leave.
  std::set<uint64_t> Left(uint64_t from, uint64_t to) {
    const SequenceMark mark = MarkOf(&region_);
    mark.Store(from);
    region_.Drain();
    std::set<uint64_t> left;
    region_.SetDrainHook([&] {
      for (uint64_t seed = 1; seed <= 8; ++seed) {
        SimRegion after(region_.CrashImage(seed));
        left.insert(*MarkOf(&after).Read());
      }
    });
    mark.Store(to);
    region_.Drain();
    region_.SetDrainHook(nullptr);
    EXPECT_EQ(mark.Get(), to);
    EXPECT_EQ(*mark.Read(), to);
    return left;
  }

  SimRegion region_{4096};
};

TEST_F(SequenceMarkTest, AChangeOfOneWordIsAtomic) {
  EXPECT_EQ(Left(4, 5), (std::set<uint64_t>{4, 5}));
}

TEST_F(SequenceMarkTest, ACrashNeverLeavesALargerSequence) {
  const uint64_t from = (uint64_t{3} << 48) + 70;
  const uint64_t to = (uint64_t{4} << 48) + 5;
  const std::set<uint64_t> left = Left(from, to);
  EXPECT_EQ(left, (std::set<uint64_t>{uint64_t{3} << 48, from,
                                      uint64_t{4} << 48, to}));
}

TEST_F(SequenceMarkTest, ADamagedWordIsDetected) {
  MarkOf(&region_).Store(UINT64_MAX);
  for (const size_t word : {64, 128}) {
    for (size_t at = word; at < word + 8; ++at) {
      SimRegion damaged(
          SimRegion::Image(region_.base(), region_.base() + 4096));
      damaged.base()[at] ^= std::byte{4};
      EXPECT_TRUE(absl::IsDataLoss(MarkOf(&damaged).Read().status())) << at;
    }
  }
}

}  // namespace
}  // namespace kamino::engine
