// Requests that overwrite more than the head's undo copy has room for, or
// nearly as much, and requests that announce their writes.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/head/admission_fixture.h"

namespace kamino::head {
namespace {

using replica::ReasonOf;

// An undo copy that has room for some objects only.
class SmallUndoCopyTest : public AdmissionTest {
 protected:
  SmallUndoCopyTest()
      : AdmissionTest({}, CoreOptions(), engine::Scheme::kDynamic),
        room_(under_.store().stats().undo_copy.bytes_total) {
    for (const char* key : {"a", "b", "c", "d"}) {
      EXPECT_TRUE(
          Do(Put(key, std::string(room_ * 31 / 100, 'v'), ++client_)).ok());
    }
    EXPECT_TRUE(Do(Put("w", std::string(room_ / 10, 'v'), ++client_)).ok());
  }

  absl::Status Do(size_t request) {
    Execute();
    Complete();
    return StatusOf(request);
  }
  // Changes a byte of each.
  absl::Status Patch(const std::vector<std::string>& keys) {
    kamino::v1::CommitRequest commit;
    for (const std::string& key : keys) {
      auto* patch = commit.add_then_operations()->mutable_patch();
      patch->set_key(key);
      patch->set_data("p");
    }
    return Do(Submit(replica::kCommitFunction, commit.SerializeAsString(),
                     ++client_));
  }
  // How many of these fail: "w" is at one place and then at another.
  int FailuresAmongOthers() {
    int failures = 0;
    for (int round = 0; round < 10; ++round) {
      EXPECT_TRUE(Patch({"w"}).ok());
      if (round % 2 == 0) {
        EXPECT_TRUE(Patch({"d"}).ok());
      }
      const absl::Status status = Patch({"a", "b", "c"});
      failures += !status.ok();
      if (!status.ok()) {
        EXPECT_EQ(ReasonOf(status), kamino::v1::REASON_OVERLOADED) << status;
      }
    }
    return failures;
  }

  const uint64_t room_;
  uint64_t client_ = 100;
};

TEST_F(SmallUndoCopyTest, ATransactionThatFitsGetsItsTurn) {
  EXPECT_EQ(FailuresAmongOthers(), 0);
}

TEST_F(SmallUndoCopyTest, AHeadThatLeavesCopiesWhereTheyLieIsDetected) {
  faults::Planted fault("admission-copies-lie-in-the-way");
  EXPECT_GT(FailuresAmongOthers(), 0);
}

// Asking again would not help.
TEST_F(SmallUndoCopyTest, ATransactionThatNeverFitsIsTooLarge) {
  const absl::Status status = Patch({"a", "b", "c", "d"});
  EXPECT_EQ(ReasonOf(status), kamino::v1::REASON_TOO_LARGE) << status;
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr(absl::StrCat("has room for ", room_)));
  EXPECT_TRUE(Patch({"a", "b"}).ok());
}

// A commit of many operations locks its objects before the first one is
// executed.
TEST_F(AdmissionTest, ARefusedCommitHoldsNoLocks) {
  kamino::v1::CommitRequest commit;
  auto* patch = commit.add_then_operations()->mutable_patch();
  patch->set_key("absent");
  patch->set_data("p");
  Put("other", "v", 30);
  for (int i = 0; i < 10; ++i) {
    const std::string key = absl::StrCat("k", i);
    auto* put = commit.add_then_operations()->mutable_put();
    put->set_key(key);
    put->set_value("w");
    Put(key, "v", 10 + i);
  }
  do {
    Execute();
    Complete();
  } while (admission_->has_ready());
  // Both are in one batch, and the first one commits. All keys and clients
  // exist: no page of an index is locked.
  const size_t other = Put("other", "w", 30, 2);
  const size_t refused =
      Submit(replica::kCommitFunction, commit.SerializeAsString(), 31);
  while (admission_->has_ready()) Execute();
  EXPECT_EQ(ReasonOf(StatusOf(refused)), kamino::v1::REASON_KEY_NOT_FOUND);
  EXPECT_FALSE(Answered(other));
  Put("k5", "later", 15, 2);
  Execute();
  EXPECT_EQ(admission_->stats().parked, 0u);
  EXPECT_EQ(Get("k5"), "later");
}

}  // namespace
}  // namespace kamino::head
