#include "logs/audit_thread.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"

namespace kamino::logs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AuditThreadTest : public ::testing::Test {
 protected:
  static constexpr absl::Duration kPatience = absl::Seconds(1);

  void Start(size_t most_calls) {
    AuditThread::Options options;
    options.most_calls = most_calls;
    options.patience = kPatience;
    options.clock = [this] {
      absl::MutexLock lock(&mutex_);
      return now_;
    };
    thread_ = std::make_unique<AuditThread>(options);
  }
  void Advance(absl::Duration time) {
    absl::MutexLock lock(&mutex_);
    now_ += time;
  }

  // A call whose line is not written until `free_` is notified. Returns once
  // the thread is in it.
  void StandStill() {
    absl::Notification reached;
    ASSERT_TRUE(thread_
                    ->Begin([&](const AuditThread::PlacePtr&,
                                const absl::Status& admitted) {
                      Note("first", admitted);
                      reached.Notify();
                      free_.WaitForNotification();
                    })
                    .ok());
    reached.WaitForNotification();
  }
  absl::Status Begin(const std::string& name) {
    return thread_->Begin(
        [this, name](const AuditThread::PlacePtr&,
                     const absl::Status& admitted) { Note(name, admitted); });
  }
  // Ends the thread, which runs all that is queued.
  std::vector<std::string> End() {
    if (!free_.HasBeenNotified()) free_.Notify();
    thread_.reset();
    absl::MutexLock lock(&mutex_);
    return noted_;
  }
  void Note(const std::string& name, const absl::Status& admitted) {
    absl::MutexLock lock(&mutex_);
    noted_.push_back(admitted.ok() ? name : name + " is refused");
    if (!admitted.ok()) why_ = std::string(admitted.message());
  }
  std::string why() {
    absl::MutexLock lock(&mutex_);
    return why_;
  }

  absl::Notification free_;
  std::unique_ptr<AuditThread> thread_;

  absl::Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixSeconds(1000);
  std::vector<std::string> noted_ ABSL_GUARDED_BY(mutex_);
  std::string why_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(AuditThreadTest, CallsRunInOrderOnTheThread) {
  Start(/*most_calls=*/3);
  StandStill();
  // Begin does not wait for the call before it.
  EXPECT_TRUE(Begin("second").ok());
  std::thread::id runs_on;
  EXPECT_TRUE(
      thread_
          ->Begin([&](const AuditThread::PlacePtr&, const absl::Status&) {
            runs_on = std::this_thread::get_id();
          })
          .ok());
  EXPECT_THAT(End(), ElementsAre("first", "second"));
  EXPECT_NE(runs_on, std::this_thread::get_id());
  EXPECT_NE(runs_on, std::thread::id());
}

// Begins two calls while a first one holds the only place; how many are let in.
int LetIn(AuditThread* thread) {
  int let_in = 0;
  for (int i = 0; i < 2; ++i) {
    const absl::Status begun =
        thread->Begin([](const AuditThread::PlacePtr&, const absl::Status&) {});
    if (begun.ok()) {
      ++let_in;
      continue;
    }
    EXPECT_TRUE(absl::IsFailedPrecondition(begun)) << begun;
    EXPECT_THAT(std::string(begun.message()),
                HasSubstr("nothing was done: 1 operators' calls already wait "
                          "for their audit lines to be written; check that "));
  }
  return let_in;
}

TEST_F(AuditThreadTest, TheQueueIsBounded) {
  Start(/*most_calls=*/1);
  StandStill();
  EXPECT_EQ(LetIn(thread_.get()), 0);
  EXPECT_THAT(End(), ElementsAre("first"));
}

TEST_F(AuditThreadTest, AnUnboundedQueueIsDetected) {
  const faults::Planted planted("audit-thread-has-no-bound");
  Start(/*most_calls=*/1);
  StandStill();
  EXPECT_EQ(LetIn(thread_.get()), 2);
  End();
}

TEST_F(AuditThreadTest, ACallHoldsItsPlaceUntilItsLastStep) {
  Start(/*most_calls=*/1);
  AuditThread::PlacePtr held;
  absl::Notification begun;
  ASSERT_TRUE(
      thread_
          ->Begin([&](const AuditThread::PlacePtr& place, const absl::Status&) {
            held = place;
            begun.Notify();
          })
          .ok());
  begun.WaitForNotification();
  EXPECT_FALSE(Begin("too many").ok());
  absl::Notification ended;
  thread_->Continue(std::move(held), [&] {
    Note("ended", absl::OkStatus());
    ended.Notify();
  });
  ended.WaitForNotification();
  // The place is free once the thread has let go of the step.
  while (!Begin("next").ok()) std::this_thread::yield();
  EXPECT_THAT(End(), ElementsAre("ended", "next"));
}

// A first call holds the thread for its patience; what becomes of the second.
std::string OutcomeOfALateCall(const std::vector<std::string>& noted) {
  return noted.size() == 2 ? noted[1] : "";
}

TEST_F(AuditThreadTest, ACallThatHasWaitedTooLongDoesNotAct) {
  Start(/*most_calls=*/2);
  StandStill();
  EXPECT_TRUE(Begin("late").ok());
  Advance(kPatience);
  EXPECT_EQ(OutcomeOfALateCall(End()), "late is refused");
  EXPECT_THAT(why(), HasSubstr("nothing was done: the call has waited for 1s "
                               "for audit lines of other calls to be written; "
                               "check that "));
}

TEST_F(AuditThreadTest, ALateCallThatActsIsDetected) {
  const faults::Planted planted("audit-thread-lets-late-calls-act");
  Start(/*most_calls=*/2);
  StandStill();
  EXPECT_TRUE(Begin("late").ok());
  Advance(kPatience);
  EXPECT_EQ(OutcomeOfALateCall(End()), "late");
}

TEST_F(AuditThreadTest, CallsAreRefusedWhileALineIsUnwritten) {
  Start(/*most_calls=*/9);
  StandStill();
  Advance(kPatience / 2);
  EXPECT_TRUE(Begin("in time").ok());
  Advance(kPatience / 2);
  const absl::Status refused = Begin("refused");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("nothing was done: another operator's call has been "
                        "under way for 1s; check that "));
  EXPECT_THAT(End(), ElementsAre("first", "in time"));
}

}  // namespace
}  // namespace kamino::logs
