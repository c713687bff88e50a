#include "node/driver/core_thread.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "node/driver/core_activity.h"
#include "tests/faults/fault.h"
#include "tests/patience.h"
#include "transport/loop/event_loop.h"

namespace kamino::node {
namespace {

TEST(CoreThreadTest, RunsTasksInOrderAndEndsBatches) {
  std::vector<int> ran;
  int batches = 0;
  const auto owned = *CoreThread::Create({});
  CoreThread& thread = *owned;
  for (int i = 0; i < 100; ++i) thread.Post([&ran, i] { ran.push_back(i); });
  thread.Start({[] {},
                [&] {
                  ++batches;
                  return false;
                }});
  thread.Stop();
  ASSERT_EQ(ran.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ran[i], i);
  EXPECT_GE(batches, 1);
  EXPECT_FALSE(thread.Post([] {}));
}

TEST(CoreThreadTest, TicksWithoutTasks) {
  absl::Notification third;
  int ticks = 0;
  CoreThread::Options options;
  options.tick_interval = absl::Milliseconds(1);
  const auto owned = *CoreThread::Create(options);
  CoreThread& thread = *owned;
  thread.Start({[&] {
                  if (++ticks == 3) third.Notify();
                },
                [] { return false; }});
  third.WaitForNotification();
}

TEST(CoreThreadTest, TicksSeldomWhileThereIsNoWork) {
  absl::Mutex mutex;
  int ticks = 0;
  const auto await_ticks = [&](int more, absl::Duration longest) {
    absl::MutexLock lock(&mutex);
    const int enough = ticks + more;
    const auto over = [&] { return ticks >= enough; };
    return mutex.AwaitWithTimeout(absl::Condition(&over), longest);
  };
  CoreThread::Options options;
  options.tick_interval = absl::Milliseconds(1);
  options.idle_tick_interval = absl::Hours(1);
  const auto owned = *CoreThread::Create(options);
  CoreThread& thread = *owned;
  thread.Start({[&] {
                  absl::MutexLock lock(&mutex);
                  ++ticks;
                },
                [] { return false; }});
  for (int times = 0; times < 3; ++times) {
    ASSERT_TRUE(
        await_ticks(CoreThread::kQuietTicks, Patience(absl::Seconds(30))));
    // One more was due by the timer that ran already. At the interval of a busy
    // core, ten would take 10 ms.
    EXPECT_FALSE(await_ticks(10, absl::Milliseconds(200))) << times;
    absl::Notification ran;
    thread.Post([&] { ran.Notify(); });
    ran.WaitForNotification();
  }
}

TEST(CoreThreadTest, MoreWorkNeedsNoTask) {
  absl::Notification done;
  int left = 1000;
  CoreThread::Options options;
  options.tick_interval = absl::Hours(1);
  const auto owned = *CoreThread::Create(options);
  CoreThread& thread = *owned;
  thread.Start({[] {},
                [&] {
                  if (--left == 0) done.Notify();
                  return left > 0;
                }});
  thread.Post([] {});
  done.WaitForNotification();
}

TEST(CoreThreadTest, ABatchEndsWhenItHasTakenLong) {
  int batches = 0;
  std::vector<int> batches_before;
  CoreThread::Options options;
  options.max_batch_time = absl::ZeroDuration();
  const auto owned = *CoreThread::Create(options);
  CoreThread& thread = *owned;
  for (int i = 0; i < 10; ++i) {
    thread.Post([&] { batches_before.push_back(batches); });
  }
  thread.Start({[] {},
                [&] {
                  ++batches;
                  return false;
                }});
  thread.Stop();
  ASSERT_EQ(batches_before.size(), 10u);
  for (int i = 1; i < 10; ++i) {
    EXPECT_GT(batches_before[i], batches_before[i - 1]) << i;
  }
}

// On a clock that the test sets: steps take as long as they move it on.
class StoodStillTest : public ::testing::Test {
 protected:
  StoodStillTest() {
    CoreThread::Options options;
    options.tick_interval = absl::Hours(1);
    options.clock = [this] { return absl::UnixEpoch() + Passed(); };
    thread_ = *CoreThread::Create(options);
    CoreExecutor::Hooks hooks;
    hooks.tick = [this] { ticked_.Notify(); };
    hooks.end_of_batch = [this] {
      Pass(std::exchange(end_takes_, absl::ZeroDuration()));
      return false;
    };
    hooks.activity = &activity_;
    hooks.stood_still = [this](absl::Duration time) { told_.push_back(time); };
    thread_->Start(std::move(hooks));
    ticked_.WaitForNotification();
    AwaitIdle();
  }

