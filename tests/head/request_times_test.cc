// The stages of a request that the head reports, with the times of their
// inputs.
#include <optional>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "head/admission.h"
#include "replica/builtins.h"
#include "replica/link/stage_watch.h"
#include "tests/head/admission_fixture.h"

namespace kamino::head {
namespace {

// Reports of each log entry what the test sets.
class Watch final : public replica::StageWatch {
 public:
  void Took(replica::Stage, absl::Duration) override {}
  void Begin(replica::Stage) override {}
  void End() override {}
  const Entry* last_entry() const override {
    return tells_ ? &entry_ : nullptr;
  }

  bool tells_ = true;
  Entry entry_;
};

class RequestTimesTest : public AdmissionTest {
 protected:
  RequestTimesTest() : RequestTimesTest(std::make_unique<Watch>()) {}
  explicit RequestTimesTest(std::unique_ptr<Watch> watch)
      : AdmissionTest(OptionsWith(watch.get())), watch_(std::move(watch)) {}

  static AdmissionOptions OptionsWith(Watch* watch) {
    AdmissionOptions options;
    options.stages = watch;
    return options;
  }

  // The times reported in the end.
  std::shared_ptr<std::optional<RequestTimes>> Begin(
      const std::string& key, uint64_t client,
      absl::Time deadline = absl::InfiniteFuture()) {
    auto told = std::make_shared<std::optional<RequestTimes>>();
    kamino::v1::PutRequest put;
    put.set_key(key);
    put.set_value("1");
    Request request;
    request.mutation.function = replica::kPutFunction;
    request.mutation.arguments = put.SerializeAsString();
    request.mutation.client_id = client;
    request.mutation.number = 1;
    request.deadline = deadline;
    request.done = [told](const RequestOutcome& outcome) {
      if (outcome.times != nullptr) *told = outcome.times->Times();
    };
    admission_->Submit(std::move(request), now_);
    return told;
  }

  // Sets the times of the next entry, which is durable that long after now.
  void EntryTakes(absl::Duration execute, absl::Duration persist) {
    watch_->entry_ = {execute, persist, now_ + execute + persist};
  }
  void After(int millis) { now_ += absl::Milliseconds(millis); }
  // The tail has completed all of it, now.
  void CompleteNow() {
    Execute();
    Complete();
  }

  const std::unique_ptr<Watch> watch_;
};

TEST_F(RequestTimesTest, EachStageIsReported) {
  const absl::Time came = now_;
  const auto first = Begin("a", 10);
  After(3);
  EntryTakes(absl::Milliseconds(1), absl::Milliseconds(2));
  Execute();
  const auto second = Begin("a", 11);
  Execute();  // it is parked
  EXPECT_EQ(admission_->stats().parked, 1u);
  After(40);
  CompleteNow();
  ASSERT_TRUE(first->has_value());
  EXPECT_EQ((*first)->waits.came, came);
  EXPECT_EQ((*first)->waits.admit(), absl::Milliseconds(3));
  EXPECT_EQ((*first)->waits.parked, 0u);
  EXPECT_EQ((*first)->together, 1u);
  EXPECT_EQ((*first)->execute, absl::Milliseconds(1));
  EXPECT_EQ((*first)->persist, absl::Milliseconds(2));
  EXPECT_EQ((*first)->complete, absl::Milliseconds(37));
  EXPECT_EQ((*first)->hop, absl::InfiniteDuration());
  EXPECT_EQ((*first)->answered, now_);
  EntryTakes(absl::ZeroDuration(), absl::ZeroDuration());
  Execute();
  After(5);
  CompleteNow();
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ((*second)->waits.admit(), absl::ZeroDuration());
  EXPECT_EQ((*second)->waits.lock, absl::Milliseconds(40));
  EXPECT_EQ((*second)->waits.parked, 1u);
  EXPECT_EQ((*second)->complete, absl::Milliseconds(5));
}

TEST_F(RequestTimesTest, AnExpiredRequestReportsItsWaits) {
  Begin("a", 10);
  Execute();
  const auto late = Begin("a", 11, now_ + absl::Milliseconds(20));
  After(1);
  Execute();
  After(30);
  admission_->OnTick(now_);
  ASSERT_TRUE(late->has_value());
  EXPECT_EQ((*late)->waits.admit(), absl::Milliseconds(1));
  EXPECT_EQ((*late)->waits.lock, absl::Milliseconds(30));
  EXPECT_EQ((*late)->together, 0u);
  EXPECT_EQ((*late)->answered, now_);
}

TEST_F(RequestTimesTest, TimesAreReportedOnlyOnDemand) {
  watch_->tells_ = false;
  const auto put = Begin("a", 10);
  Execute();
  CompleteNow();
  EXPECT_FALSE(put->has_value());
  // A request under way when times were first asked for has no entry to report.
  const auto next = Begin("b", 11);
  Execute();
  watch_->tells_ = true;
  After(2);
  CompleteNow();
  ASSERT_TRUE(next->has_value());
  EXPECT_EQ((*next)->together, 0u);
}

}  // namespace
}  // namespace kamino::head
