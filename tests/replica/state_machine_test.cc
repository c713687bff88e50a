#include "replica/state/state_machine.h"

#include "engine/heap/heap_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"
#include "replica/builtins.h"
#include "replica/errors.h"
#include "replica/log/log_entry.h"
#include "replica/state/heap_executor.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::replica {
namespace {

using engine::Scheme;
using engine::StoreUnderTest;
using kamino::v1::CommitRequest;
using kamino::v1::CommitResponse;
using ::testing::ElementsAre;

absl::StatusOr<std::string> Double(ProcedureContext& context,
                                   absl::string_view key) {
  auto object = context.Get(key);
  if (!object.ok()) return object.status();
  const std::string twice(std::string(object->value) +
                          std::string(object->value));
  absl::Status put = context.Put(key, twice);
  if (!put.ok()) return put;
  return twice;
}

using Knowledge = StateMachine::Knowledge;

class StateMachineTest : public ::testing::Test {
 protected:
  StateMachineTest()
      : under_(Scheme::kSimple), state_(Registry(), under_.heap().root()) {
    Mutation format;
    format.function = kFormatFunction;
    EXPECT_TRUE(Execute(format).ok());
  }

  static const ProcedureRegistry* Registry() {
    static const ProcedureRegistry* registry = [] {
      auto* made = new ProcedureRegistry;
      made->Register("test.double", Double);
      made->Register("test.large", [](ProcedureContext&, absl::string_view) {
        return absl::StatusOr<std::string>(
            std::string(kMaxResultBytes + 1, 'x'));
      });
      return made;
    }();
    return registry;
  }

  absl::StatusOr<StateMachine::Execution> Execute(const Mutation& request) {
    auto transaction = under_.Begin();
    auto done = state_.Execute(*transaction, request, ++sequence_);
    if (done.ok()) {
      EXPECT_TRUE(transaction->Commit().ok());
    } else {
      EXPECT_TRUE(transaction->Abort().ok());
    }
    under_.Propagate();
    return done;
  }

  absl::StatusOr<StateMachine::Execution> Run(const std::string& function,
                                              const std::string& arguments,
                                              uint64_t client = 1,
                                              uint64_t number = 0) {
    Mutation request;
    request.function = function;
    request.arguments = arguments;
    request.client_id = client;
    request.number = number == 0 ? ++number_ : number;
    return Execute(request);
  }

  absl::Status Put(const std::string& key, const std::string& value) {
    kamino::v1::PutRequest put;
    put.set_key(key);
    put.set_value(value);
    return Run(kPutFunction, put.SerializeAsString()).status();
  }

  absl::StatusOr<CommitResponse> Commit(const CommitRequest& request) {
    auto done = Run(kCommitFunction, request.SerializeAsString());
    if (!done.ok()) return done.status();
    CommitResponse response;
    EXPECT_TRUE(response.ParseFromString(done->result));
    return response;
  }

  std::string Get(const std::string& key) {
    engine::HeapReader reader(&under_.heap());
    auto entry = state_.Objects(reader)->Get(key);
    return entry.ok() ? std::string(entry->value) : "absent";
  }

