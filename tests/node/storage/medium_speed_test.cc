#include "node/storage/medium_speed.h"

#include <cstring>
#include <string>

#include "engine/pmem/sim_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::node {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr OrderedSyncs kOrdered = {.head = 7, .replica = 4};

TEST(MediumSpeedTest, MeasuresSyncsAndLeavesTheContent) {
  engine::SimRegion region(8192);
  std::memset(region.base(), 0x5a, 8192);
  region.SyncPages();
  absl::Time now = absl::UnixEpoch();
  // Most take 2 ms, some much longer.
  region.SetDrainHook(
      [&] { now += absl::Milliseconds(region.syncs() % 3 == 0 ? 90 : 2); });
  EXPECT_EQ(MeasureSync(&region, [&] { return now; }), absl::Milliseconds(2));
  EXPECT_GE(region.syncs(), 3u);
  for (size_t i = 0; i < region.size(); ++i) {
    ASSERT_EQ(region.base()[i], std::byte{0x5a}) << i;
  }
}

TEST(MediumSpeedTest, SaysWhatItMeans) {
  EXPECT_EQ(TellMedium(absl::Microseconds(2100), kOrdered),
            "a sync of this medium takes 2.1 ms; a put to a chain of 3 such "
            "nodes will take about 31.5 ms, which is 15 syncs");
  EXPECT_EQ(TellMedium(absl::Microseconds(2), kOrdered), "");
}

TEST(MediumSpeedTest, RefusesOneThatIsTooSlowForTheLease) {
  const absl::Duration lease = absl::Milliseconds(700);
  EXPECT_TRUE(CheckMedium(absl::Milliseconds(49), kOrdered, lease).ok());
  const absl::Status refused =
      CheckMedium(absl::Milliseconds(50), kOrdered, lease);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(HasSubstr("a sync takes 50.0 ms"), HasSubstr("7 of them, 350.0 ms"),
            HasSubstr("700.0 ms"), HasSubstr("--failure_timeout_ms")));
  // Whatever the lease, memory is not.
  EXPECT_TRUE(
      CheckMedium(absl::Microseconds(1), kOrdered, absl::ZeroDuration()).ok());
}

}  // namespace
}  // namespace kamino::node
