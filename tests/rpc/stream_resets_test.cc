#include "rpc/stream_resets.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Connections = std::vector<StreamResets::Connection>;

class StreamResetsTest : public ::testing::Test {
 protected:
  std::vector<int64_t> Look(const Connections& connections) {
    now_ += absl::Milliseconds(100);
    return resets_.Look(connections, now_);
  }

  StreamResets resets_{{/*of_connection=*/100}};
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(StreamResetsTest, AConnectionWithTooManyStreamsPerSecondIsClosed) {
  EXPECT_THAT(Look({{1, 0}, {2, 0}}), IsEmpty());
  EXPECT_THAT(Look({{1, 60}, {2, 60}}), IsEmpty());
  EXPECT_THAT(Look({{1, 101}, {2, 100}}), ElementsAre(1));
}

TEST_F(StreamResetsTest, StreamsBeforeTheFirstLookAreNotCounted) {
  EXPECT_THAT(Look({{7, 100000}}), IsEmpty());
  EXPECT_THAT(Look({{7, 100101}}), ElementsAre(7));
}

TEST_F(StreamResetsTest, StreamsOfALongPauseAreSpreadOverIt) {
  EXPECT_THAT(Look({{7, 0}}), IsEmpty());
  now_ += absl::Hours(1);
  EXPECT_THAT(Look({{7, 5000}}), IsEmpty());
  EXPECT_THAT(Look({{7, 5101}}), ElementsAre(7));
}

TEST_F(StreamResetsTest, AllStreamsOfANewConnectionAreCounted) {
  EXPECT_THAT(Look({{1, 5000}}), IsEmpty());
  EXPECT_THAT(Look({{1, 5000}, {2, 101}}), ElementsAre(2));
}

TEST_F(StreamResetsTest, ALongLivedConnectionMayHaveManyStreams) {
  for (int i = 1; i < 100; ++i) {
    EXPECT_THAT(Look({{1, 8 * i}}), IsEmpty()) << i;
  }
}

}  // namespace
}  // namespace kamino::rpc