  StoreUnderTest under_;
  StateMachine state_;
  uint64_t sequence_ = 0;
  uint64_t number_ = 0;
};

TEST_F(StateMachineTest, ExecutesBuiltIns) {
  ASSERT_TRUE(Put("a", "12345").ok());
  kamino::v1::PatchRequest patch;
  patch.set_key("a");
  patch.set_offset(1);
  patch.set_data("XX");
  ASSERT_TRUE(Run(kPatchFunction, patch.SerializeAsString()).ok());
  EXPECT_EQ(Get("a"), "1XX45");
  patch.set_offset(4);
  EXPECT_EQ(ReasonOf(Run(kPatchFunction, patch.SerializeAsString()).status()),
            kamino::v1::REASON_OUT_OF_RANGE);
  kamino::v1::DeleteRequest del;
  del.set_key("a");
  ASSERT_TRUE(Run(kDeleteFunction, del.SerializeAsString()).ok());
  EXPECT_EQ(Get("a"), "absent");
  EXPECT_EQ(ReasonOf(Run(kDeleteFunction, del.SerializeAsString()).status()),
            kamino::v1::REASON_KEY_NOT_FOUND);
  EXPECT_EQ(ReasonOf(Run(kPutFunction, "\xff\xff").status()),
            kamino::v1::REASON_INVALID_ARGUMENT);
}

TEST_F(StateMachineTest, CommitChecksEveryKindOfPrecondition) {
  ASSERT_TRUE(Put("a", "1").ok());
  const uint64_t version = sequence_;
  CommitRequest request;
  auto* condition = request.add_preconditions();
  condition->set_key("a");
  condition->set_exists(true);
  condition = request.add_preconditions();
  condition->set_key("b");
  condition->set_exists(false);
  condition = request.add_preconditions();
  condition->set_key("a");
  condition->set_version_equals(version);
  condition = request.add_preconditions();
  condition->set_key("a");
  condition->set_value_equals("1");
  condition = request.add_preconditions();
  condition->mutable_range_unchanged()->set_start_key("a");
  condition->mutable_range_unchanged()->set_sequence(version);
  auto* put = request.add_then_operations()->mutable_put();
  put->set_key("a");
  put->set_value("2");
  request.add_then_operations()->mutable_get()->set_key("a");
  auto* fallback = request.add_else_operations()->mutable_put();
  fallback->set_key("c");
  fallback->set_value("else");

  auto first = Commit(request);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(first->succeeded());
  EXPECT_EQ(first->results(1).value(), "2");  // sees what came before it

  auto second = Commit(request);
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(second->succeeded());
  EXPECT_THAT(second->failed_keys(), ElementsAre("a", "a", "a"));
  EXPECT_EQ(Get("c"), "else");

  request.clear_else_operations();
  request.set_fail_on_conflict(true);
  const absl::Status conflict = Commit(request).status();
  EXPECT_EQ(ReasonOf(conflict), kamino::v1::REASON_CONFLICT);
  EXPECT_THAT(DetailOf(conflict).keys(), ElementsAre("a", "a", "a"));
}

TEST_F(StateMachineTest, ACommitThatFailsInTheMiddleChangesNothing) {
  CommitRequest request;
  auto* put = request.add_then_operations()->mutable_put();
  put->set_key("a");
  put->set_value("1");
  request.add_then_operations()->mutable_delete_()->set_key("absent");
  EXPECT_EQ(ReasonOf(Commit(request).status()),
            kamino::v1::REASON_KEY_NOT_FOUND);
  EXPECT_EQ(Get("a"), "absent");
}

TEST_F(StateMachineTest, ARetryReturnsTheFirstOutcomeAndChangesNothing) {
  ASSERT_TRUE(Put("a", "x").ok());
  auto first = Run("test.double", "a", 77, 1);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(first->repeated);
  auto again = Run("test.double", "a", 77, 1);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->repeated);
  EXPECT_EQ(again->result, "xx");
  EXPECT_EQ(again->sequence, first->sequence);
  EXPECT_EQ(Get("a"), "xx");

  ASSERT_TRUE(Run("test.double", "a", 77, 2).ok());
  EXPECT_EQ(ReasonOf(Run("test.double", "a", 77, 1).status()),
            kamino::v1::REASON_SUPERSEDED);
  EXPECT_EQ(Get("a"), "xxxx");
}

// A number is free until a mutation with it commits, whatever it is.
TEST_F(StateMachineTest, AClientMayBeginAtAnyNumber) {
  ASSERT_TRUE(Put("a", "x").ok());
  ASSERT_TRUE(Run("test.double", "a", 78, 5).ok());
  EXPECT_EQ(ReasonOf(Run("test.double", "a", 78, 4).status()),
            kamino::v1::REASON_SUPERSEDED);
}

