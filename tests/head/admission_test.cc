#include "head/admission.h"

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replica/state/state_format.h"
#include "tests/faults/planted.h"
#include "tests/head/admission_fixture.h"

namespace kamino::head {
namespace {

using replica::ReasonOf;
using ::testing::ElementsAre;

TEST_F(AdmissionTest, AnsweredOnlyWhenTheTailHasCompleted) {
  const size_t put = Put("a", "1", 10);
  Execute();
  EXPECT_EQ(Get("a"), "1");  // in place
  EXPECT_EQ(ring_->received(), 2u);
  EXPECT_FALSE(Answered(put));
  Complete();
  ASSERT_TRUE(StatusOf(put).ok());
  EXPECT_EQ(outcomes_[put]->sequence, 2u);
}

TEST_F(AdmissionTest, ReadyRequestsFormOneBatch) {
  std::vector<size_t> puts;
  for (uint64_t i = 0; i < 10; ++i) {
    puts.push_back(Put(absl::StrCat("k", i), "v", 10 + i));
  }
  Execute();
  EXPECT_THAT(BatchSizes(), ElementsAre(10));
  Complete();
  for (size_t put : puts) EXPECT_TRUE(StatusOf(put).ok());
}

TEST_F(AdmissionTest, EachMutationOfABatchHasAVersionOfItsOwn) {
  constexpr uint64_t kClients = 64;
  std::map<uint64_t, std::string> by_version;  // "key=value" that was put
  for (uint64_t round = 1; round <= 20; ++round) {
    std::vector<size_t> puts;
    for (uint64_t i = 0; i < kClients; ++i) {
      puts.push_back(Put(absl::StrCat("k", i % 3),
                         absl::StrCat("v", round, "/", i), 10 + i, round));
    }
    while (admission_->has_ready() || admission_->stats().parked > 0) {
      Execute();
      Complete();
    }
    for (uint64_t i = 0; i < kClients; ++i) {
      ASSERT_TRUE(StatusOf(puts[i]).ok()) << StatusOf(puts[i]);
      const std::string put = absl::StrCat("k", i % 3, "=v", round, "/", i);
      const auto [found, added] =
          by_version.insert({outcomes_[puts[i]]->sequence, put});
      EXPECT_TRUE(added) << put << " and " << found->second << " share "
                         << found->first;
    }
    for (int key = 0; key < 3; ++key) {
      const std::string name = absl::StrCat("k", key);
      EXPECT_EQ(by_version[VersionOf(name)],
                absl::StrCat(name, "=", Get(name)));
    }
  }
  // Dense: number 1 made the state.
  EXPECT_EQ(by_version.begin()->first, 2u);
  EXPECT_EQ(by_version.rbegin()->first, 1 + 20 * kClients);
}

TEST_F(AdmissionTest, ADependentRequestWaitsForTheLock) {
  const size_t first = Put("a", "1", 10);
  Execute();
  const size_t second = Put("a", "2", 11);
  Execute();
  EXPECT_EQ(admission_->stats().parked, 1u);
  EXPECT_EQ(Get("a"), "1");
  // Completion alone is not enough: the undo copy lacks the change.
  admission_->OnCompleted(ring_->applied());
  Execute();
  EXPECT_TRUE(Answered(first));
  EXPECT_EQ(Get("a"), "1");
  while (admission_->PropagateToUndoCopy(10) > 0) {
  }
  EXPECT_TRUE(admission_->has_ready());
  Execute();
  EXPECT_EQ(Get("a"), "2");
  Complete();
  EXPECT_TRUE(StatusOf(second).ok());
}

TEST_F(AdmissionTest, AFailedRequestStaysLocalAndDoesNotHurtItsBatch) {
  const size_t before = Put("a", "1", 10);
  const size_t bad = Delete("absent", 11);
  const size_t after = Put("b", "2", 12);
  Execute();
  Complete();
  EXPECT_TRUE(StatusOf(before).ok());
  EXPECT_TRUE(StatusOf(after).ok());
  EXPECT_EQ(ReasonOf(StatusOf(bad)), kamino::v1::REASON_KEY_NOT_FOUND);
  EXPECT_THAT(BatchSizes(), ElementsAre(2));
}

TEST_F(AdmissionTest, ADecliningFunctionCostsItsBatchNothing) {
  const size_t before = Put("a", "1", 10);
  const size_t declined = Submit("test.decline", "", 11);
  const size_t after = Put("b", "2", 12);
  Execute();
  Complete();
  EXPECT_TRUE(StatusOf(before).ok());
  EXPECT_TRUE(StatusOf(after).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(StatusOf(declined)));
  EXPECT_EQ(ReasonOf(StatusOf(declined)), kamino::v1::REASON_PROCEDURE_FAILED);
  EXPECT_EQ(declined_, 1);  // executed once
  EXPECT_THAT(BatchSizes(), ElementsAre(2));
}

TEST_F(AdmissionTest, ACommitThatFailsHalfwayIsRolledBackAlone) {
  kamino::v1::CommitRequest commit;
  auto* put = commit.add_then_operations()->mutable_put();
  put->set_key("half");
  put->set_value("x");
  commit.add_then_operations()->mutable_delete_()->set_key("absent");
  const size_t before = Put("a", "1", 10);
  const size_t bad =
      Submit(replica::kCommitFunction, commit.SerializeAsString(), 11);
  const size_t after = Put("b", "2", 12);
  Execute();
  Complete();
  Execute();  // what spoilt a batch may have met a lock of its own batch
  Complete();
  EXPECT_TRUE(StatusOf(before).ok());
  EXPECT_TRUE(StatusOf(after).ok());
  EXPECT_EQ(ReasonOf(StatusOf(bad)), kamino::v1::REASON_KEY_NOT_FOUND);
  EXPECT_EQ(Get("half"), "absent");
  EXPECT_EQ(Get("a"), "1");
}

TEST_F(AdmissionTest, AFailedCommitLeavesNothingInNewObjectsOfItsBatch) {
  kamino::v1::CommitRequest commit;
  auto* put = commit.add_then_operations()->mutable_put();
  put->set_key("new");
  put->set_value("2");  // in place: the object is new, so it is not declared
  commit.add_then_operations()->mutable_delete_()->set_key("absent");
  const size_t makes = Put("new", "1", 10);
  const size_t bad =
      Submit(replica::kCommitFunction, commit.SerializeAsString(), 11);
  Execute();
  Complete();
  Execute();
  Complete();
  EXPECT_TRUE(StatusOf(makes).ok());
  EXPECT_EQ(ReasonOf(StatusOf(bad)), kamino::v1::REASON_KEY_NOT_FOUND);
  EXPECT_EQ(Get("new"), "1");
}

TEST_F(AdmissionTest, ARetryIsAnsweredFromTheStoredOutcome) {
  const size_t first = Put("a", "1", 10);
  Execute();
  const size_t too_early = Put("a", "1", 10);  // while the first is in flight
  Execute();
  EXPECT_FALSE(Answered(too_early));
  Complete();
  Execute();
  Complete();
  const size_t late = Put("a", "1", 10);
  Execute();
  for (size_t index : {first, too_early, late}) {
    ASSERT_TRUE(StatusOf(index).ok()) << index;
    EXPECT_EQ(outcomes_[index]->sequence, 2u) << index;
  }
  EXPECT_THAT(BatchSizes(), ElementsAre(1));
}

TEST_F(AdmissionTest, WithoutALeaseNothingIsAnsweredFromLocalState) {
  Put("a", "1", 10);
  Execute();
  Complete();
  lease_ = false;
  const size_t repeated = Put("a", "1", 10);
  const size_t failed = Delete("absent", 11);
  Execute();
  for (size_t index : {repeated, failed}) {
    EXPECT_EQ(ReasonOf(StatusOf(index)), kamino::v1::REASON_RECONFIGURING);
  }
}

TEST_F(AdmissionTest, RequestsPastTheirDeadlineAreNotExecuted) {
  kamino::v1::PutRequest put;
  put.set_key("a");
  put.set_value("late");
  Put("a", "1", 10);
  Execute();
  const size_t parked = Submit(replica::kPutFunction, put.SerializeAsString(),
                               11, 1, now_ + absl::Seconds(1));
  Execute();
  now_ += absl::Seconds(2);
  admission_->OnTick(now_);
  EXPECT_TRUE(absl::IsDeadlineExceeded(StatusOf(parked)));
  const size_t ready =
      Submit(replica::kPutFunction, put.SerializeAsString(), 12, 1, now_);
  Execute();
  EXPECT_TRUE(absl::IsDeadlineExceeded(StatusOf(ready)));
  Complete();
  EXPECT_EQ(Get("a"), "1");
}

TEST_F(AdmissionTest, AHeadWithAFullHeapKeepsServing) {
  const std::string large(1 << 20, 'x');
  absl::Status status;
  uint64_t client = 100;
  while (status.ok()) {
    const size_t put = Put(absl::StrCat("k", client), large, client);
    ++client;
    Execute();
    Complete();
    status = StatusOf(put);
    ASSERT_LT(client, 120u);
  }
  EXPECT_EQ(ReasonOf(status), kamino::v1::REASON_HEAP_FULL) << status;
  const size_t small = Put("small", "1", 50);
  Execute();
  Complete();
  EXPECT_TRUE(StatusOf(small).ok());
  const size_t gone = Delete("k100", 51);
  Execute();
  Complete();
  EXPECT_TRUE(StatusOf(gone).ok());
  const size_t again = Put("k999", large, 52);
  Execute();
  Complete();
  EXPECT_TRUE(StatusOf(again).ok());
}

TEST_F(AdmissionTest, TheEndAnswersEveryRequest) {
  const size_t executed = Put("a", "1", 10);
  Execute();
  const size_t parked = Put("a", "2", 11);
  Execute();
  const size_t ready = Put("b", "2", 12);
  admission_.reset();
  EXPECT_EQ(ReasonOf(StatusOf(executed)), kamino::v1::REASON_OUTCOME_UNKNOWN);
  EXPECT_EQ(ReasonOf(StatusOf(parked)), kamino::v1::REASON_NOT_HEAD);
  EXPECT_EQ(ReasonOf(StatusOf(ready)), kamino::v1::REASON_NOT_HEAD);
}

class PromotedTest : public AdmissionTest {
 protected:
  void SetUp() override {
    AdmissionTest::SetUp();
    Put("a", "1", 10);
    Execute();  // in the ring, executed, never completed
    admission_.reset();
    under_.store().ReleaseHold(2);
    under_.Propagate();
    promoted_.emplace(AdmissionOptions(), &under_.store(), &state_, &core_);
  }
  void Promote() { ASSERT_TRUE(promoted_->Promote(now_, &actions_).ok()); }
  // Writes the object whose write is not completed.
  absl::Status WriteAgain() {
    auto transaction = under_.Begin();
    engine::KeyValue objects(transaction.get(), [&] {
      engine::HeapReader reader(&under_.heap());
      uint64_t root[3];
      std::memcpy(root, reader.Read(under_.heap().root())->data(),
                  sizeof(root));
      return root[1];
    }());
    absl::Status written = objects.Put("a", "2", 9);
    EXPECT_TRUE(transaction->Abort().ok());
    return written;
  }

