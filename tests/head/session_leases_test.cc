// When a head closes sessions, and which of their mutations it refuses.
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "head/admission.h"
#include "kamino/internal/v1/operation.pb.h"
#include "tests/faults/planted.h"
#include "tests/head/sessions_fixture.h"

namespace kamino::head {
namespace {

using kamino::internal::v1::ChainMessage;
using replica::ReasonOf;

constexpr absl::Duration kTick = kSessionTick;

// --- Leases.

TEST_F(OpenSessionTest, ASilentSessionIsClosed) {
  const uint64_t before = BytesUsed();
  ASSERT_TRUE(RunOpen(7, 10, absl::Seconds(2)).ok());
  Pass(absl::Milliseconds(1950));
  EXPECT_TRUE(admission_->sessions().Find(7).has_value());
  Pass(absl::Milliseconds(100));
  EXPECT_FALSE(admission_->sessions().Find(7).has_value());
  EXPECT_EQ(BytesUsed(), before);
  EXPECT_TRUE(admission_->sessions().Find(kSession).has_value());
  ExpectReason(Run(PutIn(7, 1, "a", "1")), kamino::v1::REASON_SESSION_EXPIRED,
               "session 7 is not open");
}

TEST_F(OpenSessionTest, AnyRequestKeepsTheSession) {
  const std::vector<std::function<void()>> ways = {
      [this] { admission_->sessions().Hear(kSession, now_); },
      [this] { PutIn(kSession, 1, "a", "1"); },
      [this] { Open(kSession); },
      [this] { PutIn(kSession, 100, "a", "refused"); },
  };
  for (const auto& hear : ways) {
    Pass(kLease - kTick);
    hear();
  }
  Pass(kLease - kTick);
  EXPECT_TRUE(admission_->sessions().Find(kSession).has_value());
  Pass(kTick);
  EXPECT_FALSE(admission_->sessions().Find(kSession).has_value());
}

// Between the tick that finds it silent and its closing.
TEST_F(OpenSessionTest, ARequestInTheClosingBatchKeepsTheSession) {
  for (int i = 1; i < kLease / kTick; ++i) {
    now_ += kTick;
    admission_->OnTick(now_);
  }
  now_ += kTick;
  admission_->OnTick(now_);
  const size_t put = PutIn(kSession, 1, "a", "1");
  EXPECT_TRUE(Run(put).ok()) << StatusOf(put);
  EXPECT_TRUE(admission_->sessions().Find(kSession).has_value());
}

TEST_F(OpenSessionTest, AHeadThatStoodStillClosesNoSession) {
  Pass(absl::Seconds(1));
  now_ += absl::Hours(1);
  admission_->OnTick(now_);
  Run();
  EXPECT_TRUE(admission_->sessions().Find(kSession).has_value());
  Pass(kLease - absl::Seconds(1) - kTick);
  EXPECT_TRUE(admission_->sessions().Find(kSession).has_value());
  Pass(kTick);
  EXPECT_FALSE(admission_->sessions().Find(kSession).has_value());
}

TEST_F(OpenSessionTest, ANewHeadGivesAWholeLease) {
  ASSERT_TRUE(Run(PutIn(kSession, 1, "a", "1")).ok());
  Pass(kLease - kTick);
  Promote();
  Pass(kLease - kTick);
  const auto session = admission_->sessions().Find(kSession);
  ASSERT_TRUE(session.has_value());
  EXPECT_EQ(session->window, 8u);
  EXPECT_EQ(session->lease, kLease);
  EXPECT_TRUE(Run(PutIn(kSession, 1, "a", "2")).ok());
  EXPECT_EQ(Get("a"), "1");
  Pass(kLease);
  EXPECT_FALSE(admission_->sessions().Find(kSession).has_value());
}

TEST_F(OpenSessionTest, SilentSessionsAreClosedInBatches) {
  for (uint64_t id = 100; id < 230; ++id) {
    ASSERT_TRUE(RunOpen(id, 4, absl::Seconds(1)).ok());
  }
  const uint64_t before = ring_->applied();
  Pass(absl::Seconds(2));
  EXPECT_EQ(admission_->stats().sessions, 1u);
  EXPECT_EQ(ring_->applied() - before, 3u);  // of 64, 64 and 2
}

// A client that has given up asks for another session so.
TEST_F(OpenSessionTest, AnAbandonedSessionIsNotOpened) {
  const uint64_t before = ring_->applied();
  const auto answer = Open(100, 8, kLease, [] { return true; });
  Run();
  ASSERT_TRUE(answer->has_value());
  EXPECT_FALSE((*answer)->ok());
  EXPECT_EQ(ring_->applied(), before);
  EXPECT_FALSE(admission_->sessions().Find(100).has_value());
}

// --- Continuing a session.

class AskForSessionTest : public OpenSessionTest {
 protected:
  std::shared_ptr<Opened> Ask(uint64_t id, uint64_t epoch) {
    auto answer = std::make_shared<Opened>();
    admission_->sessions().Ask(
        id, epoch, now_, [answer](absl::StatusOr<SessionInfo> session) {
          EXPECT_FALSE(answer->has_value()) << "answered twice";
          *answer = std::move(session);
        });
    return answer;
  }
  uint64_t epoch() { return core_.view().epoch; }
};

TEST_F(AskForSessionTest, AskingKeepsAnOpenSession) {
  Pass(kLease - kTick);
  const auto told = Ask(kSession, epoch());
  ASSERT_TRUE(told->has_value() && (*told)->ok());
  EXPECT_EQ((**told)->window, 8u);
  Pass(kLease - kTick);
  EXPECT_TRUE(admission_->sessions().Find(kSession).has_value());
}

TEST_F(AskForSessionTest, AnUnknownSessionIsReportedAsExpired) {
  const uint64_t before = ring_->applied();
  const auto unknown = Ask(7, epoch());
  const auto other = Ask(kSession, epoch() + 1);
  Run();
  for (const auto& told : {unknown, other}) {
    ASSERT_TRUE(told->has_value());
    ExpectReason((*told)->status(), kamino::v1::REASON_SESSION_EXPIRED,
                 "is not open");
  }
  EXPECT_EQ(ring_->applied(), before);
  EXPECT_TRUE(admission_->sessions().Find(kSession).has_value());
}

// This head may die, and the opening of the session with it.
TEST_F(AskForSessionTest, AnOpeningSessionIsReportedOnceTheChainHasIt) {
  for (const bool still_head : {true, false}) {
    const uint64_t id = still_head ? 7 : 8;
    Open(id);
    Execute();
    const auto told = Ask(id, epoch());
    EXPECT_FALSE(told->has_value());
    lease_ = still_head;
    Complete();
    ASSERT_TRUE(told->has_value());
    EXPECT_EQ((*told)->ok(), still_head) << (*told)->status();
  }
}

// Whatever else is under way.
TEST_F(AskForSessionTest, AnOpenSessionIsReportedAtOnce) {
  Open(7);
  Execute();
  const auto told = Ask(kSession, epoch());
  ASSERT_TRUE(told->has_value());
  EXPECT_EQ((*told)->status(), absl::OkStatus());
  Complete();
}

TEST_F(AskForSessionTest, AnEarlyReportIsDetected) {
  faults::Planted fault("session-told-of-before-the-chain-has-it");
  Open(7);
  Execute();
  EXPECT_TRUE(Ask(7, epoch())->has_value());
}

// This head may die, and the end of the session with it.
TEST_F(AskForSessionTest, AClosedSessionIsReportedOnceTheChainHasClosedIt) {
  const auto closed = Close(kSession);
  Execute();
  EXPECT_FALSE(admission_->sessions().Find(kSession).has_value());
  const auto told = Ask(kSession, epoch());
  Execute();
  EXPECT_FALSE(told->has_value());
  Run();
  ASSERT_TRUE(told->has_value());
  ExpectReason((*told)->status(), kamino::v1::REASON_SESSION_EXPIRED,
               "is not open");
  EXPECT_TRUE((*closed)->ok());
}

TEST_F(AskForSessionTest, AnEndThatMayBeLostIsDetected) {
  faults::Planted fault("session-expired-by-an-end-that-may-be-lost");
  Close(kSession);
  Execute();
  EXPECT_TRUE(Ask(kSession, epoch())->has_value());
}

// --- Recovery epochs.

class OtherEpochTest : public OpenSessionTest {
 protected:
  // A head from before the recovery has left it so.
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

TEST_F(OtherEpochTest, ASessionOfAnotherEpochIsClosedAtOnce) {
  EXPECT_FALSE(admission_->sessions().Find(7).has_value());
  ExpectReason(Run(PutIn(7, 1, "a", "1")), kamino::v1::REASON_SESSION_EXPIRED,
               "session 7 is not open");
  EXPECT_EQ(Get("a"), "0");
  ExpectReason(RunOpen(7).status(), kamino::v1::REASON_SESSION_EXPIRED,
               "recovery epoch 5, which is over");
  Promote();
  EXPECT_EQ(admission_->stats().sessions, 2u);
  Pass(kTick);
  EXPECT_EQ(admission_->stats().sessions, 1u);
  EXPECT_TRUE(admission_->sessions().Find(kSession).has_value());
}

TEST_F(OtherEpochTest, UseOfASessionOfAnotherEpochIsDetected) {
  faults::Planted fault("sessions-go-on-after-a-recovery");
  EXPECT_TRUE(Run(PutIn(7, 1, "a", "1")).ok());
  EXPECT_EQ(Get("a"), "1");
}

// --- Requests that heads died of.

class QuarantinedSessionTest : public OpenSessionTest {
 protected:
  QuarantinedSessionTest() {
    successor_ = actions_.open.at(0).link;
    core_.OnLinkOpened(successor_, now_, &actions_);
  }

  // A head that has died told the successor of it.
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

TEST_F(QuarantinedSessionTest, AQuarantinedMutationIsRefused) {
  HearOf(3);
  EXPECT_EQ(ReasonOf(Decline(3)), kamino::v1::REASON_POISONOUS);
  EXPECT_EQ(declined_, 0);
  EXPECT_EQ(admission_->stats().poisonous, 1u);
  // It settles the outcome.
  const size_t voided = VoidIn(kSession, 3);
  EXPECT_TRUE(Run(voided).ok());
  EXPECT_TRUE(outcomes_[voided]->voided);
  EXPECT_TRUE(Decline(3).ok());
}

TEST_F(QuarantinedSessionTest, AnExecutedMutationIsNotQuarantined) {
  ASSERT_TRUE(Run(PutIn(kSession, 3, "a", "1")).ok());
  HearOf(3);
  EXPECT_EQ(admission_->stats().poisonous, 0u);
  // A later number of a client with the same id means nothing for the session.
  ASSERT_TRUE(Run(Put("a", "2", kSession, 50)).ok());
  HearOf(4);
  EXPECT_EQ(admission_->stats().poisonous, 1u);
}

}  // namespace
}  // namespace kamino::head