TEST_F(StateMachineTest, ASinceThatTheChainHasNotReachedIsRefused) {
  ASSERT_TRUE(Put("a", "x").ok());
  Mutation request;
  request.function = "test.double";
  request.arguments = "a";
  request.client_id = 5;
  request.number = 1;
  request.since = sequence_ + 1;  // what it is about to become
  EXPECT_EQ(ReasonOf(Execute(request).status()),
            kamino::v1::REASON_INVALID_ARGUMENT);
  request.since = sequence_;
  EXPECT_TRUE(Execute(request).ok());
}

TEST_F(StateMachineTest, AFailedRequestStoresNoOutcome) {
  EXPECT_FALSE(Run("test.double", "absent", 77, 1).ok());
  engine::HeapReader reader(&under_.heap());
  EXPECT_EQ(state_.FindOutcome(reader, 77, 0)->knowledge, Knowledge::kNone);
  EXPECT_EQ(ReasonOf(Run("test.none", "", 77, 1).status()),
            kamino::v1::REASON_UNKNOWN_PROCEDURE);
  EXPECT_EQ(ReasonOf(Run("test.large", "", 77, 1).status()),
            kamino::v1::REASON_TOO_LARGE);
}

TEST_F(StateMachineTest, ExpiredClientsAreDropped) {
  ASSERT_TRUE(Put("a", "x").ok());
  ASSERT_TRUE(Run("test.double", "a", 5, 1).ok());
  Mutation request;
  request.function = "test.double";
  request.arguments = "a";
  request.client_id = 6;
  request.number = 1;
  request.dropped_clients = {5, 999};  // the other is gone already
  ASSERT_TRUE(Execute(request).ok());
  engine::HeapReader reader(&under_.heap());
  EXPECT_EQ(state_.FindOutcome(reader, 5, 0)->knowledge, Knowledge::kDropped);
  EXPECT_EQ(state_.FindOutcome(reader, 6, 0)->knowledge, Knowledge::kStored);
}

// A mutation that may have been executed before its outcome was dropped is
// neither executed again nor reported as not executed; all others are as
// before.
TEST_F(StateMachineTest, AnOutcomeThatMayBeDroppedIsUnknown) {
  ASSERT_TRUE(Put("a", "x").ok());
  const uint64_t before = sequence_;
  ASSERT_TRUE(Run("test.double", "a", 5, 1).ok());
  const uint64_t dropped = sequence_;
  ASSERT_TRUE(Run("test.double", "a", 6, 1).ok());
  engine::HeapReader reader(&under_.heap());
  EXPECT_EQ(*state_.EvictionHorizon(reader), 0u);
  EXPECT_EQ(state_.FindOutcome(reader, 9, 0)->knowledge, Knowledge::kNone);
  Mutation request;
  request.function = "test.double";
  request.arguments = "a";
  request.client_id = 7;
  request.number = 1;
  request.dropped_clients = {5};
  ASSERT_TRUE(Execute(request).ok());
  EXPECT_EQ(*state_.EvictionHorizon(reader), dropped);

  request.dropped_clients.clear();
  for (const uint64_t client : {5, 9}) {  // the other was never there
    for (const uint64_t number : {1, 2}) {
      for (const uint64_t since : {uint64_t{0}, before, dropped - 1}) {
        EXPECT_EQ(state_.FindOutcome(reader, client, since)->knowledge,
                  Knowledge::kDropped);
        request.client_id = client;
        request.number = number;
        request.since = since;
        EXPECT_EQ(ReasonOf(Execute(request).status()),
                  kamino::v1::REASON_CLIENT_EXPIRED);
      }
    }
    EXPECT_EQ(state_.FindOutcome(reader, client, dropped)->knowledge,
              Knowledge::kNone);
  }
  EXPECT_EQ(Get("a"), "xxxxxxxx");
  // `since` says nothing about a client with a record.
  EXPECT_EQ(state_.FindOutcome(reader, 6, 0)->knowledge, Knowledge::kStored);
  request.client_id = 6;
  request.number = 2;
  request.since = 0;
  EXPECT_TRUE(Execute(request).ok());
  request.client_id = 9;
  request.number = 3;
  request.since = dropped;
  EXPECT_TRUE(Execute(request).ok());
}

