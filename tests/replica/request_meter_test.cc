#include "replica/request_meter.h"

#include "gtest/gtest.h"
#include "replica/errors.h"

namespace kamino::replica {
namespace {

TEST(RequestMeterTest, TheLimitItselfPasses) {
  RequestMeter meter(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(meter.TouchObject().ok());
  EXPECT_EQ(ReasonOf(meter.TouchObject()), kamino::v1::REASON_TOO_LARGE);
  EXPECT_EQ(ReasonOf(meter.TouchBytes(0)), kamino::v1::REASON_TOO_LARGE);
  EXPECT_EQ(ReasonOf(meter.status()), kamino::v1::REASON_TOO_LARGE);
}

TEST(RequestMeterTest, BytesAddUp) {
  RequestMeter meter(2);
  for (uint64_t i = 0; i < 3 * kBytesPerTouch - 1; ++i) {
    ASSERT_TRUE(meter.TouchBytes(1).ok()) << i;
  }
  EXPECT_EQ(meter.touched(), 2u);
  EXPECT_EQ(ReasonOf(meter.TouchBytes(1)), kamino::v1::REASON_TOO_LARGE);
}

TEST(RequestMeterTest, AMeterWithoutLimitLetsAllPass) {
  RequestMeter meter;
  for (uint64_t i = 0; i < 2 * kMaxTouchedObjects; ++i) {
    ASSERT_TRUE(meter.TouchObject().ok());
  }
  EXPECT_TRUE(meter.TouchBytes(1u << 30).ok());
}

TEST(RequestMeterTest, AsksWhetherTheRequestWasAbandoned) {
  int asked = 0;
  const std::function<bool()> abandoned = [&asked] { return ++asked == 3; };
  RequestMeter meter(kMaxTouchedObjects, &abandoned);
  while (meter.TouchObject().ok()) {
  }
  EXPECT_TRUE(absl::IsCancelled(meter.status())) << meter.status();
  EXPECT_EQ(asked, 3);
  EXPECT_LT(meter.touched(), kMaxTouchedObjects / 4);
  EXPECT_TRUE(absl::IsCancelled(meter.TouchBytes(1)));
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace kamino::replica