  absl::Duration Passed() const {
    return absl::Milliseconds(passed_ms_.load());
  }
  void Pass(absl::Duration time) {
    passed_ms_ += absl::ToInt64Milliseconds(time);
  }
  void AwaitIdle() const {
    while (!activity_.idle()) std::this_thread::yield();
  }
  // A task of that length, and an end of its batch.
  void RunTask(absl::Duration takes,
               absl::Duration end_takes = absl::ZeroDuration()) {
    absl::Notification ran;
    thread_->Post([&] {
      Pass(takes);
      end_takes_ = end_takes;
      ran.Notify();
    });
    ran.WaitForNotification();
    AwaitIdle();
  }

  std::atomic<int64_t> passed_ms_{0};
  CoreActivity activity_;
  absl::Notification ticked_;
  // The core thread's.
  absl::Duration end_takes_;
  std::vector<absl::Duration> told_;
  std::unique_ptr<CoreThread> thread_;
};

TEST_F(StoodStillTest, TimeBeyondALongStepIsReported) {
  RunTask(CoreThread::kLongStep);
  RunTask(absl::Seconds(2));
  RunTask(absl::ZeroDuration(), absl::Seconds(3));
  thread_->loop()->RunSync([this] {
    EXPECT_TRUE(thread_->RunNow([this] { Pass(absl::Seconds(4)); }));
  });
  thread_->Stop();
  EXPECT_EQ(told_, (std::vector{absl::Seconds(2) - CoreThread::kLongStep,
                                absl::Seconds(3) - CoreThread::kLongStep,
                                absl::Seconds(4) - CoreThread::kLongStep}));
}

TEST_F(StoodStillTest, IdleTimeIsNoStep) {
  for (int i = 0; i < 3; ++i) {
    Pass(absl::Seconds(5));
    RunTask(absl::Milliseconds(1));
  }
  thread_->Stop();
  EXPECT_EQ(told_, std::vector<absl::Duration>());
}

// However many reads wait, what comes over links has its turn after some.
TEST(CoreThreadTest, ReadsLetTasksPass) {
  std::vector<std::string> ran;
  CoreThread::Options options;
  options.max_batch_time = absl::ZeroDuration();
  const auto owned = *CoreThread::Create(options);
  CoreThread& thread = *owned;
  absl::Notification last;
  for (int i = 0; i < 10; ++i) {
    thread.PostRead([&, i] {
      ran.push_back(absl::StrCat("read ", i));
      if (i == 2) thread.Post([&] { ran.push_back("task"); });
      if (i == 9) last.Notify();
    });
  }
  thread.Start({[] {}, [] { return false; }});
  last.WaitForNotification();
  thread.Stop();
  ASSERT_EQ(ran.size(), 11u);
  EXPECT_EQ(ran[2], "read 2");
  EXPECT_EQ(ran[3], "task");
  for (int i = 3; i < 10; ++i) EXPECT_EQ(ran[i + 1], absl::StrCat("read ", i));
  EXPECT_FALSE(thread.PostRead([] {}));
}

TEST(CoreThreadTest, WeightHoldsPostersBack) {
  CoreThread::Options options;
  options.max_queued_weight = 10;
  const auto owned = *CoreThread::Create(options);
  CoreThread& thread = *owned;
  ASSERT_TRUE(thread.PostAndWait([] {}, 10));
  std::atomic<bool> posted{false};
  std::thread other([&] {
    EXPECT_TRUE(thread.PostAndWait([] {}, 1));
    posted = true;
  });
  EXPECT_FALSE(posted);  // nothing runs yet
  thread.Start({[] {}, [] { return false; }});
  other.join();
  EXPECT_TRUE(posted);
}

TEST(CoreThreadTest, TasksPostedOnItsThreadNeitherWaitNorPileUp) {
  CoreThread::Options options;
  options.max_queued_weight = 20;
  options.tick_interval = absl::Hours(1);
  const auto owned = *CoreThread::Create(options);
  CoreThread& thread = *owned;
  thread.Start({[] {}, [] { return false; }});
  absl::Notification done;
  int ran = 0;
  int most = 0;
  // Like a link that has received messages.
  thread.loop()->RunSync([&] {
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(thread.PostAndWait(
          [&] {
            if (++ran == 5) done.Notify();
          },
          10));
      most = std::max(most, i + 1 - ran);
      EXPECT_TRUE(i > 1 || ran == 0);  // later, while there is room
    }
  });
  EXPECT_EQ(most, 2);
  done.WaitForNotification();
}

TEST(CoreThreadTest, RunsTasksOfItsThreadAtOnceAndEndsTheirBatch) {
  const auto owned = *CoreThread::Create({});
  CoreThread& thread = *owned;
  absl::Notification ended;
  int ran = 0;
  thread.Start({[] {},
                [&] {
                  if (ran == 2 && !ended.HasBeenNotified()) ended.Notify();
                  return false;
                }});
  EXPECT_FALSE(thread.RunNow([&] { ran = 100; }));  // not its thread
  thread.loop()->RunSync([&] {
    EXPECT_TRUE(thread.RunNow([&] {
      ++ran;
      EXPECT_FALSE(thread.RunNow([&] { ran = 100; }));  // within a task
    }));
    EXPECT_EQ(ran, 1);
    // Not before what was posted.
    EXPECT_TRUE(thread.Post([&] { ++ran; }));
    EXPECT_FALSE(thread.RunNow([&] { ran = 100; }));
    EXPECT_EQ(ran, 1);
  });
  ended.WaitForNotification();
  thread.Stop();
  EXPECT_EQ(ran, 2);
}

TEST(CoreThreadTest, ABatchOfImmediateTasksEndsInTime) {
  CoreThread::Options options;
  options.max_batch_time = absl::ZeroDuration();
  const auto owned = *CoreThread::Create(options);
  CoreThread& thread = *owned;
  int batches = 0;
  thread.Start({[] {},
                [&] {
                  ++batches;
                  return false;
                }});
  thread.loop()->RunSync([&] {
    const int before = batches;
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(thread.RunNow([] {}));
    EXPECT_GE(batches - before, 9);
  });
  thread.Stop();
}

TEST(CoreThreadTest, ATimerOfALinkMayPost) {
  CoreThread::Options options;
  options.tick_interval = absl::Hours(1);
  const auto owned = *CoreThread::Create(options);
  CoreThread& thread = *owned;
  thread.Start({[] {}, [] { return false; }});
  absl::Notification done;
  thread.loop()->RunSync([&] {
    thread.loop()->StartTimer(absl::Milliseconds(5),
                              [&] { thread.Post([&] { done.Notify(); }); });
  });
  done.WaitForNotification();
}

// System calls of this process that write, so far.
uint64_t Writes() {
  std::ifstream file("/proc/self/io");
  uint64_t count = 0;
  for (std::string word; file >> word;) {
    if (word == "syscw:") file >> count;
  }
  return count;
}

bool Sleeps(pid_t thread) {
  std::ifstream file(absl::StrCat("/proc/self/task/", thread, "/stat"));
  std::string id, name, state;
  file >> id >> name >> state;
  return state == "S";
}

// Like the first message to a link while the loop sleeps.
TEST(CoreThreadTest, ATaskPostedByALoopEventNeedsNoWakeup) {
  constexpr uint64_t kRounds = 50;
  CoreThread::Options options;
  options.tick_interval = absl::Hours(1);
  options.spin = absl::ZeroDuration();
  const auto owned = *CoreThread::Create(options);
  CoreThread& thread = *owned;
  thread.Start({[] {}, [] { return false; }});
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  std::atomic<uint64_t> ran{0};
  transport::EventLoop::Id watch = 0;
  pid_t loops_thread = 0;
  thread.loop()->RunSync([&] {
    loops_thread = gettid();
    watch = *thread.loop()->Watch(ends[0], EPOLLIN, [&](uint32_t) {
      char byte;
      EXPECT_EQ(read(ends[0], &byte, 1), 1);
      thread.Post([&] { ++ran; });
    });
  });
  const uint64_t before = Writes();
  for (uint64_t i = 0; i < kRounds; ++i) {
    while (ran < i || !Sleeps(loops_thread)) sched_yield();
    ASSERT_EQ(write(ends[1], "x", 1), 1);
  }
  while (ran < kRounds) sched_yield();
  EXPECT_LT(Writes() - before, kRounds + kRounds / 5);
  thread.loop()->RunSync([&] { thread.loop()->Unwatch(watch); });
  for (const int end : ends) close(end);
}

TEST(CoreThreadDeathTest, ATaskMayNotWaitForRoom) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto wait_within_a_task = [] {
    CoreThread::Options options;
    options.max_queued_weight = 0;
    const auto owned = *CoreThread::Create(options);
    CoreThread& thread = *owned;
    thread.Start({[] {}, [] { return false; }});
    absl::Notification waited;  // one that stops has room
    thread.Post([&] {
      thread.PostAndWait([] {}, 1);
      waited.Notify();
    });
    waited.WaitForNotification();
    thread.Stop();
  };
  EXPECT_DEATH(wait_within_a_task(), "waits for tasks");
}

