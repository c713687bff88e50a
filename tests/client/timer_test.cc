#include "client/timer.h"

#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/patience.h"

namespace kamino::client {
namespace {

TEST(TimerTest, RunsTasksInTheOrderOfTheirTimes) {
  Timer timer;
  std::string order;
  absl::Notification done;
  // Further apart than the two calls that set them.
  timer.After(Patience(absl::Seconds(2)), [&] {
    order += "b";
    done.Notify();
  });
  timer.After(absl::Milliseconds(10), [&] { order += "a"; });
  done.WaitForNotification();
  EXPECT_EQ(order, "ab");
}

TEST(TimerTest, HurryRunsWaitingTasksInOrder) {
  Timer timer;
  std::string order;
  absl::Notification done;
  timer.After(absl::Hours(2), [&] {
    order += "b";
    done.Notify();
  });
  timer.After(absl::Hours(1), [&] { order += "a"; });
  timer.Hurry();
  done.WaitForNotification();
  EXPECT_EQ(order, "ab");
}

TEST(TimerTest, HurryDoesNotAffectLaterTasks) {
  auto timer = std::make_unique<Timer>();
  bool ran = false;
  absl::Notification done;
  timer->Hurry();
  timer->After(absl::Hours(1), [&] { ran = true; });
  timer->After(absl::ZeroDuration(), [&] { done.Notify(); });
  done.WaitForNotification();
  EXPECT_FALSE(ran);
  timer = nullptr;  // runs what waits
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace kamino::client
