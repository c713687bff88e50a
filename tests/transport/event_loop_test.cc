#include "transport/loop/event_loop.h"

#include <atomic>
#include <memory>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace kamino::transport {
namespace {

constexpr absl::Duration kSpin = absl::Milliseconds(1);

// Has something to do when Offer was called; counts how often it is asked.
class CountingPoller final : public Poller {
 public:
  bool Poll() override {
    ++asked_;
    return has_work_.exchange(false);
  }
  bool Arm() override { return !has_work_; }
  void Disarm() override {}

  void Offer() { has_work_ = true; }
  int asked() const { return asked_; }

 private:
  std::atomic<bool> has_work_{false};
  std::atomic<int> asked_{0};
};

class SpinTest : public ::testing::Test {
 protected:
  SpinTest() : loop_(*EventLoop::Start(kSpin)) {
    loop_->RunSync([this] { loop_->AddPoller(&poller_); });
  }
  ~SpinTest() override {
    loop_->RunSync([this] { loop_->RemovePoller(&poller_); });
    loop_->Stop();
  }

  // A turn of work, and the spin after it, if there is one; how often the
  // poller was asked until the loop slept.
  int Turn() {
    absl::Notification asleep;
    const int before = poller_.asked();
    poller_.Offer();
    loop_->RunSync(
        [&] { loop_->StartTimer(2 * kSpin, [&asleep] { asleep.Notify(); }); });
    asleep.WaitForNotification();
    return poller_.asked() - before;
  }

  std::shared_ptr<EventLoop> loop_;
  CountingPoller poller_;
};

// Rather than a few looks before it sleeps.
constexpr int kSpun = 100;

TEST_F(SpinTest, SpinsSeldomOnceItWasInVain) {
  EXPECT_GT(Turn(), kSpun);
  for (int i = 0; i < 100; ++i) Turn();
  int spins = 0;
  for (int i = 0; i < 96; ++i) spins += Turn() > kSpun;
  EXPECT_GE(spins, 1);
  EXPECT_LE(spins, 6);
}

TEST_F(SpinTest, SpinsAgainOnceThatFindsSomething) {
  for (int i = 0; i < 100; ++i) Turn();
  for (bool found = false; !found; Turn()) {
    int before = poller_.asked();
    poller_.Offer();
    loop_->Wake();
    while (poller_.asked() == before) {
    }
    // One turn in many is followed by a spin, which then finds this.
    before = poller_.asked();
    for (const absl::Time end = absl::Now() + kSpin / 2;
         !found && absl::Now() < end;) {
      found = poller_.asked() > before + kSpun;
    }
    if (found) poller_.Offer();
  }
  int spins = 0;
  for (int i = 0; i < 8; ++i) spins += Turn() > kSpun;
  EXPECT_GE(spins, 4);
}

}  // namespace
}  // namespace kamino::transport