  std::optional<Admission> promoted_;
};

TEST_F(PromotedTest, HoldsTheLocksOfUncompletedMutations) {
  Promote();
  EXPECT_EQ(promoted_->stats().clients, 1u);
  EXPECT_TRUE(absl::IsAborted(WriteAgain()));
  promoted_->OnCompleted(2);
  EXPECT_EQ(under_.store().stats().locked_objects, 0u);
}

TEST_F(PromotedTest, APromotedHeadWithoutLocksIsDetected) {
  faults::Planted fault("head-promoted-without-locks");
  Promote();
  EXPECT_TRUE(WriteAgain().ok());
}

class SmallAdmissionTest : public AdmissionTest {
 protected:
  static AdmissionOptions Small() {
    AdmissionOptions options;
    options.max_waiting = 3;
    return options;
  }
  SmallAdmissionTest() : AdmissionTest(Small()) {}
};

TEST_F(SmallAdmissionTest, RefusesRequestsBeyondTheQueueLimit) {
  for (uint64_t i = 0; i < 3; ++i) Put("a", "1", 10 + i);
  const size_t refused = Put("a", "1", 20);
  EXPECT_EQ(ReasonOf(StatusOf(refused)), kamino::v1::REASON_OVERLOADED);
}

// --- Requests that depend on entries in flight are executed behind them.

class PipelinesTest : public AdmissionTest {
 protected:
  static AdmissionOptions Pipelining() {
    AdmissionOptions options;
    options.pipelines = true;
    return options;
  }
  PipelinesTest() : AdmissionTest(Pipelining()) {}

