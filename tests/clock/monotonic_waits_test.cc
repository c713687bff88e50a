// Waits while the wall clock is set by an hour: Abseil's, and gRPC's timers.
//
// The process runs itself again with a wall clock that it can set
// (stepped_clock.cc).
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "glog/logging.h"
#include "grpc/support/time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/completion_queue.h"
#include "gtest/gtest.h"
#include "tests/faults/fault.h"
#include "tests/patience.h"

namespace kamino {
namespace {

constexpr absl::Duration kWait = absl::Milliseconds(300);
// Much longer than it may take on a machine that is busy, much shorter than an
// hour.
const absl::Duration kEnough = Patience(absl::Seconds(20));
constexpr absl::Duration kHour = absl::Hours(1);

absl::Time MonotonicNow() {
  return absl::UnixEpoch() +
         absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

void SetWallClock(absl::Duration by) {
  const int64_t nanos = absl::ToInt64Nanoseconds(by);
  FILE* file = fopen(getenv("STEPPED_CLOCK"), "r+");
  PCHECK(file != nullptr);
  PCHECK(fwrite(&nanos, sizeof(nanos), 1, file) == 1);
  PCHECK(fclose(file) == 0);
}

// Whether a thread that has begun `wait` ends, within `enough`, after the wall
// clock was set by as much. It is as before afterwards.
bool EndsThough(absl::Duration step, absl::Duration enough,
                std::function<void()> wait) {
  const absl::Time begin = MonotonicNow();
  const absl::Time wall = absl::Now();
  absl::Notification begun;
  std::thread waiter([&] {
    begun.Notify();
    wait();
  });
  begun.WaitForNotification();
  // Until it surely waits. Whatever this is told, it is not to be trusted here.
  while (MonotonicNow() < begin + kWait / 3) std::this_thread::yield();
  SetWallClock(step);
  EXPECT_GT(absl::AbsDuration(absl::Now() - wall), kHour / 2);
  absl::Notification joined;
  std::thread joiner([&] {
    waiter.join();
    joined.Notify();
  });
  while (!joined.HasBeenNotified() && MonotonicNow() < begin + enough) {
    std::this_thread::yield();
  }
  const bool ended = joined.HasBeenNotified();
  SetWallClock(absl::ZeroDuration());
  joiner.join();
  if (ended) {
    EXPECT_GE(MonotonicNow() - begin, kWait);
  }
  return ended;
}

void WaitByMutex() {
  absl::Mutex mutex;
  bool never = false;
  absl::MutexLock lock(&mutex);
  mutex.AwaitWithTimeout(absl::Condition(&never), kWait);
}

void WaitByNotification() {
  absl::Notification never;
  never.WaitForNotificationWithTimeout(kWait);
}

void WaitByGrpc() {
  grpc::CompletionQueue queue;
  grpc::Alarm alarm;
  alarm.Set(&queue,
            gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                         gpr_time_from_millis(absl::ToInt64Milliseconds(kWait),
                                              GPR_TIMESPAN)),
            &queue);
  void* tag;
  bool ok;
  queue.Next(&tag, &ok);
}

class MonotonicWaitsTest : public ::testing::TestWithParam<int> {
 protected:
  absl::Duration step() const { return GetParam() * kHour; }
};

TEST_P(MonotonicWaitsTest, WaitsEndOnTime) {
  EXPECT_TRUE(EndsThough(step(), kEnough, WaitByMutex));
  EXPECT_TRUE(EndsThough(step(), kEnough, WaitByNotification));
  EXPECT_TRUE(EndsThough(step(), kEnough, WaitByGrpc));
}

TEST_P(MonotonicWaitsTest, AWaitingThreadIsWokenByAnother) {
  absl::Mutex mutex;
  int turn = 0;
  const auto play = [&](int mine) {
    for (int i = 0; i < 2000; ++i) {
      const auto due = [&]() { return turn % 2 == mine; };
      absl::MutexLock lock(&mutex);
      ASSERT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&due), kEnough));
      ++turn;
    }
  };
  std::thread one([&] { play(0); });
  SetWallClock(step());
  play(1);
  one.join();
  SetWallClock(absl::ZeroDuration());
  EXPECT_EQ(turn, 4000);
}

INSTANTIATE_TEST_SUITE_P(BackAndForth, MonotonicWaitsTest,
                         ::testing::Values(-1, 1));

TEST(MonotonicWaitsFaultTest, WaitsByTheWallClockAreDetected) {
  faults::PlantFault("waits-by-the-wall-clock");
  for (const auto& wait : {WaitByMutex, WaitByNotification, WaitByGrpc}) {
    EXPECT_FALSE(EndsThough(-kHour, 4 * kWait, wait));
  }
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

}  // namespace
}  // namespace kamino

int main(int argc, char** argv) {
  if (getenv("STEPPED_CLOCK") == nullptr) {
    const std::string clock =
        ::testing::TempDir() + "clock." + std::to_string(getpid());
    FILE* file = fopen(clock.c_str(), "w");
    const int64_t zero = 0;
    PCHECK(file != nullptr && fwrite(&zero, sizeof(zero), 1, file) == 1 &&
           fclose(file) == 0);
    setenv("STEPPED_CLOCK", clock.c_str(), 1);
    setenv("LD_PRELOAD", "tests/clock/libstepped_clock.so", 1);
    execv(argv[0], argv);
    PLOG(FATAL) << "execv";
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
