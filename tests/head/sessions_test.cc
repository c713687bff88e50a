// The head's part in sessions: dependencies, opening, closing, and bounds.
// Their numbers and their space in the heap are in
// tests/replica/sessions_test.cc.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "head/admission.h"
#include "kamino/v1/kamino.pb.h"
#include "tests/head/sessions_fixture.h"

namespace kamino::head {
namespace {

using replica::ReasonOf;

// --- Dependencies.

TEST_F(OpenSessionTest, MutationsOfDifferentSlotsDoNotWaitForEachOther) {
  const size_t first = PutIn(kSession, 1, "a", "1");
  Execute();
  const size_t second = PutIn(kSession, 2, "b", "2");
  Execute();
  EXPECT_EQ(Parked(), 0u);
  EXPECT_EQ(InFlight(), 2u);
  EXPECT_FALSE(Answered(first) || Answered(second));
  Complete();
  EXPECT_TRUE(StatusOf(first).ok());
  EXPECT_TRUE(StatusOf(second).ok());
  EXPECT_EQ(outcomes_[second]->sequence, VersionOf("b"));
}

AdmissionOptions Counting(std::vector<uint64_t>* executed) {
  AdmissionOptions options;
  options.executing = [executed](absl::string_view, uint64_t client) {
    executed->push_back(client);
  };
  return options;
}

class CountedSessionTest : public OpenSessionTest {
 protected:
  CountedSessionTest() : OpenSessionTest(Counting(&executed_)) {}
  static std::vector<uint64_t> executed_;  // the client of each, in order
};
std::vector<uint64_t> CountedSessionTest::executed_;

TEST_F(CountedSessionTest, AMutationThatMeetsALockCostsItsBatchNothing) {
  PutIn(kSession, 1, "a", "1");
  Execute();
  executed_.clear();
  // Each but one meets the lock of an entry in flight.
  std::vector<size_t> dependent;
  for (const uint64_t number : {2, 3, 5, 6}) {
    dependent.push_back(PutIn(kSession, number, "a", "2"));
    if (number == 3) PutIn(kSession, 4, "b", "3");
  }
  Execute();
  EXPECT_EQ(executed_.size(), 5u);
  EXPECT_EQ(Parked(), 4u);
  EXPECT_EQ(BatchSizes().back(), 1);
  EXPECT_EQ(Get("b"), "3");
  Complete();
  Execute();
  EXPECT_EQ(executed_.size(), 9u);
  EXPECT_EQ(BatchSizes().back(), 4);
  Run();
  for (const size_t index : dependent) EXPECT_TRUE(StatusOf(index).ok());
}

TEST_F(CountedSessionTest, ACommitThatMeetsALockAfterAChangeIsRolledBack) {
  PutIn(kSession, 1, "a", "1");
  Execute();
  PutIn(kSession, 2, "b", "2");
  kamino::v1::CommitRequest both;
  for (const char* key : {"b", "a"}) {
    auto* const put = both.add_then_operations()->mutable_put();
    put->set_key(key);
    put->set_value("3");
  }
  const size_t dependent =
      SubmitIn(kSession, 3, replica::kCommitFunction, both.SerializeAsString());
  PutIn(kSession, 4, "c", "4");
  Execute();
  EXPECT_EQ(Parked(), 1u);
  EXPECT_EQ(Get("b"), "2");
  EXPECT_EQ(Get("c"), "4");
  EXPECT_TRUE(Run(dependent).ok());
  EXPECT_EQ(Get("a") + Get("b"), "33");
}

TEST_F(OpenSessionTest, ARetryWaitsForTheFirstAndGetsItsOutcome) {
  const size_t first = PutIn(kSession, 1, "a", "1");
  Execute();
  const size_t again = PutIn(kSession, 1, "a", "2");
  const size_t voided = VoidIn(kSession, 1);
  Execute();
  EXPECT_EQ(Parked(), 2u);
  Complete();
  Run();
  for (const size_t index : {again, voided}) {
    ASSERT_TRUE(StatusOf(index).ok()) << StatusOf(index);
    EXPECT_EQ(outcomes_[index]->sequence, outcomes_[first]->sequence);
    EXPECT_FALSE(outcomes_[index]->voided);
  }
  EXPECT_EQ(Get("a"), "1");
}

TEST_F(OpenSessionTest, AnOpeningSessionDelaysNoOther) {
  Open(7);
  Execute();
  PutIn(kSession, 1, "a", "1");
  Execute();
  EXPECT_EQ(Parked(), 0u);
  EXPECT_EQ(InFlight(), 2u);
  // Nor does a session that is being closed.
  Complete();
  Close(7);
  Execute();
  PutIn(kSession, 2, "b", "1");
  Execute();
  EXPECT_EQ(Parked(), 0u);
  EXPECT_EQ(InFlight(), 2u);
}

TEST_F(OpenSessionTest, TheFirstMutationWaitsForTheOpening) {
  const auto opened = Open(7);
  Execute();
  const size_t put = PutIn(7, 1, "a", "1");
  Execute();
  EXPECT_EQ(Parked(), 1u);
  EXPECT_FALSE(opened->has_value());
  Complete();
  EXPECT_TRUE(opened->value().ok());
  EXPECT_TRUE(Run(put).ok());
}

TEST_F(OpenSessionTest, OneBatchExecutesSessionRequestsInOrder) {
  const auto opened = Open(7);
  const size_t first = PutIn(7, 1, "a", "1");
  const size_t again = PutIn(7, 1, "a", "2");
  const auto closed = Close(7);
  const size_t late = PutIn(7, 2, "a", "3");
  Run();
  EXPECT_TRUE(StatusOf(first).ok()) << StatusOf(first);
  EXPECT_EQ(outcomes_[again]->sequence, outcomes_[first]->sequence);
  EXPECT_TRUE(closed->value().ok()) << closed->value();
  // It is closed when the answer comes.
  EXPECT_EQ(ReasonOf(opened->value().status()),
            kamino::v1::REASON_SESSION_EXPIRED);
  EXPECT_EQ(ReasonOf(StatusOf(late)), kamino::v1::REASON_SESSION_EXPIRED);
  EXPECT_EQ(admission_->stats().sessions, 1u);
}

TEST_F(OpenSessionTest, SessionAndClientNumbersAreIndependent) {
  // A client with the same id and number is independent of it.
  EXPECT_TRUE(Run(Put("a", "client", kSession, 1)).ok());
  EXPECT_TRUE(Run(PutIn(kSession, 1, "a", "session")).ok());
  EXPECT_EQ(Get("a"), "session");
  EXPECT_EQ(admission_->stats().repeated, 0u);
  EXPECT_EQ(admission_->stats().clients, 2u);
}

TEST_F(OpenSessionTest, AVoidedNumberIsReportedAsVoided) {
  const size_t voided = VoidIn(kSession, 1);
  EXPECT_TRUE(Run(voided).ok());
  EXPECT_TRUE(outcomes_[voided]->voided);
  const size_t late = PutIn(kSession, 1, "a", "late");
  EXPECT_TRUE(Run(late).ok());
  EXPECT_TRUE(outcomes_[late]->voided);
  EXPECT_EQ(Get("a"), "0");
}

// --- Opening and closing.

TEST_F(OpenSessionTest, ReopeningAnswersTheSame) {
  const auto first = admission_->sessions().Find(kSession);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->window, 8u);
  EXPECT_EQ(first->lease, kLease);
  const auto again = RunOpen(kSession, 99, absl::Seconds(99));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->window, 8u);
  EXPECT_EQ(again->lease, kLease);
  EXPECT_EQ(again->opened, first->opened);
  EXPECT_EQ(admission_->stats().session_slots, 8u);
}

