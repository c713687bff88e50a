// Sessions belong to the principal that opened them: no other one can open them
// again, continue them, mutate by their numbers or close them; nor at the next
// head.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/head/sessions_fixture.h"

namespace kamino::head {
namespace {

PrincipalPtr Named(const std::string& name) {
  return std::make_shared<const Principal>(
      Principal{"kamino://c/writer/" + name});
}

class SessionOwnersTest : public HeadSessionsTest {
 protected:
  SessionOwnersTest() {
    by_ = alice_;
    const auto opened = RunOpen(kSession);
    EXPECT_TRUE(opened.ok()) << opened.status();
    EXPECT_TRUE(Run(PutIn(kSession, 1, "key", "alice's")).ok());
  }

  absl::Status Ask(uint64_t id = kSession) {
    auto answer = std::make_shared<absl::Status>(absl::UnknownError("none"));
    admission_->sessions().Ask(
        id, /*epoch=*/0, now_,
        [answer](const absl::StatusOr<SessionInfo>& session) {
          *answer = session.status();
        },
        by_);
    Run();
    return *answer;
  }
  absl::Status RunClose() {
    const auto answer = Close(kSession);
    Run();
    return answer->value_or(absl::UnknownError("no answer"));
  }

  void ExpectBobIsRefused() {
    by_ = bob_;
    const uint64_t before = core_.next_sequence();
    for (const absl::Status& status :
         {RunOpen(kSession).status(), Ask(), RunClose(),
          Run(PutIn(kSession, 2, "key", "bob's")),
          // Nor does it get the answer to an executed request.
          Run(PutIn(kSession, 1, "key", "bob's")), Run(VoidIn(kSession, 2))}) {
      EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
      EXPECT_EQ(std::string(status.message()),
                "session 1234605616436508552 is not of kamino://c/writer/bob: "
                "another identity has opened it");
    }
    EXPECT_EQ(core_.next_sequence(), before);
    EXPECT_EQ(Get("key"), "alice's");
  }

  const PrincipalPtr alice_ = Named("alice");
  const PrincipalPtr bob_ = Named("bob");
};

TEST_F(SessionOwnersTest, TheOwnerUsesItsSession) {
  EXPECT_TRUE(RunOpen(kSession).ok());
  EXPECT_TRUE(Ask().ok());
  EXPECT_TRUE(Run(PutIn(kSession, 2, "key", "again")).ok());
  EXPECT_TRUE(RunClose().ok());
  EXPECT_EQ(Get("key"), "again");
}

TEST_F(SessionOwnersTest, AnotherClientIsRefused) { ExpectBobIsRefused(); }

TEST_F(SessionOwnersTest, TheNextHeadRefusesAnotherClient) {
  Promote();
  ExpectBobIsRefused();
  // The new head has to read the owner first.
  state_.Forget();
  ExpectBobIsRefused();
  by_ = alice_;
  EXPECT_TRUE(Ask().ok());
}

TEST_F(SessionOwnersTest, AnotherClientMayReuseAClosedId) {
  EXPECT_TRUE(RunClose().ok());
  by_ = bob_;
  EXPECT_TRUE(RunOpen(kSession).ok());
  EXPECT_TRUE(Run(PutIn(kSession, 1, "key", "bob's")).ok());
  by_ = alice_;
  EXPECT_TRUE(absl::IsPermissionDenied(Ask()));
}

// No request that arrives with the opening gets in before it.
TEST_F(SessionOwnersTest, AnOpeningSessionRefusesAnotherClient) {
  constexpr uint64_t kOther = 9;
  const auto opened = Open(kOther);
  by_ = bob_;
  const auto again = Open(kOther);
  const auto closed = Close(kOther);
  const size_t put = PutIn(kOther, 1, "key", "bob's");
  Run();
  EXPECT_TRUE((*opened)->ok());
  EXPECT_TRUE(absl::IsPermissionDenied((*again)->status()));
  EXPECT_TRUE(absl::IsPermissionDenied(**closed)) << **closed;
  EXPECT_TRUE(absl::IsPermissionDenied(StatusOf(put))) << StatusOf(put);
  by_ = alice_;
  EXPECT_TRUE(Ask(kOther).ok());
}

// In a cluster without authentication, for example.
TEST_F(SessionOwnersTest, AnUnauthenticatedClientMayUseAnySession) {
  by_ = nullptr;
  EXPECT_TRUE(RunOpen(kSession).ok());
  EXPECT_TRUE(Ask().ok());
  EXPECT_TRUE(Run(PutIn(kSession, 2, "key", "2")).ok());
  EXPECT_TRUE(RunClose().ok());
  EXPECT_TRUE(RunOpen(kSession).ok());
  by_ = bob_;
  EXPECT_TRUE(Ask().ok()) << "it is nobody's";
}

// Nodes that do not know owners would take such a record for damaged.
TEST_F(SessionOwnersTest, OwnersAreNotRecordedUntilAllNodesKnowThem) {
  membership::View view = core_.view();
  ++view.id;
  view.in_force.clear();
  core_.OnView(view, now_, &actions_);
  constexpr uint64_t kOther = 9;
  EXPECT_TRUE(RunOpen(kOther).ok());
  by_ = bob_;
  EXPECT_TRUE(Ask(kOther).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Ask())) << "it has one";
}

TEST_F(SessionOwnersTest, AnOwnersNameIsBounded) {
  by_ = std::make_shared<const Principal>(Principal{std::string(1025, 'x')});
  ExpectReason(RunOpen(9).status(), kamino::v1::REASON_INVALID_ARGUMENT,
               "has 1025 bytes; at most 1024");
}

// --- Bounds.

class SessionSharesTest : public HeadSessionsTest {
 protected:
  static AdmissionOptions Few() {
    AdmissionOptions options;
    options.max_sessions = 8;
    options.max_session_slots = 40;
    return options;
  }
  SessionSharesTest() : HeadSessionsTest(Few()) { by_ = alice_; }

