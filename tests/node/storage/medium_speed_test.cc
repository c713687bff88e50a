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

TEST(MediumSpeedTest, DescribesTheExpectedTimeOfAPut) {
  EXPECT_EQ(TellMedium(absl::Microseconds(2100), kOrdered),
            "a sync of this medium takes 2.1 ms; a put to a chain of 3 such "
            "nodes will take about 31.5 ms, which is 15 syncs");
  EXPECT_EQ(TellMedium(absl::Microseconds(2), kOrdered),
            "a sync of this medium takes 2us, as fast as memory");
}

TEST(MediumSpeedTest, RefusesAMediumThatIsTooSlowForTheLease) {
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

TEST(MediumSpeedTest, NoLeaseRefusesNothing) {
  for (const absl::Duration lease :
       {absl::ZeroDuration(), -absl::Milliseconds(1)}) {
    EXPECT_TRUE(CheckMedium(absl::Seconds(9), kOrdered, lease).ok());
  }
}

class MediumCheckTest : public ::testing::Test {
 protected:
  static constexpr absl::Duration kLease = absl::Milliseconds(700);
  static constexpr absl::Duration kSlow = absl::Milliseconds(300);
  static constexpr absl::Duration kFast = absl::Milliseconds(3);

  absl::Status Check() { return check_.Check(kLease); }
  absl::Status CheckAfter(absl::Duration time) {
    now_ += time;
    return Check();
  }

  absl::Time now_ = absl::UnixEpoch();
  int asked_ = 0;  // measurements
  MediumCheck check_{kSlow, kOrdered, [this] { return now_; },
                     [this] { ++asked_; }};
};

TEST_F(MediumCheckTest, AFastMediumIsMeasuredOnce) {
  check_.Note(kFast);
  EXPECT_TRUE(Check().ok());
  EXPECT_EQ(asked_, 0);
}

TEST_F(MediumCheckTest, ASlowMomentRefusesNothing) {
  EXPECT_TRUE(absl::IsUnavailable(Check()));
  EXPECT_EQ(asked_, 1);
  check_.Note(kSlow);
  EXPECT_TRUE(absl::IsUnavailable(Check()));
  EXPECT_EQ(asked_, 1);  // not so soon
  EXPECT_TRUE(absl::IsUnavailable(CheckAfter(MediumCheck::kSpacing)));
  EXPECT_EQ(asked_, 2);
  check_.Note(kFast);
  EXPECT_TRUE(Check().ok());
  // The best one counts.
  check_.Note(kSlow);
  EXPECT_TRUE(CheckAfter(MediumCheck::kLongest).ok());
  EXPECT_EQ(asked_, 2);
}

TEST_F(MediumCheckTest, AMediumThatStaysSlowIsRefused) {
  absl::Status found = Check();
  for (int i = 0; i < 2 * MediumCheck::kMostRounds; ++i) {
    if (!absl::IsUnavailable(found)) break;
    check_.Note(kSlow);
    found = CheckAfter(MediumCheck::kSpacing);
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(found)) << found;
  EXPECT_EQ(now_ - absl::UnixEpoch(), MediumCheck::kLongest);
  EXPECT_LE(asked_, MediumCheck::kMostRounds);
  EXPECT_TRUE(absl::IsFailedPrecondition(Check()));
}

TEST_F(MediumCheckTest, AMeasurementThatDoesNotEndIsRefused) {
  EXPECT_TRUE(absl::IsUnavailable(Check()));
  EXPECT_TRUE(absl::IsUnavailable(CheckAfter(MediumCheck::kLongest / 2)));
  EXPECT_EQ(asked_, 1);
  EXPECT_TRUE(
      absl::IsFailedPrecondition(CheckAfter(MediumCheck::kLongest / 2)));
}

TEST_F(MediumCheckTest, AShorterLeaseIsMeasuredAgain) {
  check_.Note(kFast);
  EXPECT_TRUE(Check().ok());
  now_ += absl::Hours(1);
  EXPECT_TRUE(absl::IsUnavailable(check_.Check(absl::Milliseconds(10))));
  EXPECT_EQ(asked_, 1);
  check_.Note(absl::Microseconds(100));
  EXPECT_TRUE(check_.Check(absl::Milliseconds(10)).ok());
}

}  // namespace
}  // namespace kamino::node
