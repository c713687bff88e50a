#include "head/session_table.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"

namespace kamino::head {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kLongestPause = absl::Milliseconds(250);
constexpr absl::Duration kTick = absl::Milliseconds(50);

class SessionTableTest : public ::testing::Test {
 protected:
  SessionTableTest() : table_(kLongestPause) { table_.SetEpoch(2); }

  void Add(uint64_t id, absl::Duration lease, uint64_t epoch = 2,
           uint32_t window = 4) {
    table_.Add({id, window, lease, epoch, /*opened=*/id}, /*result_bytes=*/0,
               now_);
  }
  std::vector<uint64_t> Due(size_t most = 64, uint64_t most_slots = 1024) {
    return table_.Due(now_, most, most_slots);
  }
  // With its ticks.
  void Pass(absl::Duration time) {
    for (const absl::Time end = now_ + time; now_ < end; Due()) now_ += kTick;
  }

  SessionTable table_;
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(SessionTableTest, ASessionIsDueOnceItsLeaseEnds) {
  Add(1, absl::Seconds(2));
  Add(2, absl::Seconds(1));
  Pass(absl::Milliseconds(950));
  EXPECT_THAT(Due(), IsEmpty());
  Pass(kTick);
  EXPECT_THAT(Due(), ElementsAre(2));
  Pass(absl::Seconds(1));
  EXPECT_THAT(Due(), ElementsAre(2, 1));
  EXPECT_EQ(table_.size(), 2u);
  table_.Remove(2);
  table_.Remove(2);
  EXPECT_THAT(Due(), ElementsAre(1));
  EXPECT_EQ(table_.slots(), 4u);
}

TEST_F(SessionTableTest, ARequestRenewsTheWholeLease) {
  Add(1, absl::Seconds(1));
  for (int i = 0; i < 5; ++i) {
    Pass(absl::Milliseconds(900));
    table_.Hear(1, now_);
  }
  table_.Hear(7, now_);
  EXPECT_THAT(Due(), IsEmpty());
  Pass(absl::Milliseconds(950));
  EXPECT_THAT(Due(), IsEmpty());
  Pass(kTick);
  EXPECT_THAT(Due(), ElementsAre(1));
  // Up to the very end of the lease.
  table_.Hear(1, now_);
  EXPECT_THAT(Due(), IsEmpty());
}

TEST_F(SessionTableTest, NoMoreSessionsAreDueThanRequested) {
  for (uint64_t id = 1; id <= 5; ++id) Add(id, absl::Seconds(1));
  Pass(absl::Seconds(2));
  EXPECT_THAT(Due(2), ElementsAre(1, 2));
  EXPECT_THAT(Due(64, 12), ElementsAre(1, 2, 3));
  EXPECT_THAT(Due(64, 0), ElementsAre(1));
}

// Whichever event comes first after it.
TEST_F(SessionTableTest, AStandstillDoesNotCount) {
  Add(1, absl::Seconds(1));
  Pass(absl::Milliseconds(500));
  now_ += absl::Minutes(5);
  EXPECT_THAT(Due(), IsEmpty());
  now_ += absl::Minutes(5);
  table_.Hear(9, now_);
  EXPECT_THAT(Due(), IsEmpty());
  Pass(absl::Milliseconds(450));
  EXPECT_THAT(Due(), IsEmpty());
  Pass(kTick);
  EXPECT_THAT(Due(), ElementsAre(1));
}

TEST_F(SessionTableTest, ACountedStandstillIsDetected) {
  faults::Planted fault("sessions-expire-while-the-head-stands-still");
  Add(1, absl::Seconds(1));
  Pass(absl::Milliseconds(500));
  now_ += absl::Minutes(5);
  EXPECT_THAT(Due(), ElementsAre(1));
}

TEST_F(SessionTableTest, ASessionOfAnotherEpochIsDueAtOnce) {
  Add(1, absl::Hours(1), /*epoch=*/1);
  Add(2, absl::Hours(1));
  EXPECT_THAT(Due(), ElementsAre(1));
  EXPECT_TRUE(table_.Has(1));
  EXPECT_EQ(table_.Find(1), nullptr);
  ASSERT_NE(table_.Find(2), nullptr);
  EXPECT_EQ(table_.Find(2)->opened, 2u);
  table_.SetEpoch(3);
  EXPECT_THAT(Due(), ElementsAre(1, 2));
  EXPECT_EQ(table_.Find(2), nullptr);
}

TEST_F(SessionTableTest, CountsResultBytes) {
  table_.Add({1, 4, absl::Seconds(1), 2, 1}, /*result_bytes=*/500, now_);
  table_.Add({1, 4, absl::Seconds(1), 2, 1}, /*result_bytes=*/500, now_);
  Add(2, absl::Seconds(1));
  table_.AddResultBytes(2, 300, 0);
  table_.AddResultBytes(1, 100, 200);
  table_.AddResultBytes(3, 100, 200);
  EXPECT_EQ(table_.result_bytes(), 700u);
  EXPECT_EQ(table_.slots(), 8u);
  table_.Remove(1);
  EXPECT_EQ(table_.result_bytes(), 300u);
  table_.Remove(2);
  EXPECT_EQ(table_.result_bytes(), 0u);
}

}  // namespace
}  // namespace kamino::head