TEST(CoreThreadTest, AThreadThatWasNeverStartedStops) {
  const auto owned = *CoreThread::Create({});
  EXPECT_TRUE(owned->Post([] { ADD_FAILURE() << "it ran"; }));
  owned->Stop();
  EXPECT_FALSE(owned->Post([] {}));
}

// --- Steps that take long.

// Lines of a watchdog, with a wait for them.
class Lines {
 public:
  void Add(const std::string& line) {
    absl::MutexLock lock(&mutex_);
    lines_.push_back(line);
  }
  // The n-th, counted from 0; "": there is none in time.
  std::string Get(size_t n,
                  absl::Duration patience = Patience(absl::Seconds(20))) {
    absl::MutexLock lock(&mutex_);
    const auto there = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return lines_.size() > n;
    };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&there), patience)) return "";
    return lines_[n];
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
};

// A step lasts until the watchdog has said so, or is known to say nothing.
// Returns its two lines.
std::pair<std::string, std::string> WatchALongStep(absl::Duration patience) {
  Lines lines;
  CoreActivity activity;
  CoreThread::Options options;
  options.watchdog.patience = absl::Milliseconds(20);
  options.watchdog.log = [&](const std::string& line) { lines.Add(line); };
  const auto owned = *CoreThread::Create(options);
  CoreThread& thread = *owned;
  std::string first;
  thread.Post([&] {
    activity.Doing("kv.commit", 7);
    first = lines.Get(0, patience);
  });
  thread.Start({[] {}, [] { return false; }, &activity});
  std::string second = lines.Get(1, patience);
  thread.Stop();
  return {first, second};
}

