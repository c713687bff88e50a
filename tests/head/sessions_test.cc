// What a head does about sessions. Their numbers and what they take of the heap
// are in tests/replica/sessions_test.cc.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "head/admission.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/session_format.h"
#include "tests/faults/planted.h"
#include "tests/head/admission_fixture.h"

namespace kamino::head {
namespace {

using kamino::internal::v1::ChainMessage;
using replica::ReasonOf;
using ::testing::HasSubstr;

constexpr uint64_t kSession = 0x1122334455667788;
constexpr absl::Duration kLease = absl::Seconds(5);
constexpr absl::Duration kTick = absl::Milliseconds(50);

void ExpectReason(const absl::Status& status, kamino::v1::Reason reason,
                  const std::string& text) {
  EXPECT_EQ(ReasonOf(status), reason) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(text));
}

class HeadSessionsTest : public AdmissionTest {
 protected:
  explicit HeadSessionsTest(AdmissionOptions options = {})
      : AdmissionTest(options), options_(std::move(options)) {}

  using Opened = std::optional<absl::StatusOr<SessionInfo>>;

  // Whose answer lands there.
  std::shared_ptr<Opened> Open(uint64_t id, uint32_t window = 8,
                               absl::Duration lease = kLease) {
    auto answer = std::make_shared<Opened>();
    SessionParams params;
    params.id = id;
    params.window = window;
    params.lease = lease;
    admission_->OpenSession(
        params, now_, [answer](absl::StatusOr<SessionInfo> session) {
          EXPECT_FALSE(answer->has_value()) << "answered twice";
          *answer = std::move(session);
        });
    return answer;
  }
  absl::StatusOr<SessionInfo> RunOpen(uint64_t id, uint32_t window = 8,
                                      absl::Duration lease = kLease) {
    const auto answer = Open(id, window, lease);
    Run();
    return answer->value_or(absl::UnknownError("no answer"));
  }

  std::shared_ptr<std::optional<absl::Status>> Close(uint64_t id) {
    auto answer = std::make_shared<std::optional<absl::Status>>();
    admission_->CloseSession(id, now_, [answer](absl::Status status) {
      EXPECT_FALSE(answer->has_value()) << "answered twice";
      *answer = std::move(status);
    });
    return answer;
  }

  // Until nothing is ready any more.
  void Run() {
    do {
      Execute();
      Complete();
    } while (admission_->has_ready());
  }
  absl::Status Run(size_t index) {
    Run();
    return StatusOf(index);
  }

  // With its ticks, and what comes of them.
  void Pass(absl::Duration time) {
    for (const absl::Time end = now_ + time; now_ < end; Run()) {
      now_ += kTick;
      admission_->OnTick(now_);
    }
  }

  // A new head on the same state.
  void Promote() {
    admission_.reset();
    admission_ =
        std::make_unique<Admission>(options_, &under_.store(), &state_, &core_);
    ASSERT_TRUE(admission_->Promote(now_, &actions_).ok());
  }

  uint64_t Parked() const { return admission_->stats().parked; }
  uint64_t InFlight() const { return admission_->stats().in_flight; }
  uint64_t BytesUsed() { return under_.heap().stats().bytes_used; }

  const AdmissionOptions options_;
};

// --- What waits for what.

class OpenSessionTest : public HeadSessionsTest {
 protected:
  explicit OpenSessionTest(AdmissionOptions options = {})
      : HeadSessionsTest(std::move(options)) {
    EXPECT_TRUE(RunOpen(kSession).ok());
    for (const char* key : {"a", "b"}) {
      EXPECT_TRUE(Run(Put(key, "0", 1, ++number_)).ok());
    }
  }

