// A head's records of requests that may have ended heads, when something comes
// in between. Whole chains are in tests/simulation/crash_loop_test.cc.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/head/admission_fixture.h"
#include "tests/replica/text_entry.h"

namespace kamino::head {
namespace {

using kamino::internal::v1::ChainMessage;
using replica::Mutation;
using replica::RequestIdentity;

constexpr uint64_t kDied = 10;   // the client whose request heads died of
constexpr uint64_t kOther = 11;  // another one, of the same bytes

AdmissionOptions Options() {
  AdmissionOptions options;
  options.max_touched = 60;
  return options;
}

class ProbationTest : public AdmissionTest {
 protected:
  ProbationTest() : AdmissionTest(Options()) {
    successor_ = actions_.open.at(0).link;
    core_.OnLinkOpened(successor_, now_, &actions_);
  }

  static RequestIdentity IdentityOf(const std::string& function,
                                    const std::string& arguments,
                                    uint64_t client) {
    Mutation mutation;
    mutation.function = function;
    mutation.arguments = arguments;
    mutation.client_id = client;
    mutation.number = 1;
    return replica::IdentityOf(mutation);
  }

  void FromSuccessor(ChainMessage message) {
    message.set_chain_id(1);
    message.set_view_id(1);
    core_.OnMessage(successor_, message, "", now_, &actions_);
  }

  // A head that has died told the successor of it.
  void HearOf(const RequestIdentity& request) {
    ChainMessage message;
    auto* sync = message.mutable_sync();
    sync->set_received(ring_->received());
    sync->mutable_announced()->set_node_id("n0");
    sync->mutable_announced()->set_incarnation(1);
    replica::ToProto(request, sync->mutable_announced()->mutable_request());
    FromSuccessor(std::move(message));
    Execute();
    Complete();
  }

  // Executes the watched request, of which the successor has to hear before.
  void ExecuteWatched() {
    actions_.send.clear();
    Execute();
    AcknowledgeAnnounced();
  }

  void AcknowledgeAnnounced() {
    for (const auto& send : std::exchange(actions_.send, {})) {
      if (!send.message.has_announce()) continue;
      ChainMessage ack;
      ack.mutable_announce_ack()->set_number(send.message.announce().number());
      FromSuccessor(std::move(ack));
    }
    Execute();
    Complete();
  }

  void FillRing() {
    const std::string large(ring_->space().max_entry() / 2, 'x');
    while (replica::AppendText(ring_.get(), large).ok()) {
    }
    while (replica::AppendText(ring_.get(), "small").ok()) {
    }
    ring_->MarkApplied(ring_->received());
  }

  // A while later; then the record that did not fit fits.
  void MakeRoom() {
    ring_->PersistApplied();
    ring_->Clean(ring_->applied());
    admission_->OnTick(now_);
    Execute();
    Complete();
  }

  replica::RefusedRequests Recorded() {
    engine::HeapReader reader(&under_.heap());
    return *state_.Refused(reader);
  }

  replica::LinkId successor_;
};

TEST_F(ProbationTest, ARefusalIsRecordedOnceThereIsRoom) {
  const RequestIdentity request = IdentityOf("test.decline", "x", kDied);
  FillRing();
  HearOf(request);
  EXPECT_FALSE(Recorded().Has(request));
  // It is refused nevertheless.
  const size_t asked = Submit("test.decline", "x", kDied);
  ExecuteWatched();
  EXPECT_EQ(replica::ReasonOf(StatusOf(asked)), kamino::v1::REASON_POISONOUS);
  MakeRoom();
  EXPECT_TRUE(Recorded().Has(request));
}

TEST_F(ProbationTest, AForgottenRefusalIsDetected) {
  faults::Planted fault("head-tries-once-to-record-quarantine");
  const RequestIdentity request = IdentityOf("test.decline", "x", kDied);
  FillRing();
  HearOf(request);
  MakeRoom();
  EXPECT_FALSE(Recorded().Has(request));
}

TEST_F(ProbationTest, AFinishedRequestIsNoLongerWatched) {
  HearOf(IdentityOf("test.decline", "x", kDied));
  const RequestIdentity other = IdentityOf("test.decline", "x", kOther);
  ASSERT_TRUE(Recorded().Watches(other));
  Submit("test.decline", "x", kOther);
  ExecuteWatched();
  EXPECT_EQ(declined_, 1);
  MakeRoom();
  EXPECT_FALSE(Recorded().Watches(other));
}

// Requests with other bytes, in one batch; how many were identified.
class IdentifiedTest : public ProbationTest {
 protected:
  uint64_t IdentifiedOf(int requests) {
    const uint64_t before = admission_->stats().identified;
    for (int i = 0; i < requests; ++i) {
      Submit("test.decline", absl::StrCat("other ", i), 100 + i);
    }
    Execute();
    EXPECT_EQ(declined_, requests);
    return admission_->stats().identified - before;
  }

