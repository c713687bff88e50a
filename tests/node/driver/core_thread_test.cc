#include "node/driver/core_thread.h"

#include <atomic>
#include <thread>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace kamino::node {
namespace {

TEST(CoreThreadTest, RunsTasksInOrderAndEndsBatches) {
  std::vector<int> ran;
  int batches = 0;
  CoreThread thread({});
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
  CoreThread thread(options);
  thread.Start({[&] {
                  if (++ticks == 3) third.Notify();
                },
                [] { return false; }});
  third.WaitForNotification();
}

TEST(CoreThreadTest, MoreWorkNeedsNoTask) {
  absl::Notification done;
  int left = 1000;
  CoreThread::Options options;
  options.tick_interval = absl::Hours(1);
  CoreThread thread(options);
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
  CoreThread thread(options);
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

TEST(CoreThreadTest, WeightHoldsPostersBack) {
  CoreThread::Options options;
  options.max_queued_weight = 10;
  CoreThread thread(options);
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

}  // namespace
}  // namespace kamino::node
