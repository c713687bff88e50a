#include "replica/link/misfits.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace kamino::replica {
namespace {

const absl::Time kBegin = absl::UnixEpoch();

TEST(MisfitsTest, PausesGrowToTheMost) {
  Misfits misfits;
  absl::Time now = kBegin;
  std::string pauses;
  for (int i = 0; i < 9; ++i) {
    const absl::Time until = misfits.Note("n1", now);
    EXPECT_EQ(misfits.PausedUntil("n1"), until);
    absl::StrAppend(&pauses, absl::ToInt64Milliseconds(until - now), " ");
    now = until;
  }
  EXPECT_EQ(pauses, "0 20 40 80 160 320 640 1000 1000 ");
}

TEST(MisfitsTest, EachPeerHasItsOwn) {
  Misfits misfits;
  misfits.Note("n1", kBegin);
  misfits.Note("n1", kBegin);
  EXPECT_EQ(misfits.Note("n2", kBegin), kBegin);
  EXPECT_EQ(misfits.PausedUntil("n3"), absl::InfinitePast());
}

TEST(MisfitsTest, WhoSendsNothingOfTheKindForLongBeginsAnew) {
  Misfits misfits;
  for (int i = 0; i < 9; ++i) misfits.Note("n1", kBegin);
  EXPECT_EQ(misfits.Note("n1", kBegin + Misfits::kForgotten),
            kBegin + Misfits::kForgotten);
}

}  // namespace
}  // namespace kamino::replica