TEST(CoreThreadTest, ALongStepIsLoggedWithItsName) {
  const auto [first, second] = WatchALongStep(Patience(absl::Seconds(20)));
  EXPECT_NE(first.find("busy for over 20ms with kv.commit (7)"),
            std::string::npos)
      << first;
  EXPECT_NE(second.find("was busy for about "), std::string::npos) << second;
  EXPECT_NE(second.find("kv.commit (7)"), std::string::npos) << second;
  faults::PlantFault("core-watchdog-takes-a-step-for-idleness");
  EXPECT_EQ(WatchALongStep(absl::Seconds(1)).first, "");
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

// The signal for a service manager's watchdog.
TEST(CoreThreadTest, AThreadThatStepsOrWaitsIsReportedAlive) {
  Lines lines;
  std::atomic<int> goes_on{0};
  absl::Notification waits;
  CoreActivity activity;
  activity.BeginStep("a task");
  CoreWatchdogOptions options;
  options.patience = absl::Milliseconds(2);
  options.log = [&](const std::string& line) { lines.Add(line); };
  options.goes_on = [&] {
    ++goes_on;
    if (activity.idle() && !waits.HasBeenNotified()) waits.Notify();
  };
  CoreWatchdog watchdog(options, &activity);
  EXPECT_NE(lines.Get(0), "");  // some looks later
  EXPECT_EQ(goes_on, 1);        // the step was new once
  activity.Idle();
  EXPECT_TRUE(
      waits.WaitForNotificationWithTimeout(Patience(absl::Seconds(20))));
}

TEST(CoreThreadTest, AThreadThatWaitsIsNotBusy) {
  CoreActivity activity;
  activity.BeginStep("a task");
  activity.Idle();
  Lines lines;
  CoreWatchdogOptions options;
  options.patience = absl::Milliseconds(2);
  options.log = [&](const std::string& line) { lines.Add(line); };
  CoreWatchdog watchdog(options, &activity);
  EXPECT_EQ(lines.Get(0, absl::Milliseconds(200)), "");
}

}  // namespace
}  // namespace kamino::node