  uint64_t number_ = 0;
};

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

TEST_F(OpenSessionTest, OneThatIsBeingOpenedHoldsUpNoOther) {
  Open(7);
  Execute();
  PutIn(kSession, 1, "a", "1");
  Execute();
  EXPECT_EQ(Parked(), 0u);
  EXPECT_EQ(InFlight(), 2u);
  // Nor one that is being closed.
  Complete();
  Close(7);
  Execute();
  PutIn(kSession, 2, "b", "1");
  Execute();
  EXPECT_EQ(Parked(), 0u);
  EXPECT_EQ(InFlight(), 2u);
}

TEST_F(OpenSessionTest, ItsFirstMutationWaitsForIt) {
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

TEST_F(OpenSessionTest, InOneBatchAllIsInOrder) {
  const auto opened = Open(7);
  const size_t first = PutIn(7, 1, "a", "1");
  const size_t again = PutIn(7, 1, "a", "2");
  const auto closed = Close(7);
  const size_t late = PutIn(7, 2, "a", "3");
  Run();
  EXPECT_TRUE(StatusOf(first).ok()) << StatusOf(first);
  EXPECT_EQ(outcomes_[again]->sequence, outcomes_[first]->sequence);
  EXPECT_TRUE(closed->value().ok()) << closed->value();
  // It is closed by the time it is answered.
  EXPECT_EQ(ReasonOf(opened->value().status()),
            kamino::v1::REASON_SESSION_EXPIRED);
  EXPECT_EQ(ReasonOf(StatusOf(late)), kamino::v1::REASON_SESSION_EXPIRED);
  EXPECT_EQ(admission_->stats().sessions, 1u);
}

TEST_F(OpenSessionTest, NumbersAreItsOwn) {
  // A client of the same id and number is another one.
  EXPECT_TRUE(Run(Put("a", "client", kSession, 1)).ok());
  EXPECT_TRUE(Run(PutIn(kSession, 1, "a", "session")).ok());
  EXPECT_EQ(Get("a"), "session");
  EXPECT_EQ(admission_->stats().repeated, 0u);
  EXPECT_EQ(admission_->stats().clients, 2u);
}

TEST_F(OpenSessionTest, AVoidedNumberIsToldAsSuch) {
  const size_t voided = VoidIn(kSession, 1);
  EXPECT_TRUE(Run(voided).ok());
  EXPECT_TRUE(outcomes_[voided]->voided);
  const size_t late = PutIn(kSession, 1, "a", "late");
  EXPECT_TRUE(Run(late).ok());
  EXPECT_TRUE(outcomes_[late]->voided);
  EXPECT_EQ(Get("a"), "0");
}

// --- Opening and closing.

TEST_F(OpenSessionTest, OpeningAgainAnswersTheSame) {
  const auto first = admission_->FindSession(kSession);
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

TEST_F(OpenSessionTest, WhatIsAskedForIsCutToWhatMayBe) {
  const auto large = RunOpen(1, 1u << 20, absl::Hours(1000));
  ASSERT_TRUE(large.ok()) << large.status();
  EXPECT_EQ(large->window, 1024u);
  EXPECT_EQ(large->lease, absl::Hours(1));
  const auto small = RunOpen(2, 1, absl::Nanoseconds(1));
  EXPECT_EQ(small->lease, absl::Seconds(1));
}

TEST_F(OpenSessionTest, WhatIsNothingIsRefused) {
  for (const auto& refused :
       {Open(0), Open(1, 0), Open(1, 1, absl::ZeroDuration()),
        Open(1, 1, -absl::Seconds(1))}) {
    ASSERT_TRUE(refused->has_value());
    ExpectReason(refused->value().status(), kamino::v1::REASON_INVALID_ARGUMENT,
                 "of which none is 0");
  }
}

TEST_F(OpenSessionTest, ClosingGivesBackAllThatItTook) {
  const uint64_t before = BytesUsed();
  ASSERT_TRUE(RunOpen(7, 100).ok());
  ASSERT_TRUE(Run(PutIn(7, 5, "a", "1")).ok());
  const auto closed = Close(7);
  Execute();
  EXPECT_FALSE(closed->has_value());  // nor before the chain has closed it
  EXPECT_FALSE(admission_->FindSession(7).has_value());
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

TEST_F(BoundedSessionsTest, ThereAreNoMoreThanMayBe) {
  std::vector<std::shared_ptr<Opened>> opened;
  for (uint64_t id = 1; id <= 4; ++id) opened.push_back(Open(id, 1));
  Run();
  EXPECT_TRUE(opened[2]->value().ok());
  ExpectReason(opened[3]->value().status(), kamino::v1::REASON_OVERLOADED,
               "3 sessions are open, of at most 3");
  // Those that are there may be opened again.
  EXPECT_TRUE(RunOpen(2).ok());
  Close(2);
  Run();
  EXPECT_TRUE(RunOpen(4, 1).ok());
}

TEST_F(BoundedSessionsTest, NorDoTheirWindowsTakeMore) {
  const auto first = Open(1, 15);
  const auto second = Open(2, 6);
  Run();
  EXPECT_TRUE(first->value().ok());
  ExpectReason(second->value().status(), kamino::v1::REASON_OVERLOADED,
               "15 mutations wide; with one of 6 more than 20");
  EXPECT_TRUE(RunOpen(2, 5).ok());
}

TEST_F(HeadSessionsTest, TheyTakeAnEighthOfTheHeap) {
  uint64_t id = 1;
  while (RunOpen(id, 1024).ok() && id < 100) ++id;
  ExpectReason(RunOpen(id, 1024).status(), kamino::v1::REASON_OVERLOADED,
               "mutations wide");
  EXPECT_LE(admission_->stats().session_slots * 192,
            under_.heap().stats().bytes_total / 8);
  EXPECT_GE(admission_->stats().session_slots, 4096u);
  // No heap is full by it.
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

TEST_F(LongSessionResultsTest, CountAmongThoseThatAreStored) {
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

TEST_F(LongSessionResultsTest, OneTakesThePlaceOfAnother) {
  for (uint64_t number = 1; number < 80; number += 8) {
    ASSERT_TRUE(Run(CommitLarge(number)).ok()) << number;
  }
  EXPECT_LT(admission_->stats().stored_result_bytes, 61'000u);
  EXPECT_GT(admission_->stats().stored_result_bytes, 60'000u);
}

// --- Leases.

TEST_F(OpenSessionTest, OneThatIsSilentIsClosed) {
  const uint64_t before = BytesUsed();
  ASSERT_TRUE(RunOpen(7, 10, absl::Seconds(2)).ok());
  Pass(absl::Milliseconds(1950));
  EXPECT_TRUE(admission_->FindSession(7).has_value());
  Pass(absl::Milliseconds(100));
  EXPECT_FALSE(admission_->FindSession(7).has_value());
  EXPECT_EQ(BytesUsed(), before);
  EXPECT_TRUE(admission_->FindSession(kSession).has_value());
  ExpectReason(Run(PutIn(7, 1, "a", "1")), kamino::v1::REASON_SESSION_EXPIRED,
               "session 7 is not open");
}

TEST_F(OpenSessionTest, WhateverIsHeardOfItKeepsIt) {
  const std::vector<std::function<void()>> ways = {
      [this] { admission_->HearSession(kSession, now_); },
      [this] { PutIn(kSession, 1, "a", "1"); },
      [this] { Open(kSession); },
      [this] { PutIn(kSession, 100, "a", "refused"); },
  };
  for (const auto& hear : ways) {
    Pass(kLease - kTick);
    hear();
  }
  Pass(kLease - kTick);
  EXPECT_TRUE(admission_->FindSession(kSession).has_value());
  Pass(kTick);
  EXPECT_FALSE(admission_->FindSession(kSession).has_value());
}

// Between the tick that finds it silent and its closing.
TEST_F(OpenSessionTest, WhatIsHeardInTheSameBatchCounts) {
  for (int i = 1; i < kLease / kTick; ++i) {
    now_ += kTick;
    admission_->OnTick(now_);
  }
  now_ += kTick;
  admission_->OnTick(now_);
  const size_t put = PutIn(kSession, 1, "a", "1");
  EXPECT_TRUE(Run(put).ok()) << StatusOf(put);
  EXPECT_TRUE(admission_->FindSession(kSession).has_value());
}

TEST_F(OpenSessionTest, AHeadThatStoodStillClosesNone) {
  Pass(absl::Seconds(1));
  now_ += absl::Hours(1);
  admission_->OnTick(now_);
  Run();
  EXPECT_TRUE(admission_->FindSession(kSession).has_value());
  Pass(kLease - absl::Seconds(1) - kTick);
  EXPECT_TRUE(admission_->FindSession(kSession).has_value());
  Pass(kTick);
  EXPECT_FALSE(admission_->FindSession(kSession).has_value());
}

TEST_F(OpenSessionTest, ANewHeadGivesAWholeLease) {
  ASSERT_TRUE(Run(PutIn(kSession, 1, "a", "1")).ok());
  Pass(kLease - kTick);
  Promote();
  Pass(kLease - kTick);
  const auto session = admission_->FindSession(kSession);
  ASSERT_TRUE(session.has_value());
  EXPECT_EQ(session->window, 8u);
  EXPECT_EQ(session->lease, kLease);
  EXPECT_TRUE(Run(PutIn(kSession, 1, "a", "2")).ok());
  EXPECT_EQ(Get("a"), "1");
  Pass(kLease);
  EXPECT_FALSE(admission_->FindSession(kSession).has_value());
}

TEST_F(OpenSessionTest, ManyAreClosedAFewAtATime) {
  for (uint64_t id = 100; id < 230; ++id) {
    ASSERT_TRUE(RunOpen(id, 4, absl::Seconds(1)).ok());
  }
  const uint64_t before = ring_->applied();
  Pass(absl::Seconds(2));
  EXPECT_EQ(admission_->stats().sessions, 1u);
  EXPECT_EQ(ring_->applied() - before, 3u);  // of 64, 64 and 2
}

// --- Recovery epochs.

class OtherEpochTest : public OpenSessionTest {
 protected:
  // As a head of before the recovery has left it.
  OtherEpochTest() {
    kamino::internal::v1::OpenSession wanted;
    wanted.set_session_id(7);
    wanted.set_window(4);
    wanted.set_epoch(core_.view().epoch + 5);
    wanted.set_lease_ms(3'600'000);
    EXPECT_TRUE(Run(Submit(replica::kOpenSessionFunction,
                           wanted.SerializeAsString(), /*client=*/0))
                    .ok());
  }
};

TEST_F(OtherEpochTest, OneIsClosedAtOnce) {
  EXPECT_FALSE(admission_->FindSession(7).has_value());
  ExpectReason(Run(PutIn(7, 1, "a", "1")), kamino::v1::REASON_SESSION_EXPIRED,
               "session 7 is not open");
  EXPECT_EQ(Get("a"), "0");
  ExpectReason(RunOpen(7).status(), kamino::v1::REASON_SESSION_EXPIRED,
               "recovery epoch 5, which is over");
  Promote();
  EXPECT_EQ(admission_->stats().sessions, 2u);
  Pass(kTick);
  EXPECT_EQ(admission_->stats().sessions, 1u);
  EXPECT_TRUE(admission_->FindSession(kSession).has_value());
}

TEST_F(OtherEpochTest, GoingOnWithItIsNoticed) {
  faults::Planted fault("sessions-go-on-after-a-recovery");
  EXPECT_TRUE(Run(PutIn(7, 1, "a", "1")).ok());
  EXPECT_EQ(Get("a"), "1");
}

// --- Requests that heads died of.

class PoisonedSessionTest : public OpenSessionTest {
 protected:
  PoisonedSessionTest() {
    successor_ = actions_.open.at(0).link;
    core_.OnLinkOpened(successor_, now_, &actions_);
  }

  // The successor was told of it by a head that has died.
  void HearOf(uint64_t number) {
    replica::Mutation mutation;
    mutation.function = "test.decline";
    mutation.arguments = "x";
    mutation.client_id = kSession;
    mutation.number = number;
    mutation.in_session = true;
    ChainMessage message;
    message.set_chain_id(1);
    message.set_view_id(1);
    auto* sync = message.mutable_sync();
    sync->set_received(ring_->received());
    sync->mutable_announced()->set_node_id("n0");
    sync->mutable_announced()->set_incarnation(1);
    replica::ToProto(replica::IdentityOf(mutation),
                     sync->mutable_announced()->mutable_request());
    core_.OnMessage(successor_, message, "", now_, &actions_);
    Run();
  }

  absl::Status Decline(uint64_t number) {
    return Run(SubmitIn(kSession, number, "test.decline", "x"));
  }

  replica::LinkId successor_;
};

TEST_F(PoisonedSessionTest, IsRefused) {
  HearOf(3);
  EXPECT_EQ(ReasonOf(Decline(3)), kamino::v1::REASON_POISONOUS);
  EXPECT_EQ(declined_, 0);
  EXPECT_EQ(admission_->stats().poisonous, 1u);
  // It settles what became of it.
  const size_t voided = VoidIn(kSession, 3);
  EXPECT_TRUE(Run(voided).ok());
  EXPECT_TRUE(outcomes_[voided]->voided);
  EXPECT_TRUE(Decline(3).ok());
}

TEST_F(PoisonedSessionTest, WhatWasCarriedOutIsNot) {
  ASSERT_TRUE(Run(PutIn(kSession, 3, "a", "1")).ok());
  HearOf(3);
  EXPECT_EQ(admission_->stats().poisonous, 0u);
  // A client of the same id, which has come further, says nothing of it.
  ASSERT_TRUE(Run(Put("a", "2", kSession, 50)).ok());
  HearOf(4);
  EXPECT_EQ(admission_->stats().poisonous, 1u);
}

}  // namespace
}  // namespace kamino::head