  const PrincipalPtr alice_ = Named("alice");
  const PrincipalPtr bob_ = Named("bob");
};

TEST_F(SessionSharesTest, OneIdentityDoesNotTakeAllSessions) {
  std::vector<std::shared_ptr<Opened>> opened;
  for (uint64_t id = 1; id <= 7; ++id) opened.push_back(Open(id, 1));
  Run();
  EXPECT_TRUE(opened[5]->value().ok()) << opened[5]->value().status();
  ExpectReason(
      opened[6]->value().status(), kamino::v1::REASON_OVERLOADED,
      "kamino://c/writer/alice has 6 sessions open, with windows of "
      "6 mutations; one more of 1 exceeds three quarters of the limits "
      "for all, 8 sessions and 40 mutations");
  EXPECT_TRUE(RunOpen(3, 1).ok()) << "it is there";
  by_ = bob_;
  EXPECT_TRUE(RunOpen(7, 1).ok());
  by_ = alice_;
  Close(2);
  Run();
  EXPECT_TRUE(RunOpen(8, 1).ok());
}

TEST_F(SessionSharesTest, OneIdentityDoesNotTakeAllSlots) {
  EXPECT_TRUE(RunOpen(1, 30).ok());
  for (int head = 0; head < 2; ++head) {
    ExpectReason(RunOpen(2, 1).status(), kamino::v1::REASON_OVERLOADED,
                 "has 1 sessions open, with windows of 30 mutations");
    // The next head reads them.
    Promote();
  }
  by_ = bob_;
  EXPECT_TRUE(RunOpen(3, 10).ok());
  by_ = nullptr;
  ExpectReason(RunOpen(4, 1).status(), kamino::v1::REASON_OVERLOADED,
               "exceeds the limit of 40");
}

TEST_F(SessionSharesTest, OneIdentityThatTakesAllIsDetected) {
  faults::Planted fault("sessions-all-of-one-identity");
  EXPECT_TRUE(RunOpen(1, 30).ok());
  EXPECT_TRUE(RunOpen(2, 10).ok());
}

// However small the heap is, one session can be opened.
TEST_F(SessionSharesTest, TheFirstSessionIsNotRefused) {
  EXPECT_TRUE(RunOpen(1, 40).ok());
}

// In the clear, clients cannot be told apart.
TEST_F(SessionSharesTest, SessionsWithoutOwnerHaveNoShare) {
  by_ = nullptr;
  std::vector<std::shared_ptr<Opened>> opened;
  for (uint64_t id = 1; id <= 8; ++id) opened.push_back(Open(id, 5));
  Run();
  for (const auto& each : opened) EXPECT_TRUE(each->value().ok());
}

TEST_F(SessionOwnersTest, AReopenByAnotherClientIsDetected) {
  faults::Planted fault("session-opened-again-by-another");
  by_ = bob_;
  EXPECT_TRUE(RunOpen(kSession).ok());
}

TEST_F(SessionOwnersTest, AResumeByAnotherClientIsDetected) {
  faults::Planted fault("session-resumed-by-another");
  by_ = bob_;
  EXPECT_TRUE(Ask().ok());
}

TEST_F(SessionOwnersTest, ACloseByAnotherClientIsDetected) {
  faults::Planted fault("session-closed-by-another");
  by_ = bob_;
  EXPECT_TRUE(RunClose().ok());
}

TEST_F(SessionOwnersTest, AMutationByAnotherClientIsDetected) {
  faults::Planted fault("session-mutated-by-another");
  by_ = bob_;
  EXPECT_TRUE(Run(PutIn(kSession, 2, "key", "bob's")).ok());
}

TEST_F(SessionOwnersTest, AHeadThatForgetsTheOwnerIsDetected) {
  faults::Planted fault("session-owner-forgotten");
  state_.Forget();
  Promote();
  by_ = bob_;
  EXPECT_TRUE(Ask().ok());
}

}  // namespace
}  // namespace kamino::head
