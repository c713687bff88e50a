// A head whose medium takes long for what it is asked to make durable.
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

namespace kamino::head {
namespace {

using ::testing::ElementsAre;

// Of puts that are executed one to an entry while the undo copy stays behind.
size_t ExecutedWithoutTheUndoCopy() {
  AdmissionOptions options;
  options.max_batch = 1;
  options.max_unpropagated = 5;
  LoneHead head(std::move(options));
  for (uint64_t i = 0; i < 20; ++i) head.Put(absl::StrCat("k", i), "v", 10 + i);
  head.Execute();
  const size_t executed = head.BatchSizes().size();
  while (head.admission_->PropagateToBackup(3) > 2) {
  }
  EXPECT_EQ(head.admission_->has_ready(), executed < 20);
  return executed;
}

TEST(AdmissionSlowMediumTest, RequestsWaitForAnUndoCopyThatIsFarBehind) {
  EXPECT_EQ(ExecutedWithoutTheUndoCopy(), 5u);
  const faults::Planted planted("head-does-not-wait-for-the-undo-copy");
  EXPECT_EQ(ExecutedWithoutTheUndoCopy(), 20u);
}

// Entries that one turn makes on a medium where a commit takes 15 ms.
std::vector<int> EntriesOfATurn(size_t max_batch, absl::Duration request) {
  absl::Time now = absl::UnixEpoch();
  AdmissionOptions options;
  options.max_batch = max_batch;
  options.clock = [&] { return now += request; };
  LoneHead head(std::move(options));
  for (uint64_t i = 0; i < 12; ++i) head.Put(absl::StrCat("k", i), "v", 10 + i);
  now = head.now_;
  head.Execute();
  return head.BatchSizes();
}

TEST(AdmissionSlowMediumTest, ATurnEndsAfterATime) {
  // 40 ms are over after the third look at the clock, one after each entry.
  EXPECT_THAT(EntriesOfATurn(1, absl::Milliseconds(15)), ElementsAre(1, 1, 1));
  // Nor is a batch filled up for longer; every fourth request looks.
  EXPECT_THAT(EntriesOfATurn(64, absl::Milliseconds(20)), ElementsAre(8));
  const faults::Planted planted("head-turns-last");
  EXPECT_THAT(EntriesOfATurn(11, absl::Milliseconds(20)), ElementsAre(11, 1));
}

}  // namespace
}  // namespace kamino::head