  // The undo copy has everything; the tail has completed nothing.
  void Propagate() {
    while (admission_->PropagateToUndoCopy(10) > 0) {
    }
  }

  // Whether a request that fails because of entries in flight, and one that was
  // executed before, are answered only once those are completed, and only by a
  // head.
  bool AnswersInTime(bool still_head) {
    Put("a", "1", 10);
    Execute();
    Propagate();
    const size_t declined = Submit("test.decline", "", 11);
    const size_t again = Put("a", "1", 10);
    Execute();
    if (Answered(declined) || Answered(again)) return false;
    lease_ = still_head;
    Complete();
    const auto told = [&](size_t index) {
      return Answered(index) &&
             ReasonOf(StatusOf(index)) != kamino::v1::REASON_RECONFIGURING;
    };
    return told(declined) == still_head && told(again) == still_head;
  }
};

TEST_F(PipelinesTest, ADependentRequestIsExecutedAfterTheFirst) {
  const size_t first = Put("a", "1", 10);
  Execute();
  const size_t second = Put("a", "2", 11);
  Execute();
  // The undo copy comes first: nothing else would roll the second one back.
  EXPECT_EQ(Get("a"), "1");
  Propagate();
  Execute();
  EXPECT_EQ(Get("a"), "2");
  EXPECT_FALSE(Answered(first) || Answered(second));
  admission_->OnCompleted(2);
  EXPECT_TRUE(Answered(first));
  EXPECT_FALSE(Answered(second));
  Complete();
  EXPECT_TRUE(StatusOf(second).ok());
}

TEST_F(PipelinesTest, AnAnswerWaitsForTheMutationsThatItSaw) {
  EXPECT_TRUE(AnswersInTime(/*still_head=*/true));
}

TEST_F(PipelinesTest, AFormerHeadAnswersNothing) {
  EXPECT_TRUE(AnswersInTime(/*still_head=*/false));
}

TEST_F(PipelinesTest, AnEarlyAnswerIsDetected) {
  faults::Planted planted("head-tells-at-once-what-it-saw");
  EXPECT_FALSE(AnswersInTime(/*still_head=*/true));
}

TEST_F(PipelinesTest, AnAnswerOfAFormerHeadIsDetected) {
  faults::Planted planted("head-tells-what-it-saw-later");
  EXPECT_FALSE(AnswersInTime(/*still_head=*/false));
}

// The request met the damage by way of entries in flight.
TEST_F(PipelinesTest, DamageIsReportedOnceTheSeenMutationsComplete) {
  Put("a", "1", 10);
  Execute();
  Propagate();
  replica::state_format::StateRoot root;
  std::memcpy(&root, (*under_.heap().Payload(under_.heap().root())).data(),
              sizeof(root));
  const auto page = *under_.heap().Payload(root.objects_root);
  std::memset(const_cast<std::byte*>(page.data()), 0xff, page.size());
  const size_t met = Put("a", "2", 11);
  Execute();
  ASSERT_FALSE(admission_->damage().ok());
  admission_->AnswerDamage();
  EXPECT_FALSE(Answered(met));
  Complete();
  EXPECT_TRUE(absl::IsDataLoss(StatusOf(met))) << StatusOf(met);
}

// --- Entries that are too large.

class SmallEntriesTest : public AdmissionTest {
 protected:
  static replica::ChainOptions SmallEntries() {
    replica::ChainOptions options = CoreOptions();
    options.max_entry_bytes = 4096;
    return options;
  }
  SmallEntriesTest() : AdmissionTest({}, SmallEntries()) {}
};

TEST_F(SmallEntriesTest, RequestsThatFitAloneAreExecutedAlone) {
  std::vector<size_t> fit;
  for (uint64_t i = 0; i < 3; ++i) {
    fit.push_back(Put(absl::StrCat("k", i), std::string(1500, 'v'), 10 + i));
  }
  const size_t too_large = Put("large", std::string(5000, 'v'), 20);
  for (int i = 0; i < 5; ++i) {
    Execute();
    Complete();
  }
  EXPECT_THAT(BatchSizes(), ElementsAre(1, 1, 1));
  for (size_t each : fit) EXPECT_TRUE(StatusOf(each).ok()) << StatusOf(each);
  EXPECT_EQ(ReasonOf(StatusOf(too_large)), kamino::v1::REASON_TOO_LARGE);
}

// --- Requests that overwrite much, and carry little.

class UndoLogTest : public AdmissionTest {
 protected:
  // A transaction with two of these defers their stores to its commit.
  static constexpr size_t kMuch = engine::kTestUndoBytes * 5 / 8;

