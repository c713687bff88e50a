#include "engine/pmem/delay_region.h"

#include <array>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "engine/pmem/counting_region.h"
#include "engine/pmem/sim_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kDrain = 300;
constexpr uint64_t kLine = 7;

class DelayRegionTest : public ::testing::Test {
 protected:
  DelayRegionTest()
      : below_(1u << 20),
        counting_(std::make_shared<CountingRegion>(&below_)) {}

  DelayRegion With(const PmemDelays& delays) {
    return DelayRegion(counting_, delays,
                       [this](uint64_t nanos) { waited_.push_back(nanos); });
  }

  SimRegion below_;
  const std::shared_ptr<CountingRegion> counting_;
  std::vector<uint64_t> waited_;
};

TEST_F(DelayRegionTest, EveryFlushedLineIsDelayed) {
  DelayRegion region = With({kDrain, kLine});
  std::byte* const base = region.base();
  region.Flush(base, 64);
  region.Flush(base, 1);
  region.Flush(base + 63, 2);
  region.Flush(base + 64, 0);
  region.Flush(base + 32, 4096);
  EXPECT_THAT(waited_, ElementsAre(kLine, kLine, 2 * kLine, 65 * kLine));
}

TEST_F(DelayRegionTest, EveryCopiedLineIsDelayed) {
  DelayRegion region = With({kDrain, kLine});
  std::array<std::byte, 200> bytes{};
  bytes.fill(std::byte{5});
  region.CopyFlush(region.base() + 60, bytes.data(), bytes.size());
  region.CopyFlush(region.base(), bytes.data(), 0);
  EXPECT_THAT(waited_, ElementsAre(5 * kLine));  // 60 to 260
  EXPECT_EQ(region.base()[259], std::byte{5});
}

TEST_F(DelayRegionTest, EveryDrainIsDelayed) {
  DelayRegion region = With({kDrain, kLine});
  region.Drain();
  region.Persist(region.base(), 8);
  EXPECT_THAT(waited_, ElementsAre(kDrain, kLine, kDrain));
}

TEST_F(DelayRegionTest, TheDrainDelayCanChange) {
  DelayRegion region = With({0, kLine});
  region.Persist(region.base(), 8);
  region.SetDrain(kDrain);
  region.Persist(region.base(), 8);
  region.SetDrain(0);
  region.Drain();
  EXPECT_THAT(waited_, ElementsAre(kLine, kLine, kDrain));
}

TEST_F(DelayRegionTest, AZeroDelayDoesNotWait) {
  DelayRegion drains = With({kDrain, 0});
  drains.Flush(drains.base(), 64);
  EXPECT_THAT(waited_, IsEmpty());
  DelayRegion lines = With({0, kLine});
  lines.Drain();
  EXPECT_THAT(waited_, IsEmpty());
  EXPECT_FALSE(PmemDelays{}.any());
  EXPECT_TRUE((PmemDelays{1, 0}).any());
  EXPECT_TRUE((PmemDelays{0, 1}).any());
}

TEST_F(DelayRegionTest, CallsReachTheRegionBelow) {
  DelayRegion region = With({kDrain, kLine});
  EXPECT_EQ(region.base(), below_.base());
  EXPECT_EQ(region.size(), below_.size());
  EXPECT_EQ(region.DrainsAll(), below_.DrainsAll());
  const std::array<std::byte, 64> bytes{};
  region.CopyFlush(region.base(), bytes.data(), bytes.size());
  region.Persist(region.base(), 64);
  EXPECT_EQ(counting_->counts().lines, 2u);
  EXPECT_EQ(counting_->counts().drains, 1u);
}

// --- The wait.

constexpr int64_t kLook = 20;
int64_t fake_now = 0;
int64_t FakeClock() { return fake_now += kLook; }

TEST(BusyWaitTest, AWaitIncludesItsClockReads) {
  const BusyWait wait(FakeClock);
  EXPECT_EQ(wait.look_ns(), kLook);
  for (uint64_t nanos : {40u, 100u, 300u, 1000u}) {
    const int64_t before = fake_now;
    wait(nanos);
    // At least two reads of the clock, and at most one read too long.
    EXPECT_GE(fake_now - before, static_cast<int64_t>(nanos));
    EXPECT_LE(fake_now - before, static_cast<int64_t>(nanos) + kLook);
  }
}

TEST(BusyWaitTest, TheMonotonicWaitTakesItsFullTime) {
  const BusyWait& wait = BusyWait::Monotonic();
  EXPECT_GE(wait.look_ns(), 0);
  // Many, as a single one is within the error of the estimate.
  constexpr int kTimes = 1000;
  constexpr uint64_t kNanos = 1000;
  const absl::Time before = MonotonicNow();
  for (int i = 0; i < kTimes; ++i) wait(kNanos);
  EXPECT_GE(MonotonicNow() - before,
            absl::Nanoseconds(kTimes * kNanos * 9 / 10));
}

}  // namespace
}  // namespace kamino::engine
