// Steps of a restore on the chain's state: what they accept, what they refuse,
// and what clients find meanwhile and afterwards.
#include "replica/state/restore.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/heap/heap_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kamino/internal/v1/operation.pb.h"
#include "kamino/v1/kamino.pb.h"
#include "proto/backup_records.h"
#include "replica/builtins.h"
#include "replica/errors.h"
#include "replica/state/heap_executor.h"
#include "replica/state/state_machine.h"
#include "tests/engine/kamino/fixture.h"
#include "tests/faults/planted.h"

namespace kamino::replica {
namespace {

using engine::Scheme;
using engine::StoreUnderTest;
using kamino::internal::v1::BeginRestore;
using kamino::internal::v1::FinishRestore;
using kamino::internal::v1::GiveUpRestore;
using kamino::internal::v1::RestoreObjects;

constexpr uint64_t kBase = uint64_t{1} << 50;
const std::string* const kId = new std::string("0123456789abcdef");
const std::string* const kOther = new std::string("fedcba9876543210");

class RestoreTest : public ::testing::Test {
 protected:
  RestoreTest()
      : under_(Scheme::kSimple), state_(&registry_, under_.heap().root()) {
    EXPECT_TRUE(Run(kFormatFunction, "").ok());
  }

  absl::StatusOr<StateMachine::Execution> Execute(const Mutation& request) {
    auto transaction = under_.Begin();
    auto done = state_.Execute(*transaction, request, ++sequence_);
    if (done.ok()) {
      EXPECT_TRUE(transaction->Commit().ok());
    } else {
      EXPECT_TRUE(transaction->Abort().ok());
    }
    state_.Ended(done.ok());
    under_.Propagate();
    return done;
  }

  // Without a client.
  absl::StatusOr<StateMachine::Execution> Run(const std::string& function,
                                              const std::string& arguments) {
    Mutation request;
    request.function = function;
    request.arguments = arguments;
    return Execute(request);
  }

  absl::StatusOr<StateMachine::Execution> Begin(const std::string& id = *kId,
                                                uint64_t base = kBase) {
    BeginRestore begin;
    begin.set_backup_id(id);
    begin.set_base(base);
    auto done = Run(kBeginRestoreFunction, begin.SerializeAsString());
    if (done.ok() && !done->repeated) sequence_ = base;  // the head skips
    return done;
  }

  absl::StatusOr<StateMachine::Execution> Bring(
      const std::vector<BackupRecord>& records, const std::string& id = *kId) {
    RestoreObjects objects;
    objects.set_backup_id(id);
    for (const BackupRecord& record : records) {
      AppendBackupRecord(record, objects.mutable_records());
    }
    return Run(kRestoreFunction, objects.SerializeAsString());
  }

  absl::StatusOr<StateMachine::Execution> Finish(const std::string& id = *kId) {
    FinishRestore finish;
    finish.set_backup_id(id);
    return Run(kFinishRestoreFunction, finish.SerializeAsString());
  }

  absl::StatusOr<StateMachine::Execution> GiveUp() {
    GiveUpRestore give_up;
    give_up.set_most(2);
    return Run(kGiveUpRestoreFunction, give_up.SerializeAsString());
  }

  absl::Status Put(const std::string& key, uint64_t since = kBase) {
    kamino::v1::PutRequest put;
    put.set_key(key);
    put.set_value("new");
    Mutation request;
    request.function = kPutFunction;
    request.arguments = put.SerializeAsString();
    request.client_id = 7;
    request.number = ++number_;
    request.since = since;
    return Execute(request).status();
  }

  // Keys and versions, "a@3 b@5".
  std::string Objects() {
    engine::HeapReader reader(&under_.heap());
    std::string all;
    auto objects = state_.Objects(reader, nullptr, /*while_restoring=*/true);
    EXPECT_TRUE(objects.ok()) << objects.status();
    EXPECT_TRUE(objects
                    ->Scan("", "", 0,
                           [&all](absl::string_view key, const auto& entry) {
                             absl::StrAppend(&all, all.empty() ? "" : " ", key,
                                             "@", entry.version);
                             return true;
                           })
                    .ok());
    return all;
  }

  kamino::v1::Reason ReadReason() {
    engine::HeapReader reader(&under_.heap());
    return ReasonOf(state_.Objects(reader).status());
  }

