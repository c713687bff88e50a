#include "transport/loop/event_loop.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace kamino::transport {
namespace {

constexpr absl::Duration kSpin = absl::Milliseconds(1);
// Looks of a loop that spins, rather than the few before it sleeps.
constexpr int kSpun = 100;

// Has something to do when Offer was called, and counts how often it is asked.
class CountingPoller final : public Poller {
 public:
  bool Poll() override {
    ++asked_;
    if (has_work_.exchange(false)) {
      asked_since_ = 0;
      return true;
    }
    if (!comes_while_it_spins_ || ++asked_since_ != kSpun) return false;
    ++found_;
    return true;
  }
  bool Arm() override { return !has_work_; }
  void Disarm() override {}

  void Offer() { has_work_ = true; }
  // Once after each, if it is asked often enough by then.
  void OfferAlsoToThoseThatSpin() { comes_while_it_spins_ = true; }
  int asked() const { return asked_; }
  int found() const { return found_; }

 private:
  std::atomic<bool> has_work_{false};
  std::atomic<bool> comes_while_it_spins_{false};
  std::atomic<int> asked_{0};
  std::atomic<int> found_{0};
  int asked_since_ = 0;  // the loop's thread
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

TEST_F(SpinTest, SpinsSeldomAfterFruitlessSpins) {
  // A busy machine may take the processor away meanwhile.
  int most = 0;
  for (int i = 0; i < 8; ++i) most = std::max(most, Turn());
  EXPECT_GT(most, kSpun);
  for (int i = 0; i < 100; ++i) Turn();
  int spins = 0;
  for (int i = 0; i < 96; ++i) spins += Turn() > kSpun;
  EXPECT_GE(spins, 1);
  EXPECT_LE(spins, 6);
}

TEST_F(SpinTest, SpinsAgainAfterASuccessfulSpin) {
  for (int i = 0; i < 100; ++i) Turn();
  poller_.OfferAlsoToThoseThatSpin();
  // One turn in many is followed by a spin.
  for (int i = 0; i < 500 && poller_.found() == 0; ++i) Turn();
  ASSERT_GT(poller_.found(), 0);
  const int before = poller_.found();
  for (int i = 0; i < 8; ++i) Turn();
  EXPECT_GE(poller_.found() - before, 4);
}

}  // namespace
}  // namespace kamino::transport