TEST_F(OpenSessionTest, WindowAndLeaseAreCutToTheirLimits) {
  const auto large = RunOpen(1, 1u << 20, absl::Hours(1000));
  ASSERT_TRUE(large.ok()) << large.status();
  EXPECT_EQ(large->window, 1024u);
  EXPECT_EQ(large->lease, absl::Hours(1));
  const auto small = RunOpen(2, 1, absl::Nanoseconds(1));
  EXPECT_EQ(small->lease, absl::Seconds(1));
}

TEST_F(OpenSessionTest, ZeroIdsWindowsAndLeasesAreRefused) {
  for (const auto& refused :
       {Open(0), Open(1, 0), Open(1, 1, absl::ZeroDuration()),
        Open(1, 1, -absl::Seconds(1))}) {
    ASSERT_TRUE(refused->has_value());
    ExpectReason(refused->value().status(), kamino::v1::REASON_INVALID_ARGUMENT,
                 "must not be 0");
  }
}

TEST_F(OpenSessionTest, ClosingFreesAllBytesOfTheSession) {
  const uint64_t before = BytesUsed();
  ASSERT_TRUE(RunOpen(7, 100).ok());
  ASSERT_TRUE(Run(PutIn(7, 5, "a", "1")).ok());
  const auto closed = Close(7);
  Execute();
  EXPECT_FALSE(closed->has_value());  // nor before the chain has closed it
  EXPECT_FALSE(admission_->sessions().Find(7).has_value());
  Complete();
  EXPECT_TRUE(closed->value().ok());
  EXPECT_EQ(BytesUsed(), before);
  EXPECT_EQ(ReasonOf(Run(PutIn(7, 6, "a", "2"))),
            kamino::v1::REASON_SESSION_EXPIRED);
  const auto again = Close(7);
  Run();
  ExpectReason(again->value(), kamino::v1::REASON_SESSION_EXPIRED,
               "session 7 is not open");
}