  ProcedureRegistry registry_;
  StoreUnderTest under_;
  StateMachine state_;
  uint64_t sequence_ = 0;
  uint64_t number_ = 0;
};

TEST_F(RestoreTest, RestoresObjectsWithTheirVersions) {
  ASSERT_TRUE(Begin().ok());
  ASSERT_TRUE(Bring({{"a", "1", 3}, {"b", "2", 5}}).ok());
  ASSERT_TRUE(Bring({{"c", "", 4}}).ok());
  ASSERT_TRUE(Finish().ok());
  EXPECT_EQ(Objects(), "a@3 b@5 c@4");
  ASSERT_TRUE(Put("d").ok());
  EXPECT_EQ(Objects(), absl::StrCat("a@3 b@5 c@4 d@", sequence_));
  EXPECT_GT(sequence_, kBase);
}

TEST_F(RestoreTest, ClientsCannotReadOrWriteMeanwhile) {
  ASSERT_TRUE(Begin().ok());
  ASSERT_TRUE(Bring({{"a", "1", 3}}).ok());
  EXPECT_EQ(ReadReason(), kamino::v1::REASON_RESTORING);
  EXPECT_EQ(ReasonOf(Put("x")), kamino::v1::REASON_RESTORING);
  Mutation in_session;
  in_session.function = kPutFunction;
  in_session.client_id = 5;
  in_session.number = 1;
  in_session.in_session = true;
  EXPECT_EQ(ReasonOf(Execute(in_session).status()),
            kamino::v1::REASON_RESTORING);
  ASSERT_TRUE(Finish().ok());
  EXPECT_EQ(ReadReason(), kamino::v1::REASON_UNSPECIFIED);
  EXPECT_TRUE(Put("x").ok());
}

TEST_F(RestoreTest, RestoresOnlyIntoAnEmptyChain) {
  ASSERT_TRUE(Put("a", /*since=*/0).ok());
  EXPECT_EQ(ReasonOf(Begin().status()), kamino::v1::REASON_NOT_EMPTY);
  EXPECT_EQ(ReadReason(), kamino::v1::REASON_UNSPECIFIED);
  EXPECT_EQ(ReasonOf(Bring({{"b", "1", 1}}).status()),
            kamino::v1::REASON_NOT_EMPTY);
  EXPECT_EQ(ReasonOf(Finish().status()), kamino::v1::REASON_NOT_EMPTY);
  const auto given_up = GiveUp();  // nothing was begun, so it is done
  ASSERT_TRUE(given_up.ok()) << given_up.status();
  EXPECT_TRUE(given_up->repeated);
  EXPECT_EQ(Objects(), "a@2");
  faults::Planted fault("restore-mixes-into-what-is-there");
  EXPECT_TRUE(Begin().ok());
}

TEST_F(RestoreTest, StepsMayBeRepeated) {
  ASSERT_TRUE(Begin().ok());
  const uint64_t begun = sequence_;
  auto again = Begin(*kId, kBase + 100);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->repeated);
  EXPECT_EQ(sequence_, begun + 1);
  ASSERT_TRUE(Bring({{"a", "1", 3}}).ok());
  again = Bring({{"a", "1", 3}});
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->repeated);
  again = Bring({{"a", "1", 3}, {"b", "2", 4}});
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->repeated);
  ASSERT_TRUE(Finish().ok());
  again = Finish();
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->repeated);
  // A late step has no effect any more.
  EXPECT_FALSE(Bring({{"a", "1", 3}}).ok());
  EXPECT_FALSE(Begin().ok());
}

TEST_F(RestoreTest, BackupsAreNotMixed) {
  ASSERT_TRUE(Begin().ok());
  ASSERT_TRUE(Bring({{"a", "1", 3}}).ok());
  EXPECT_EQ(ReasonOf(Begin(*kOther).status()), kamino::v1::REASON_RESTORING);
  EXPECT_EQ(ReasonOf(Bring({{"b", "1", 3}}, *kOther).status()),
            kamino::v1::REASON_RESTORING);
  EXPECT_EQ(ReasonOf(Finish(*kOther).status()), kamino::v1::REASON_RESTORING);
  EXPECT_EQ(Objects(), "a@3");
  faults::Planted fault("restore-mixes-backups");
  EXPECT_TRUE(Bring({{"b", "1", 3}}, *kOther).ok());
}

TEST_F(RestoreTest, IsGivenUpInSteps) {
  ASSERT_TRUE(Begin().ok());
  ASSERT_TRUE(
      Bring({{"a", "", 1}, {"b", "", 2}, {"c", "", 3}, {"d", "", 4}}).ok());
  auto step = GiveUp();
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->result, "more");
  EXPECT_EQ(Objects(), "c@3 d@4");
  EXPECT_EQ(ReadReason(), kamino::v1::REASON_RESTORING);
  step = GiveUp();
  ASSERT_TRUE(step.ok());
  EXPECT_EQ(step->result, "");
  EXPECT_EQ(Objects(), "");
  EXPECT_TRUE(Put("x").ok());
  // Its answer may have been lost; objects written meanwhile stay.
  step = GiveUp();
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_TRUE(step->repeated);
  EXPECT_EQ(step->result, "");
  EXPECT_EQ(Objects().substr(0, 2), "x@");
}

