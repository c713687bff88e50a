// A head whose medium takes long to make data durable.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "head/admission.h"
#include "tests/faults/planted.h"
#include "tests/head/admission_fixture.h"
#include "tests/head/sessions_fixture.h"

namespace kamino::head {
namespace {

using ::testing::ElementsAre;

// Submits that many puts of keys and clients that the head knows, so that none
// waits for another. Nothing else is under way.
void SubmitPuts(LoneHead& head, uint64_t count) {
  for (const uint64_t number : {1, 2}) {
    std::vector<size_t> puts;
    for (uint64_t i = 0; i < count; ++i) {
      puts.push_back(head.Put(absl::StrCat("k", i), "v", 10 + i, number));
    }
    if (number == 2) return;
    const auto is_answered = [&](size_t put) { return head.Answered(put); };
    while (!std::all_of(puts.begin(), puts.end(), is_answered)) {
      head.Execute();
      head.Complete();
    }
  }
}

// Requests of each log entry that the puts make.
std::vector<int> EntriesOf(LoneHead& head) {
  const size_t before = head.BatchSizes().size();
  head.Execute();
  std::vector<int> sizes = head.BatchSizes();
  sizes.erase(sizes.begin(), sizes.begin() + before);
  return sizes;
}

// How many puts are executed, one to an entry, while the undo copy stays
// behind.
size_t ExecutedWithoutTheUndoCopy() {
  AdmissionOptions options;
  options.max_batch = 1;
  options.max_unpropagated = 5;
  LoneHead head(std::move(options));
  SubmitPuts(head, 20);
  const size_t executed = EntriesOf(head).size();
  while (head.admission_->PropagateToUndoCopy(3) > 2) {
  }
  EXPECT_EQ(head.admission_->has_ready(), executed < 20);
  return executed;
}

TEST(AdmissionSlowMediumTest, RequestsWaitForAnUndoCopyThatIsFarBehind) {
  EXPECT_EQ(ExecutedWithoutTheUndoCopy(), 5u);
  const faults::Planted planted("head-does-not-wait-for-the-undo-copy");
  EXPECT_EQ(ExecutedWithoutTheUndoCopy(), 20u);
}

// The entries of one turn, where each read of the clock finds it later by
// `request`.
std::vector<int> EntriesOfATurn(size_t max_batch, absl::Duration request) {
  absl::Time now = absl::UnixEpoch();
  absl::Duration step;
  AdmissionOptions options;
  options.max_batch = max_batch;
  options.clock = [&] { return now += step; };
  LoneHead head(std::move(options));
  SubmitPuts(head, 12);
  step = request;
  return EntriesOf(head);
}

TEST(AdmissionSlowMediumTest, ATurnEndsAfterATime) {
  // 40 ms are over at the third read of the clock, one after each entry.
  EXPECT_THAT(EntriesOfATurn(1, absl::Milliseconds(15)), ElementsAre(1, 1, 1));
  // Nor is a batch filled up for longer; every fourth request reads the clock.
  EXPECT_THAT(EntriesOfATurn(64, absl::Milliseconds(20)), ElementsAre(8));
  const faults::Planted planted("head-turns-last");
  EXPECT_THAT(EntriesOfATurn(11, absl::Milliseconds(20)), ElementsAre(11, 1));
}

// Each read of the clock finds it later by `step`.
class LargeRequestsTest : public HeadSessionsTest {
 protected:
  LargeRequestsTest() : HeadSessionsTest(Options()) {}
  static AdmissionOptions Options() {
    AdmissionOptions options;
    options.clock = [] { return clock += step; };
    clock = absl::UnixEpoch();
    step = absl::ZeroDuration();
    return options;
  }
  static inline absl::Time clock;
  static inline absl::Duration step;
};

// Each takes a hundred objects: no four of them share a read.
TEST_F(LargeRequestsTest, TheClockIsReadAfterEach) {
  for (uint64_t id = 100; id < 104; ++id) Open(id, /*window=*/100);
  clock = now_;
  step = absl::Milliseconds(20);
  const size_t before = BatchSizes().size();
  Execute();
  ASSERT_GT(BatchSizes().size(), before);
  EXPECT_EQ(BatchSizes()[before], 2);
}

}  // namespace
}  // namespace kamino::head
