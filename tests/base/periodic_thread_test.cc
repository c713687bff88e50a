#include "base/periodic_thread.h"

#include <memory>

#include "absl/synchronization/blocking_counter.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace kamino {
namespace {

TEST(PeriodicThreadTest, CallsRepeatedly) {
  int calls = 0;
  absl::BlockingCounter remaining(3);
  const PeriodicThread thread("test", absl::Milliseconds(1), [&] {
    if (++calls <= 3) remaining.DecrementCount();
  });
  remaining.Wait();
}

TEST(PeriodicThreadTest, StoppingDoesNotWaitForTheInterval) {
  bool called = false;
  auto thread = std::make_unique<PeriodicThread>("test", absl::Hours(24),
                                                 [&] { called = true; });
  thread.reset();
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace kamino