TEST_F(RestoreTest, AFinishedRestoreIsNotGivenUp) {
  ASSERT_TRUE(Begin().ok());
  ASSERT_TRUE(Bring({{"a", "1", 3}}).ok());
  ASSERT_TRUE(Finish().ok());
  EXPECT_EQ(ReasonOf(GiveUp().status()), kamino::v1::REASON_NOT_EMPTY);
  EXPECT_EQ(Objects(), "a@3");
}

TEST_F(RestoreTest, NumbersOfTheOtherChainDoNotCount) {
  // Earlier numbers are below the base, whatever they were.
  ASSERT_TRUE(Begin().ok());
  ASSERT_TRUE(Bring({{"a", "1", 3}}).ok());
  ASSERT_TRUE(Finish().ok());
  engine::HeapReader reader(&under_.heap());
  EXPECT_EQ(state_.FindOutcome(reader, 99, kBase - 1)->knowledge,
            StateMachine::Knowledge::kDropped);
  EXPECT_EQ(state_.FindOutcome(reader, 99, kBase)->knowledge,
            StateMachine::Knowledge::kNone);
  EXPECT_EQ(ReasonOf(Put("x", /*since=*/5)), kamino::v1::REASON_CLIENT_EXPIRED);
  const auto unchanged = [&](uint64_t since) {
    return *state_.Objects(reader)->RangeUnchangedSince("", "", since);
  };
  EXPECT_FALSE(unchanged(10));
  EXPECT_FALSE(unchanged(kBase - 1));
  EXPECT_TRUE(unchanged(kBase));
}

TEST_F(RestoreTest, RememberedOldOutcomesAreDetected) {
  faults::Planted fault("restore-knows-of-old-outcomes");
  ASSERT_TRUE(Begin().ok());
  ASSERT_TRUE(Finish().ok());
  engine::HeapReader reader(&under_.heap());
  EXPECT_NE(state_.FindOutcome(reader, 99, kBase - 1)->knowledge,
            StateMachine::Knowledge::kDropped);
}

TEST_F(RestoreTest, RefusesInvalidSteps) {
  EXPECT_EQ(ReasonOf(Begin("short").status()),
            kamino::v1::REASON_INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(Begin(*kId, /*base=*/1).status()),
            kamino::v1::REASON_INVALID_ARGUMENT);
  EXPECT_FALSE(Run(kBeginRestoreFunction, "\xff\xff").ok());
  ASSERT_TRUE(Begin().ok());
  for (const BackupRecord& record :
       std::vector<BackupRecord>{{"a", "1", 0}, {"a", "1", kBase + 1000}}) {
    EXPECT_EQ(ReasonOf(Bring({record}).status()),
              kamino::v1::REASON_INVALID_ARGUMENT);
  }
  RestoreObjects cut;
  cut.set_backup_id(*kId);
  AppendBackupRecord({"a", "value", 3}, cut.mutable_records());
  cut.mutable_records()->pop_back();
  EXPECT_EQ(ReasonOf(Run(kRestoreFunction, cut.SerializeAsString()).status()),
            kamino::v1::REASON_INVALID_ARGUMENT);
  EXPECT_EQ(Objects(), "");
}

// An entry that skips numbers ends after them, here and when it is read again.
TEST(SkippingEntryTest, EndsAfterTheSkippedNumbers) {
  Mutation begin;
  begin.function = kBeginRestoreFunction;
  const std::vector<const Mutation*> mutations = {&begin};
  const engine::WriteSet none;
  LogEntryDraft draft;
  draft.first = 5;
  draft.skipped = kBase - 5;
  draft.mutations = mutations;
  draft.write_set = &none;
  EXPECT_EQ(draft.last(), kBase);
  const std::string bytes = draft.ToString();
  const auto entry = LogEntry::Check(bytes);
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(entry->last(), kBase);
  EXPECT_EQ(entry->count(), 1u);
  const LogEntry known = LogEntry::Checked(bytes, 5, kBase);
  EXPECT_EQ(known.last(), kBase);
  EXPECT_EQ(known.Mutations()->size(), 1u);
  draft.skipped = ~uint64_t{0} - 5;
  EXPECT_FALSE(LogEntry::Check(draft.ToString()).ok());
}

}  // namespace
}  // namespace kamino::replica