  void HearOfOneCleared() {
    HearOf(IdentityOf("test.decline", "x", kDied));
    Submit("test.decline", "x", kOther);
    ExecuteWatched();
    declined_ = 0;
  }
};

TEST_F(IdentifiedTest, EachRequestIsIdentifiedOnceWhileBytesAreWatched) {
  HearOf(IdentityOf("test.decline", "x", kDied));
  EXPECT_EQ(IdentifiedOf(20), 20u);
}

TEST_F(IdentifiedTest, RepeatedIdentificationIsDetected) {
  const faults::Planted fault("head-identifies-again");
  HearOf(IdentityOf("test.decline", "x", kDied));
  EXPECT_GT(IdentifiedOf(20), 20u);
}

TEST_F(IdentifiedTest, NoRequestIsIdentifiedOnceBytesAreCleared) {
  HearOfOneCleared();
  EXPECT_EQ(IdentifiedOf(20), 0u);
  // Except one that is refused permanently.
  const size_t refused = Submit("test.decline", "x", kDied);
  Execute();
  EXPECT_EQ(replica::ReasonOf(StatusOf(refused)), kamino::v1::REASON_POISONOUS);
}

TEST_F(IdentifiedTest, IdentificationOfClearedBytesIsDetected) {
  const faults::Planted fault("refused-matter-for-good");
  HearOfOneCleared();
  EXPECT_EQ(IdentifiedOf(20), 20u);
}

class UnansweredTest : public ProbationTest {
 protected:
  // The first is announced, and the successor is silent.
  void Expire() {
    HearOf(IdentityOf("test.decline", "x", kDied));
    announced_ = Submit("test.decline", "x", kOther, 1, now_);
    behind_ = Submit("test.decline", "y", kOther + 1, 1, now_);
    Execute();
    admission_->OnTick(now_);
  }

  size_t announced_;
  size_t behind_;
};

TEST_F(UnansweredTest, RequestsThatWaitForTheSuccessorExpire) {
  Expire();
  EXPECT_TRUE(absl::IsDeadlineExceeded(StatusOf(behind_)));
  EXPECT_FALSE(Answered(announced_));
  AcknowledgeAnnounced();
  ASSERT_TRUE(Answered(announced_));
  EXPECT_TRUE(absl::IsDeadlineExceeded(StatusOf(announced_)));
  EXPECT_EQ(declined_, 0);
}

TEST_F(UnansweredTest, AnAnnouncedRequestThatExpiresIsDetected) {
  const faults::Planted fault("head-expires-what-it-announced");
  Expire();
  EXPECT_TRUE(Answered(announced_));
}

class UncommittedTest : public ProbationTest {
 protected:
  void Try() {
    kamino::v1::PutRequest put;
    put.set_key("a");
    put.set_value("1");
    const std::string bytes = put.SerializeAsString();
    HearOf(IdentityOf(replica::kPutFunction, bytes, kDied));
    other_ = IdentityOf(replica::kPutFunction, bytes, kOther);
    ASSERT_TRUE(Recorded().Watches(other_));
    FillRing();
    const size_t asked = Submit(replica::kPutFunction, bytes, kOther);
    ExecuteWatched();
    EXPECT_EQ(replica::ReasonOf(StatusOf(asked)),
              kamino::v1::REASON_OVERLOADED);
    MakeRoom();
  }

  RequestIdentity other_;
};

TEST_F(UncommittedTest, AnUncommittedRequestStaysWatched) {
  Try();
  EXPECT_TRUE(Recorded().Watches(other_));
}

TEST_F(UncommittedTest, AnEarlyClearanceIsDetected) {
  faults::Planted fault("head-clears-unfinished-requests");
  Try();
  EXPECT_FALSE(Recorded().Watches(other_));
}

TEST_F(ProbationTest, ATooLargeRequestStaysWatched) {
  kamino::v1::CommitRequest commit;
  for (int i = 0; i < 100; ++i) {
    auto* put = commit.add_then_operations()->mutable_put();
    put->set_key(absl::StrCat("k", i));
    put->set_value("v");
  }
  const std::string bytes = commit.SerializeAsString();
  HearOf(IdentityOf(replica::kCommitFunction, bytes, kDied));
  const RequestIdentity other =
      IdentityOf(replica::kCommitFunction, bytes, kOther);
  ASSERT_TRUE(Recorded().Watches(other));
  const size_t asked = Submit(replica::kCommitFunction, bytes, kOther);
  ExecuteWatched();
  EXPECT_EQ(replica::ReasonOf(StatusOf(asked)), kamino::v1::REASON_TOO_LARGE);
  MakeRoom();
  EXPECT_TRUE(Recorded().Watches(other));
}

}  // namespace
}  // namespace kamino::head