  UndoLogTest() : AdmissionTest({}, CoreOptions(), engine::Scheme::kLog) {
    procedures_.Register("test.fill", [](replica::ProcedureContext& context,
                                         absl::string_view keys) {
      for (const char key : keys) {
        absl::Status filled = context.Patch(absl::string_view(&key, 1), 0,
                                            std::string(kMuch, 'f'));
        if (!filled.ok()) return absl::StatusOr<std::string>(filled);
      }
      return absl::StatusOr<std::string>("");
    });
    // The keys and clients exist: only the overwritten bytes are declared,
    // which are saved at the commit.
    for (const auto& [key, client] : {std::pair("a", 11), {"b", 12}}) {
      Put(key, std::string(kMuch, '0'), client);
      Execute();
      Complete();
      Fill("", client, 2);
      Execute();
      Complete();
    }
  }

  size_t Fill(const std::string& keys, uint64_t client, uint64_t number) {
    return Submit("test.fill", keys, client, number);
  }

  void Run() {
    for (int i = 0; i < 5; ++i) {
      Execute();
      Complete();
    }
  }
};

TEST_F(UndoLogTest, RequestsThatFitAloneAreExecutedAlone) {
  const size_t a = Fill("a", 11, 3);
  const size_t b = Fill("b", 12, 3);
  Run();
  EXPECT_TRUE(StatusOf(a).ok()) << StatusOf(a);
  EXPECT_TRUE(StatusOf(b).ok()) << StatusOf(b);
  EXPECT_THAT(BatchSizes(), ElementsAre(1, 1, 1, 1, 1, 1));
}

TEST_F(UndoLogTest, ARequestThatNeverFitsIsTooLarge) {
  const size_t both = Fill("ab", 11, 3);
  Run();
  EXPECT_EQ(ReasonOf(StatusOf(both)), kamino::v1::REASON_TOO_LARGE)
      << StatusOf(both);
  EXPECT_EQ(Get("a"), std::string(kMuch, '0'));
}

class NarrowAdmissionTest : public AdmissionTest {
 protected:
  static AdmissionOptions Narrow() {
    AdmissionOptions options;
    options.max_in_flight = 2;
    options.max_batch = 1;
    return options;
  }
  NarrowAdmissionTest() : AdmissionTest(Narrow()) {}
};

TEST_F(NarrowAdmissionTest, KeepsTheInFlightLimit) {
  // The keys and clients exist, so that the three share no dependency.
  for (uint64_t i = 0; i < 3; ++i) {
    Put(absl::StrCat("k", i), "0", 10 + i);
    Execute();
    Complete();
  }
  for (uint64_t i = 0; i < 3; ++i) Put(absl::StrCat("k", i), "1", 10 + i, 2);
  Execute();
  EXPECT_EQ(admission_->stats().in_flight, 2u);
  EXPECT_EQ(admission_->stats().parked, 0u);
  EXPECT_FALSE(admission_->has_ready());
  EXPECT_EQ(Get("k2"), "0");
  Complete();
  EXPECT_TRUE(admission_->has_ready());
  Execute();
  EXPECT_EQ(Get("k2"), "1");
}

// Where nodes roll back locally, dependent requests go down the chain right
// behind the entry they depend on.
class PipelinedTest : public ::testing::Test, protected LoneHead {
 protected:
  PipelinedTest() : LoneHead(Pipelined()) {}

