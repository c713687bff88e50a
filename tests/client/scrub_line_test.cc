#include "client/cli/scrub_line.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::client {
namespace {

using ::testing::HasSubstr;

kamino::v1::ScrubStatus Status(bool on) {
  kamino::v1::ScrubStatus status;
  status.set_on(on);
  status.set_ranges(8);
  status.set_next(2);
  return status;
}

TEST(ScrubLineTest, ShowsTheProgressOfAPass) {
  EXPECT_EQ(ScrubLine(Status(true)), "scrub: 25% of this pass\n");
  EXPECT_EQ(ScrubLine(Status(false)), "scrub: off\n");
  EXPECT_EQ(ScrubLine({}), "scrub: off\n");
}

TEST(ScrubLineTest, ShowsTheLastPassBetweenTwoPasses) {
  kamino::v1::ScrubStatus status = Status(true);
  status.set_next(0);
  EXPECT_EQ(ScrubLine(status), "scrub: 0% of this pass\n");
  status.set_passes(1);
  status.set_took_ms(8000);
  status.set_ended_ms_ago(2000);
  constexpr char kTheLast[] = "; the last one took 8s and ended 2s ago\n";
  // The first range of the next one is being compared.
  EXPECT_EQ(ScrubLine(status),
            absl::StrCat("scrub: 0% of this pass", kTheLast));
  status.set_between_passes(true);
  EXPECT_EQ(ScrubLine(status),
            absl::StrCat("scrub: between two passes", kTheLast));
  status.set_in_doubt(true);
  EXPECT_THAT(ScrubLine(status), HasSubstr("scrub: 0% of this pass; "));
}

TEST(ScrubLineTest, ShowsAnUnresolvedDifferenceAtAnyRate) {
  for (bool on : {true, false}) {
    kamino::v1::ScrubStatus status = Status(on);
    status.set_in_doubt(true);
    status.set_differences(3);
    status.set_last_found("n1 11, n2 12");
    EXPECT_THAT(ScrubLine(status),
                HasSubstr("3 differences, the last: n1 11, n2 12; nothing is "
                          "served, because range 2 may be wrong"));
  }
}

}  // namespace
}  // namespace kamino::client
