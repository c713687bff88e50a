// Sessions in the chain's state: their numbers, outcomes, and their space in
// the heap. The head's part is in tests/head.
#include "replica/state/sessions.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replica/builtins.h"
#include "tests/faults/planted.h"
#include "tests/replica/sessions_fixture.h"

namespace kamino::replica {
namespace {

using engine::IntentKind;
using session_format::kInlineBytes;
using session_format::kMaxWindow;

// --- Numbers.

TEST_F(SessionsTest, ASlotTakesItsNumbersInTurn) {
  for (const uint64_t number : {3, 1, 4, 2, 7, 6, 5, 8}) {
    const auto done = Echo(number, absl::StrCat("n", number));
    ASSERT_TRUE(done.ok()) << number << ": " << done.status();
    EXPECT_FALSE(done->repeated);
    EXPECT_EQ(done->sequence, sequence_);
  }
  EXPECT_EQ(Calls(), 8u);
}

TEST_F(SessionsTest, ANumberIsExecutedOnce) {
  const auto first = Echo(2, "first");
  ASSERT_TRUE(first.ok());
  // For any function.
  for (const std::string function : {"test.echo", "kv.put", "no such"}) {
    const auto again = Execute(Of(2, function, "again"));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(again->repeated);
    EXPECT_FALSE(again->voided);
    EXPECT_EQ(again->result, "first");
    EXPECT_EQ(again->sequence, first->sequence);
  }
  EXPECT_EQ(Calls(), 1u);
}

TEST_F(SessionsTest, ExecutingANumberAgainIsDetected) {
  faults::Planted fault("session-executes-a-number-again");
  ASSERT_TRUE(Echo(2, "first").ok());
  EXPECT_FALSE(Echo(2, "again")->repeated);
  EXPECT_EQ(Calls(), 2u);
}

TEST_F(SessionsTest, AnOldNumberIsSuperseded) {
  ASSERT_TRUE(Echo(2, "").ok());
  ASSERT_TRUE(Echo(6, "").ok());
  ExpectReason(Echo(2, "").status(), kamino::v1::REASON_SUPERSEDED,
               "number 2 of session 1234605616436508552 is over: its slot has "
               "come to number 6");
  EXPECT_EQ(Calls(), 2u);
}

TEST_F(SessionsTest, AnEarlyNumberIsRefused) {
  ExpectReason(Echo(7, "").status(), kamino::v1::REASON_INVALID_ARGUMENT,
               "with a window of 4 its slot takes number 3 next");
  ASSERT_TRUE(Echo(3, "").ok());
  ExpectReason(Echo(11, "").status(), kamino::v1::REASON_INVALID_ARGUMENT,
               "takes number 7 next");
  ExpectReason(Echo(~uint64_t{0}, "").status(),
               kamino::v1::REASON_INVALID_ARGUMENT, "takes number 7 next");
  ExpectReason(Echo(0, "").status(), kamino::v1::REASON_INVALID_ARGUMENT,
               "begin with 1");
  EXPECT_EQ(Calls(), 1u);
}

TEST_F(SessionsTest, ARefusalLeavesNoTrace) {
  EXPECT_EQ(ReasonOf(Execute(Of(1, "kv.put", "\xff\xff")).status()),
            kamino::v1::REASON_INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(Execute(Of(1, "no such")).status()),
            kamino::v1::REASON_UNKNOWN_PROCEDURE);
  EXPECT_EQ(head_.heap().stats().bytes_used, bytes_with_);
  EXPECT_FALSE(Echo(1, "")->repeated);
}

TEST_F(SessionsTest, WithoutAnOpenSessionNothingIsExecuted) {
  for (const uint64_t id : {uint64_t{0}, uint64_t{5}}) {
    ExpectReason(Execute(Of(1, "test.echo", "", id)).status(),
                 kamino::v1::REASON_SESSION_EXPIRED, "is not open");
    ExpectReason(Execute(Of(1, kVoidFunction, "", id)).status(),
                 kamino::v1::REASON_SESSION_EXPIRED, "is not open");
  }
  EXPECT_EQ(Calls(), 0u);
}

// --- Void.

TEST_F(SessionsTest, AVoidedNumberIsNotExecuted) {
  const auto voided = Void(1);
  ASSERT_TRUE(voided.ok()) << voided.status();
  EXPECT_TRUE(voided->voided);
  EXPECT_FALSE(voided->repeated);
  for (const auto& late : {Echo(1, "late"), Void(1)}) {
    ASSERT_TRUE(late.ok());
    EXPECT_TRUE(late->repeated);
    EXPECT_TRUE(late->voided);
    EXPECT_EQ(late->result, "");
    EXPECT_EQ(late->sequence, voided->sequence);
  }
  EXPECT_EQ(Calls(), 0u);
  EXPECT_FALSE(Echo(5, "")->repeated);
}

TEST_F(SessionsTest, AnExecutedNumberIsNotVoided) {
  const auto first = Echo(1, "outcome");
  const auto voided = Void(1);
  ASSERT_TRUE(voided.ok());
  EXPECT_TRUE(voided->repeated);
  EXPECT_FALSE(voided->voided);
  EXPECT_EQ(voided->result, "outcome");
  EXPECT_EQ(voided->sequence, first->sequence);
}

TEST_F(SessionsTest, VoidIsUnknownOutsideSessions) {
  Mutation mutation = Of(1, kVoidFunction);
  mutation.in_session = false;
  EXPECT_EQ(ReasonOf(Execute(mutation).status()),
            kamino::v1::REASON_UNKNOWN_PROCEDURE);
  // Nor may the head's own functions run within a session.
  EXPECT_EQ(ReasonOf(Execute(Of(1, kDropFunction)).status()),
            kamino::v1::REASON_UNKNOWN_PROCEDURE);
}

// --- Results.

TEST_F(SessionsTest, ResultsOfAnyLengthAreKept) {
  uint64_t number = 1;
  for (const size_t length :
       {size_t{0}, size_t{1}, kInlineBytes, kInlineBytes + 1, size_t{5000},
        kMaxResultBytes, size_t{3}}) {
    const std::string text(length, 'r');
    ASSERT_TRUE(Echo(number, text).ok()) << length;
    EXPECT_EQ(Echo(number, "")->result, text);
    ++number;
  }
}

TEST_F(SessionsTest, AMutationWritesNoMoreThanItMust) {
  ASSERT_TRUE(Echo(1, "").ok());
  ASSERT_TRUE(Echo(2, "12345").ok());
  // The value of the counter, and the slot.
  ASSERT_EQ(write_set_.size(), 2u);
  EXPECT_EQ(write_set_[1].kind, IntentKind::kWrite);
  EXPECT_EQ(write_set_[1].offset, 0u);
  EXPECT_EQ(write_set_[1].length, 32u + 5u);
  ASSERT_TRUE(Void(3).ok());
  ASSERT_EQ(write_set_.size(), 1u);
  EXPECT_EQ(write_set_[0].length, 32u);
}

class LongResultsTest : public SessionsTest {
 protected:
  // The bytes left when a long result's slot was reused.
  uint64_t BytesAfterReuse() {
    EXPECT_TRUE(Echo(1, "").ok());  // makes what counts the calls
    const uint64_t before = head_.heap().stats().bytes_used;
    EXPECT_TRUE(Echo(5, std::string(20'000, 'r')).ok());
    EXPECT_GT(head_.heap().stats().bytes_used, before + 20'000);
    EXPECT_EQ(All().at(0).result_bytes, 20'000u);
    const auto next = Echo(9, std::string(10'000, 's'));
    EXPECT_EQ(next->replaced_bytes, 20'000u);
    EXPECT_EQ(Echo(13, "short")->replaced_bytes, 10'000u);
    EXPECT_EQ(Echo(13, "")->result, "short");
    EXPECT_EQ(All().at(0).result_bytes, 0u);
    return head_.heap().stats().bytes_used - before;
  }
};

TEST_F(LongResultsTest, AreFreedWhenTheirSlotIsUsedAgain) {
  EXPECT_EQ(BytesAfterReuse(), 0u);
}

TEST_F(LongResultsTest, KeptResultsAreDetected) {
  faults::Planted fault("session-keeps-results-of-reused-slots");
  EXPECT_GT(BytesAfterReuse(), 0u);
}

// --- Opening and closing.

TEST_F(SessionsTest, OpeningAgainChangesNothing) {
  const auto other = Open(7, kMaxWindow, /*epoch=*/3);
  ASSERT_TRUE(other.ok()) << other.status();
  const uint64_t opened = sequence_;
  ASSERT_TRUE(Echo(1, "kept").ok());
  const auto again = Open(7, 2, /*epoch=*/3);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->repeated);
  EXPECT_EQ(again->sequence, opened);
  const auto all = All();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].id, 7u);
  EXPECT_EQ(all[0].window, kMaxWindow);
  EXPECT_EQ(all[0].epoch, 3u);
  EXPECT_EQ(all[0].opened, opened);
  EXPECT_EQ(all[0].lease, absl::Seconds(5));
  EXPECT_EQ(all[1].id, kSession);
  EXPECT_TRUE(Echo(1, "")->repeated);
}

TEST_F(SessionsTest, ASessionOfAnotherEpochIsNotReopened) {
  ExpectReason(Open(kSession, kWindow, /*epoch=*/2).status(),
               kamino::v1::REASON_SESSION_EXPIRED, "recovery epoch 1");
}

TEST_F(SessionsTest, AnInvalidSessionIsNotOpened) {
  for (const auto& [id, window] :
       {std::pair<uint64_t, uint32_t>{0, 1}, {1, 0}, {1, kMaxWindow + 1}}) {
    ExpectReason(Open(id, window).status(), kamino::v1::REASON_INVALID_ARGUMENT,
                 "a window 1 to 1024");
  }
  EXPECT_EQ(All().size(), 1u);
}

TEST_F(SessionsTest, ClosingFreesAllBytesOfTheSession) {
  // The counter's value does not belong to the session.
  ASSERT_TRUE(Echo(1, std::string(20'000, 'r')).ok());
  Mutation remove;
  remove.function = kDeleteFunction;
  kamino::v1::DeleteRequest calls;
  calls.set_key("calls");
  ASSERT_TRUE(Execute(Of(2, kDeleteFunction, calls.SerializeAsString())).ok());
  ASSERT_TRUE(Void(3).ok());
  ASSERT_TRUE(Open(8, 9).ok());
  ASSERT_TRUE(Close({kSession, 77, 8}).ok());
  EXPECT_EQ(head_.heap().stats().bytes_used, bytes_without_);
  EXPECT_TRUE(All().empty());
  ExpectReason(Echo(5, "").status(), kamino::v1::REASON_SESSION_EXPIRED,
               "is not open");
  ExpectReason(Close({kSession}), kamino::v1::REASON_SESSION_EXPIRED,
               "none of the sessions");
}

TEST_F(SessionsTest, AReopenedSessionKnowsNoEarlierNumbers) {
  ASSERT_TRUE(Echo(1, "before").ok());
  ASSERT_TRUE(Close({kSession}).ok());
  ASSERT_TRUE(Open(kSession, 2).ok());
  const auto done = Echo(1, "after");
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_FALSE(done->repeated);
}

TEST_F(SessionsTest, UseOfAClosedSessionIsDetected) {
  faults::Planted fault("session-cache-keeps-the-closed");
  ASSERT_TRUE(Echo(1, "").ok());
  ASSERT_TRUE(Close({kSession}).ok());
  // Its slots are gone.
  const absl::Status used = Echo(5, "").status();
  EXPECT_TRUE(absl::IsDataLoss(used)) << used;
}

}  // namespace
}  // namespace kamino::replica