std::string EntryOf(uint64_t sequence, const Mutation& mutation,
                    const engine::WriteSet& write_set) {
  const std::vector<const Mutation*> mutations = {&mutation};
  LogEntryDraft draft;
  draft.first = sequence;
  draft.mutations = mutations;
  draft.write_set = &write_set;
  return draft.ToString();
}

// Neither by a head nor by a replica.
TEST_F(StateMachineTest, AStateIsFormattedOnce) {
  ASSERT_TRUE(Put("a", "1").ok());
  Mutation format;
  format.function = kFormatFunction;
  EXPECT_TRUE(absl::IsDataLoss(Execute(format).status()));
  EXPECT_EQ(Get("a"), "1");
}

// A replica's execution of a head's mutations leads to the same state.
TEST_F(StateMachineTest, AReplicaReachesTheSameState) {
  StoreUnderTest replica(Scheme::kSimple);
  StateMachine replica_state(Registry(), replica.heap().root());
  HeapExecutor executor(&replica.heap(), &replica_state);
  StoreUnderTest head(Scheme::kSimple);
  StateMachine head_state(Registry(), head.heap().root());
  std::string entry;  // the last one
  const auto both = [&](uint64_t sequence, const Mutation& request) {
    auto transaction = head.Begin();
    auto done = head_state.Execute(*transaction, request, sequence);
    ASSERT_TRUE(done.ok()) << done.status();
    entry = EntryOf(sequence, request, transaction->write_set());
    ASSERT_TRUE(transaction->Commit().ok());
    head.Propagate();
    const auto executed = executor.Execute(*LogEntry::Check(entry));
    ASSERT_TRUE(executed.ok()) << executed.status();
  };
  Mutation request;
  request.function = kFormatFunction;
  both(1, request);
  for (uint64_t i = 2; i < 300; ++i) {
    kamino::v1::PutRequest put;
    put.set_key(absl::StrCat("key", i % 37));
    put.set_value(std::string(i * 7 % 900, 'x'));
    request.function = kPutFunction;
    request.arguments = put.SerializeAsString();
    request.client_id = 1 + i % 3;
    request.number = i;
    if (i < 5) request.number = 1;
    both(i, request);
  }
  // The replica's program is an older release: that is not a divergence.
  Mutation newer = request;
  newer.function = "newer";
  newer.number = 300;
  const absl::Status lacks =
      executor.Execute(*LogEntry::Check(EntryOf(300, newer, {}))).status();
  EXPECT_EQ(ReasonOf(lacks), kamino::v1::REASON_UNKNOWN_PROCEDURE) << lacks;
  EXPECT_EQ(head.heap().stats().bytes_used, replica.heap().stats().bytes_used);
  engine::HeapReader one(&head.heap());
  engine::HeapReader two(&replica.heap());
  std::string all[2];
  engine::HeapReader* readers[2] = {&one, &two};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(head_state.Objects(*readers[i])
                    ->Scan("", "", 0,
                           [&](absl::string_view key, const auto& entry) {
                             absl::StrAppend(&all[i], key, "=", entry.value,
                                             "@", entry.version, ";");
                             return true;
                           })
                    .ok());
  }
  EXPECT_EQ(all[0], all[1]);
  // Not the objects that the head's execution touched.
  ++request.number;
  entry = EntryOf(300, request, {});
  EXPECT_TRUE(
      absl::IsDataLoss(executor.Execute(*LogEntry::Check(entry)).status()));
}

}  // namespace
}  // namespace kamino::replica
