#include "lab/controller/channel.h"

#include <random>

#include "gtest/gtest.h"

namespace kamino::bench::controller {
namespace {

constexpr Time kClock = 1500;

// Lines that follow each other in a bank, and in its row.
constexpr LineNumber kNextInRow = 16;
constexpr LineNumber kNextRow = kNextInRow * 128;

class ChannelTest : public ::testing::Test {
 protected:
  Channel channel_{DeviceTiming(), 1, 32};
};

TEST_F(ChannelTest, TheFirstReadOpensARow) {
  EXPECT_EQ(channel_.Read(0, 0).at, (10 + 10 + 4) * kClock);
}

TEST_F(ChannelTest, AnOpenRowIsFaster) {
  const Time first = channel_.Read(0, 0).at;
  const Time later = first + 100 * kClock;
  EXPECT_EQ(channel_.Read(later, kNextInRow).at, later + (10 + 4) * kClock);
}

TEST_F(ChannelTest, ARowIsClosedAfterFourAccesses) {
  Time now = 0;
  for (int i = 0; i < 4; ++i) {
    now = channel_.Read(now, i * kNextInRow).at + 100 * kClock;
  }
  EXPECT_EQ(channel_.Read(now, 4 * kNextInRow).at,
            now + (10 + 10 + 10 + 4) * kClock);
}

TEST_F(ChannelTest, AnotherRowWaitsForTheWriteToSettle) {
  // Activate, write, data, recovery.
  const Time settled = (10 + 9 + 4 + 10) * kClock;
  EXPECT_EQ(channel_.Write(0, 0).at, settled);
  // Precharge, activate, read, data.
  EXPECT_EQ(channel_.Read(0, kNextRow).at,
            settled + (10 + 10 + 10 + 4) * kClock);
}

TEST_F(ChannelTest, BanksShareOnlyTheBus) {
  const Time first = channel_.Write(0, 0).at;
  EXPECT_EQ(channel_.Write(0, 1).at, first + 4 * kClock);
  EXPECT_EQ(channel_.Write(0, 2).at, first + 8 * kClock);
  // A request that waits for a bank leaves the bus to others.
  channel_.Read(0, kNextRow);
  EXPECT_EQ(channel_.Write(0, 3).at, first + 12 * kClock);
}

TEST_F(ChannelTest, WaitingWritesAreCombined) {
  channel_.Write(0, 0);
  const Channel::Done waits = channel_.Write(0, kNextRow);
  EXPECT_EQ(channel_.Write(0, kNextRow).at, waits.at);
  EXPECT_EQ(channel_.counts().writes, 2u);
  EXPECT_EQ(channel_.counts().combined, 1u);
  // It does not wait any more.
  EXPECT_GT(channel_.Write(waits.at, kNextRow).at, waits.at);
  EXPECT_EQ(channel_.counts().writes, 3u);
}

TEST_F(ChannelTest, AFullQueueDelaysRequests) {
  std::vector<Channel::Done> done;
  for (LineNumber line = 0; line < 40; ++line) {
    done.push_back(channel_.Write(0, line * kNextRow));
  }
  EXPECT_EQ(done[31].accepted, 0u);
  // One bank: they leave it in order, when their data has been transferred.
  const Time recovery = 10 * kClock;
  for (int i = 32; i < 40; ++i) {
    EXPECT_EQ(done[i].accepted, done[i - 32].at - recovery);
  }
}

TEST(ChannelSpeedTest, TheSlowdownScalesAllTimes) {
  std::mt19937_64 random(1);
  Channel fast(DeviceTiming(), 1, 32), slow(DeviceTiming(), 8, 32);
  for (int i = 0; i < 1000; ++i) {
    const LineNumber line = random() % 1000000;
    const bool write = random() % 2 == 0;
    const Time now = 10000 * (i / 10);
    const Time at = write ? fast.Write(now, line).at : fast.Read(now, line).at;
    EXPECT_EQ(
        write ? slow.Write(8 * now, line).at : slow.Read(8 * now, line).at,
        8 * at);
  }
}

// A line takes the bus for four clocks, whatever is asked for.
TEST(ChannelSpeedTest, TheBusLimitsThroughput) {
  std::mt19937_64 random(2);
  Channel channel(DeviceTiming(), 1, 32);
  Time now = 0, last = 0;
  constexpr int kLines = 20000;
  for (int i = 0; i < kLines; ++i) {
    const Channel::Done done = channel.Write(now, random() % (1 << 17));
    now = done.accepted;
    last = std::max(last, done.at);
  }
  const uint64_t lines = channel.counts().writes;
  EXPECT_GE(last, lines * 4 * kClock);
  EXPECT_LT(last, lines * 4 * kClock * 2);
}

}  // namespace
}  // namespace kamino::bench::controller
