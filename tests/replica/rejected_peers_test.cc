#include "replica/link/rejected_peers.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace kamino::replica {
namespace {

const absl::Time kBegin = absl::UnixEpoch();

TEST(RejectedPeersTest, PausesGrowToTheirLimit) {
  RejectedPeers rejected;
  absl::Time now = kBegin;
  std::string pauses;
  for (int i = 0; i < 9; ++i) {
    const absl::Time until = rejected.Note("n1", now);
    EXPECT_EQ(rejected.PausedUntil("n1"), until);
    absl::StrAppend(&pauses, absl::ToInt64Milliseconds(until - now), " ");
    now = until;
  }
  EXPECT_EQ(pauses, "0 20 40 80 160 320 640 1000 1000 ");
}

TEST(RejectedPeersTest, EachPeerHasItsOwnPause) {
  RejectedPeers rejected;
  rejected.Note("n1", kBegin);
  rejected.Note("n1", kBegin);
  EXPECT_EQ(rejected.Note("n2", kBegin), kBegin);
  EXPECT_EQ(rejected.PausedUntil("n3"), absl::InfinitePast());
}

TEST(RejectedPeersTest, AQuietPeerBeginsAnew) {
  RejectedPeers rejected;
  for (int i = 0; i < 9; ++i) rejected.Note("n1", kBegin);
  EXPECT_EQ(rejected.Note("n1", kBegin + RejectedPeers::kForgotten),
            kBegin + RejectedPeers::kForgotten);
}

}  // namespace
}  // namespace kamino::replica