  static AdmissionOptions Pipelined() {
    AdmissionOptions options;
    options.pipelines = true;
    return options;
  }
  void Propagate() {
    while (admission_->PropagateToUndoCopy(10) > 0) {
    }
  }
};

TEST_F(PipelinedTest, ADependentRequestWaitsForTheUndoCopyAlone) {
  const size_t first = Put("a", "1", 10);
  Execute();
  const size_t second = Put("a", "2", 11);
  Execute();
  EXPECT_EQ(Get("a"), "1");
  Propagate();
  Execute();
  EXPECT_EQ(Get("a"), "2");
  EXPECT_FALSE(Answered(first));
  EXPECT_FALSE(Answered(second));
  admission_->OnCompleted(2);
  EXPECT_TRUE(Answered(first));
  EXPECT_FALSE(Answered(second));
  Complete();
  EXPECT_TRUE(StatusOf(second).ok());
}

// It fails as the object is gone, and that delete may still be lost.
TEST_F(PipelinedTest, ARefusalWaitsForTheMutationThatItSaw) {
  Put("a", "1", 10);
  Execute();
  Complete();
  const size_t gone = Delete("a", 11);
  Execute();
  Propagate();
  const size_t refused = Delete("a", 12);
  Execute();
  EXPECT_FALSE(Answered(refused));
  Complete();
  EXPECT_TRUE(StatusOf(gone).ok());
  EXPECT_EQ(ReasonOf(StatusOf(refused)), kamino::v1::REASON_KEY_NOT_FOUND);
  // Nothing is in flight.
  const size_t at_once = Delete("a", 13);
  Execute();
  EXPECT_EQ(ReasonOf(StatusOf(at_once)), kamino::v1::REASON_KEY_NOT_FOUND);
}

TEST_F(PipelinedTest, ARetryIsAnsweredOnceTheFirstCompletes) {
  const size_t first = Put("a", "1", 10);
  Execute();
  Propagate();
  const size_t again = Put("a", "1", 10);
  Execute();
  EXPECT_EQ(ring_->received(), 2u);
  EXPECT_FALSE(Answered(again));
  Complete();
  EXPECT_TRUE(StatusOf(first).ok());
  ASSERT_TRUE(StatusOf(again).ok());
  EXPECT_EQ(outcomes_[again]->sequence, 2u);
}

}  // namespace
}  // namespace kamino::head