// Opening and closing a session takes space in proportion to its window.
TEST_F(OpenSessionTest, WideSessionsAreNotOpenedInOneTransaction) {
  const size_t before = BatchSizes().size();
  for (uint64_t id = 1; id <= 4; ++id) Open(id, 500);
  Run();
  std::vector<int> sizes = BatchSizes();
  sizes.erase(sizes.begin(), sizes.begin() + before);
  EXPECT_THAT(sizes, ::testing::ElementsAre(2, 2));
}

// --- Bounds.

class BoundedSessionsTest : public HeadSessionsTest {
 protected:
  static AdmissionOptions Few() {
    AdmissionOptions options;
    options.max_sessions = 3;
    options.max_session_slots = 20;
    return options;
  }
  BoundedSessionsTest() : HeadSessionsTest(Few()) {}
};

TEST_F(BoundedSessionsTest, SessionsBeyondTheLimitAreRefused) {
  std::vector<std::shared_ptr<Opened>> opened;
  for (uint64_t id = 1; id <= 4; ++id) opened.push_back(Open(id, 1));
  Run();
  EXPECT_TRUE(opened[2]->value().ok());
  ExpectReason(opened[3]->value().status(), kamino::v1::REASON_OVERLOADED,
               "3 sessions are open, and the limit is 3");
  // Sessions that exist may be opened again.
  EXPECT_TRUE(RunOpen(2).ok());
  Close(2);
  Run();
  EXPECT_TRUE(RunOpen(4, 1).ok());
}

TEST_F(BoundedSessionsTest, WindowsBeyondTheLimitAreRefused) {
  const auto first = Open(1, 15);
  const auto second = Open(2, 6);
  Run();
  EXPECT_TRUE(first->value().ok());
  ExpectReason(second->value().status(), kamino::v1::REASON_OVERLOADED,
               "15 mutations, and one more of 6 exceeds the limit of 20");
  EXPECT_TRUE(RunOpen(2, 5).ok());
}

TEST_F(HeadSessionsTest, SlotsTakeAnEighthOfTheHeap) {
  uint64_t id = 1;
  while (RunOpen(id, 1024).ok() && id < 100) ++id;
  ExpectReason(RunOpen(id, 1024).status(), kamino::v1::REASON_OVERLOADED,
               "exceeds the limit of");
  EXPECT_LE(admission_->stats().session_slots * 192,
            under_.heap().stats().bytes_total / 8);
  EXPECT_GE(admission_->stats().session_slots, 4096u);
  // The heap is not full because of it.
  EXPECT_TRUE(Run(Put("a", "1", 1)).ok());
}

class LongSessionResultsTest : public OpenSessionTest {
 protected:
  LongSessionResultsTest() {
    EXPECT_TRUE(Run(Put("large", std::string(60'000, 'x'), 1, ++number_)).ok());
  }

  size_t CommitLarge(uint64_t number) {
    kamino::v1::CommitRequest commit;
    commit.add_then_operations()->mutable_get()->set_key("large");
    return SubmitIn(kSession, number, replica::kCommitFunction,
                    commit.SerializeAsString());
  }
};

TEST_F(LongSessionResultsTest, CountAsStoredResults) {
  ASSERT_TRUE(RunOpen(7, 1024).ok());
  uint64_t stored = 0;
  absl::Status refused;
  kamino::v1::CommitRequest commit;
  commit.add_then_operations()->mutable_get()->set_key("large");
  for (uint64_t number = 1; refused.ok() && number < 1000; ++number) {
    stored = admission_->stats().stored_result_bytes;
    refused = Run(SubmitIn(7, number, replica::kCommitFunction,
                           commit.SerializeAsString()));
  }
  ExpectReason(refused, kamino::v1::REASON_OVERLOADED, "stored for retries");
  const uint64_t total = under_.heap().stats().bytes_total;
  EXPECT_LE(stored, total / 8);
  EXPECT_GE(stored, total / 8 - 61'000);
  // A new head knows it, and closing makes room.
  Promote();
  EXPECT_EQ(admission_->stats().stored_result_bytes, stored);
  Close(7);
  Run();
  EXPECT_EQ(admission_->stats().stored_result_bytes, 0u);
  EXPECT_TRUE(Run(CommitLarge(1)).ok());
}

TEST_F(LongSessionResultsTest, AResultReplacesTheLastOneOfItsSlot) {
  for (uint64_t number = 1; number < 80; number += 8) {
    ASSERT_TRUE(Run(CommitLarge(number)).ok()) << number;
  }
  EXPECT_LT(admission_->stats().stored_result_bytes, 61'000u);
  EXPECT_GT(admission_->stats().stored_result_bytes, 60'000u);
}

}  // namespace
}  // namespace kamino::head
