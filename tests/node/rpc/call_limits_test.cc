// Limits of one call: on a node's core thread and on its memory. Each test runs
// with the limit in force, and with the planted fault that ignores it, which
// the same check must notice.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"
#include "node/driver/call_load.h"
#include "replica/builtins.h"
#include "replica/errors.h"
#include "replica/log/log_entry.h"
#include "tests/faults/planted.h"
#include "tests/head/admission_fixture.h"

namespace kamino::node {
namespace {

using kamino::v1::CommitRequest;
using replica::ReasonOf;

constexpr uint64_t kMaxTouched = 1500;
constexpr int kObjects = 100;
constexpr size_t kMaxResults = 32u << 10;
constexpr size_t kResult = 1u << 10;

head::AdmissionOptions Limited() {
  head::AdmissionOptions options;
  options.max_touched = kMaxTouched;
  options.max_result_bytes = kMaxResults;
  return options;
}

// A head with objects to touch.
class Head : public head::LoneHead {
 public:
  Head() : head::LoneHead(Limited()) {
    procedures_.Register("test.swallow", [](replica::ProcedureContext& context,
                                            absl::string_view) {
      for (uint64_t i = 0; i < kMaxTouched; ++i) (void)context.Get("k1000");
      return absl::StatusOr<std::string>("done");
    });
    procedures_.Register(
        "test.touch",
        [this](replica::ProcedureContext& context, absl::string_view key) {
          ++touches_;
          absl::Status put = context.Put(key, "touched");
          for (int i = 0; put.ok() && i < to_touch_; ++i) {
            put = context.Get("k1000").status();
          }
          return put.ok() ? absl::StatusOr<std::string>("") : put;
        });
    procedures_.Register(
        "test.result", [](replica::ProcedureContext&, absl::string_view) {
          return absl::StatusOr<std::string>(std::string(kResult, 'r'));
        });
    CommitRequest fill;
    for (int i = 0; i < kObjects; ++i) {
      auto* put = fill.add_then_operations()->mutable_put();
      put->set_key(absl::StrCat("k", 1000 + i));
      put->set_value("v");
    }
    EXPECT_TRUE(Run(fill).ok());
  }

  // By a client of its own.
  size_t Submit(const std::string& function, const std::string& arguments,
                std::function<bool()> abandoned = nullptr) {
    return head::LoneHead::Submit(function, arguments, ++client_, /*number=*/1,
                                  absl::InfiniteFuture(), std::move(abandoned));
  }
  absl::Status Run(const CommitRequest& commit) {
    const size_t index =
        Submit(replica::kCommitFunction, commit.SerializeAsString());
    Execute();
    Complete();
    return StatusOf(index);
  }
  void Tick() { admission_->OnTick(now_); }

  uint64_t received() const { return ring_->received(); }
  bool has_ready() const { return admission_->has_ready(); }
  void set_room_for_answer(absl::Status status) {
    room_for_answer_ = [status = std::move(status)] { return status; };
  }
  int touches() const { return touches_; }
  void set_to_touch(int objects) { to_touch_ = objects; }

 private:
  uint64_t client_ = 100;
  int touches_ = 0;
  int to_touch_ = 0;
};

// Each takes a page and a record.
CommitRequest Conditions(int count) {
  CommitRequest commit;
  for (int i = 0; i < count; ++i) {
    auto* condition = commit.add_preconditions();
    condition->set_key("k1000");
    condition->set_exists(true);
  }
  auto* put = commit.add_then_operations()->mutable_put();
  put->set_key("x");
  put->set_value("y");
  return commit;
}

// --- Objects touched.

// The error of a commit with a thousand conditions; empty: none.
std::string TryAThousandConditions() {
  Head head;
  const uint64_t before = head.received();
  const absl::Status status = head.Run(Conditions(1000));
  if (ReasonOf(status) != kamino::v1::REASON_TOO_LARGE) {
    return absl::StrCat("not refused: ", status.ToString());
  }
  if (head.received() != before) return "it entered the chain";
  if (head.Get("x") != "absent") return "it changed something";
  return "";
}

TEST(CallLimitsTest, ACommitThatTouchesTooMuchIsRefused) {
  EXPECT_EQ(TryAThousandConditions(), "");
  faults::Planted fault("request-budget-ignored");
  EXPECT_NE(TryAThousandConditions(), "");
}

TEST(CallLimitsTest, TheErrorSaysWhereAndHowMuch) {
  Head head;
  const absl::Status status = head.Run(Conditions(1000));
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  for (const char* part :
       {"at precondition ", " of 1000", "more than 1500", "split it"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status;
  }
}

TEST(CallLimitsTest, ACommitThatTouchesLessPasses) {
  Head head;
  EXPECT_TRUE(head.Run(Conditions(kMaxTouched / 4)).ok());
  EXPECT_EQ(head.Get("x"), "y");
}

TEST(CallLimitsTest, AProcedureCannotSwallowTheLimit) {
  Head head;
  const size_t call = head.Submit("test.swallow", "");
  head.Execute();
  head.Complete();
  EXPECT_EQ(ReasonOf(head.StatusOf(call)), kamino::v1::REASON_TOO_LARGE);
}

TEST(CallLimitsTest, WritesOfACallThatTouchesTooMuchAreRolledBack) {
  Head head;
  head.set_to_touch(kMaxTouched);
  const size_t call = head.Submit("test.touch", "k1001");
  head.Execute();
  head.Complete();
  EXPECT_EQ(ReasonOf(head.StatusOf(call)), kamino::v1::REASON_TOO_LARGE);
  EXPECT_EQ(head.Get("k1001"), "v");
}

TEST(CallLimitsTest, AReplicaDoesNotApplyTheLimit) {
  // Another release of the head may have let more pass.
  engine::StoreUnderTest under(engine::Scheme::kSimpleLater);
  replica::ProcedureRegistry procedures;
  procedures.Register(
      "test.much", [](replica::ProcedureContext& context, absl::string_view) {
        for (uint64_t i = 0; i <= replica::kMaxTouchedObjects; ++i) {
          auto found = context.Get("none");
          if (ReasonOf(found.status()) != kamino::v1::REASON_KEY_NOT_FOUND) {
            return absl::StatusOr<std::string>(found.status());
          }
        }
        return absl::StatusOr<std::string>("");
      });
  replica::StateMachine state(&procedures, under.heap().root());
  auto transaction = under.Begin();
  replica::Mutation format;
  format.function = replica::kFormatFunction;
  replica::Mutation much;
  much.function = "test.much";
  much.client_id = 1;
  much.number = 1;
  const std::vector<const replica::Mutation*> mutations = {&format, &much};
  const engine::WriteSet none;
  replica::LogEntryDraft draft;
  draft.first = 1;
  draft.mutations = mutations;
  draft.write_set = &none;
  const std::string entry = draft.ToString();
  EXPECT_TRUE(
      state.Replay(*transaction, *replica::LogEntry::Check(entry)).ok());
  EXPECT_TRUE(transaction->Commit().ok());
}

TEST(CallLimitsTest, ResultsAreBoundedBeforeTheyAreCopied) {
  Head head;
  CommitRequest commit;
  auto* put = commit.add_then_operations()->mutable_put();
  put->set_key("large");
  put->set_value(std::string(100 << 10, 'x'));
  ASSERT_TRUE(head.Run(commit).ok());
  commit.Clear();
  for (int i = 0; i < 1000; ++i) {
    commit.add_then_operations()->mutable_get()->set_key("large");
  }
  const absl::Status status = head.Run(commit);
  EXPECT_EQ(ReasonOf(status), kamino::v1::REASON_TOO_LARGE);
  EXPECT_NE(status.message().find("at operation 1 of 1000"), std::string::npos)
      << status;
}

TEST(CallLimitsTest, ATurnEndsAtTheSameLimit) {
  Head head;
  head.set_to_touch(kMaxTouched / 4);
  std::vector<size_t> calls;
  for (int i = 0; i < 40; ++i) {
    calls.push_back(head.Submit("test.touch", absl::StrCat("k", 1010 + i)));
  }
  head.Execute();
  EXPECT_GE(head.touches(), 1);
  EXPECT_LE(head.touches(), 4);
  for (int turns = 0; turns < 1000 && head.has_ready(); ++turns) {
    const int before = head.touches();
    head.Execute();
    EXPECT_LE(head.touches() - before, 4);
    head.Complete();
  }
  for (size_t call : calls) {
    EXPECT_TRUE(head.StatusOf(call).ok()) << head.StatusOf(call);
  }
}

// --- Requests that were given up.

std::string TryGivenUp() {
  Head head;
  kamino::v1::PutRequest put;
  put.set_key("x");
  put.set_value("y");
  const size_t call = head.Submit(replica::kPutFunction,
                                  put.SerializeAsString(), [] { return true; });
  head.Execute();
  head.Complete();
  if (head.Get("x") != "absent") return "it was executed";
  if (!absl::IsCancelled(head.StatusOf(call))) {
    return absl::StrCat("answered ", head.StatusOf(call).ToString());
  }
  return "";
}

TEST(CallLimitsTest, AnAbandonedRequestIsNotBegun) {
  EXPECT_EQ(TryGivenUp(), "");
  faults::Planted fault("head-executes-what-was-given-up");
  EXPECT_NE(TryGivenUp(), "");
}

TEST(CallLimitsTest, AnAbandonedParkedRequestEndsWithATick) {
  Head head;
  const size_t first = head.Submit("test.touch", "k1001");
  head.Execute();
  bool given_up = false;
  const size_t second =
      head.Submit("test.touch", "k1001", [&given_up] { return given_up; });
  head.Execute();
  head.Tick();
  EXPECT_FALSE(head.Answered(second));
  const uint64_t received = head.received();
  given_up = true;
  head.Tick();
  EXPECT_TRUE(absl::IsCancelled(head.StatusOf(second)));
  head.Complete();
  head.Execute();
  EXPECT_TRUE(head.StatusOf(first).ok());
  EXPECT_EQ(head.received(), received);
}

TEST(CallLimitsTest, AnExecutedRequestStandsOnceAbandoned) {
  Head head;
  bool given_up = false;
  const size_t call =
      head.Submit("test.touch", "k1001", [&given_up] { return given_up; });
  head.Execute();
  given_up = true;
  head.Tick();
  head.Complete();
  EXPECT_TRUE(head.StatusOf(call).ok());
  EXPECT_EQ(head.Get("k1001"), "touched");
}

// --- Memory that results take.

// Bytes of results that are kept while the tail completes nothing. All are
// answered in the end.
uint64_t ResultsKept() {
  constexpr int kCalls = 200;
  Head head;
  uint64_t kept = 0;
  // The second time each outcome takes the place of the first: none of the
  // calls waits for another one.
  for (uint64_t number : {1, 2}) {
    std::vector<size_t> calls;
    for (uint64_t client = 1; client <= kCalls; ++client) {
      calls.push_back(
          head.LoneHead::Submit("test.result", "", 1000 + client, number));
    }
    const uint64_t before = head.received();
    for (int turn = 0; turn < 100 && head.has_ready(); ++turn) head.Execute();
    kept = (head.received() - before) * kResult;
    for (int turn = 0; turn < 1000 && !head.Answered(calls.back()); ++turn) {
      head.Complete();
      head.Execute();
    }
    for (size_t call : calls) {
      EXPECT_TRUE(head.StatusOf(call).ok()) << head.StatusOf(call);
    }
  }
  return kept;
}

TEST(CallLimitsTest, ResultsThatWaitForTheTailAreBounded) {
  // One operation more: 64 requests.
  const uint64_t bound = kMaxResults + 64 * kResult;
  EXPECT_LE(ResultsKept(), bound);
  faults::Planted fault("head-keeps-results-without-bound");
  EXPECT_GT(ResultsKept(), bound);
}

std::string TryWithoutRoomForTheAnswer() {
  Head head;
  const uint64_t received = head.received();
  head.set_room_for_answer(
      replica::MakeError(kamino::v1::REASON_OVERLOADED, "no room"));
  const size_t call = head.Submit("test.result", "");
  head.Execute();
  head.Complete();
  if (head.received() != received) return "it was executed";
  const absl::Status status = head.StatusOf(call);
  return ReasonOf(status) == kamino::v1::REASON_OVERLOADED ? ""
                                                           : status.ToString();
}

// However many came while there was room.
TEST(CallLimitsTest, ARequestWithoutRoomForItsAnswerIsNotBegun) {
  EXPECT_EQ(TryWithoutRoomForTheAnswer(), "");
  faults::Planted fault("head-executes-without-room-for-the-answer");
  EXPECT_NE(TryWithoutRoomForTheAnswer(), "");
}

// --- Memory that reads take.

constexpr absl::Time kNow = absl::UnixEpoch();
constexpr char kPeer[] = "ipv4:192.0.2.1:1";
const absl::Time kLater = absl::UnixEpoch() + absl::Seconds(1);

// The most that unsent answers of 3 MiB take together.
int64_t MostUnsent() {
  CallLoad load{CallLoadOptions()};
  for (int i = 0; i < 300; ++i) {
    if (load.Begin(absl::StrCat("client ", i), false, kLater, kNow).ok()) {
      load.AddAnswer(absl::StrCat("client ", i), 3 << 20, kNow, nullptr);
    }
  }
  return load.stats().unsent_bytes;
}

TEST(CallLimitsTest, UntakenAnswersAreBounded) {
  const int64_t bound = (64 << 20) + (3 << 20);
  EXPECT_LE(MostUnsent(), bound);
  faults::Planted fault("reads-answers-without-bound");
  EXPECT_GT(MostUnsent(), bound);
}

TEST(CallLimitsTest, ASentAnswerMakesRoom) {
  CallLoadOptions options;
  options.max_unsent_bytes = 10;
  CallLoad load(options);
  ASSERT_TRUE(load.Begin(kPeer, false, kLater, kNow).ok());
  const uint64_t answer = load.AddAnswer(kPeer, 10, kNow, nullptr);
  EXPECT_EQ(ReasonOf(load.Begin(kPeer, false, kLater, kNow)),
            kamino::v1::REASON_OVERLOADED);
  EXPECT_EQ(load.stats().shed, 1u);
  load.RemoveAnswer(answer);
  EXPECT_TRUE(load.Begin(kPeer, false, kLater, kNow).ok());
}

TEST(CallLimitsTest, AnEmptyAnswerMayLeaveLast) {
  CallLoad load{CallLoadOptions()};
  const uint64_t empty = load.AddAnswer(kPeer, 0, kNow, nullptr);
  const uint64_t answer = load.AddAnswer(kPeer, 10, kNow, nullptr);
  load.RemoveAnswer(answer);
  load.RemoveAnswer(empty);
  EXPECT_EQ(load.stats().unsent_bytes, 0);
}

// Whether others are served while one connection takes nothing of its answers.
std::string TryBesideOneThatTakesNothing() {
  CallLoad load{CallLoadOptions()};
  absl::Status refused;
  while (refused.ok()) {
    refused = load.Begin(kPeer, false, kLater, kNow);
    if (refused.ok()) load.AddAnswer(kPeer, 1 << 20, kNow, nullptr);
  }
  if (ReasonOf(refused) != kamino::v1::REASON_OVERLOADED) {
    return refused.ToString();
  }
  const absl::Status other = load.Begin("another", false, kLater, kNow);
  return other.ok() ? "" : absl::StrCat("the other: ", other.ToString());
}

TEST(CallLimitsTest, OneConnectionLeavesRoomToOthers) {
  EXPECT_EQ(TryBesideOneThatTakesNothing(), "");
  faults::Planted fault("one-connection-may-take-all-the-room");
  EXPECT_NE(TryBesideOneThatTakesNothing(), "");
}

TEST(CallLimitsTest, OneConnectionHasRoomAgainOnceItTakesItsAnswers) {
  CallLoadOptions options;
  options.max_unsent_bytes_of_one = 10;
  CallLoad load(options);
  const uint64_t answer = load.AddAnswer(kPeer, 10, kNow, nullptr);
  EXPECT_FALSE(load.CheckRoomForAnswer(kPeer).ok());
  load.RemoveAnswer(answer);
  EXPECT_TRUE(load.CheckRoomForAnswer(kPeer).ok());
}

// Names of the answers that end their calls. The client never takes the first.
std::string EndedCalls() {
  CallLoadOptions options;
  options.max_unsent_time = absl::Seconds(10);
  CallLoad load(options);
  std::string ended;
  load.AddAnswer(kPeer, 1, kNow, [&ended] { ended += "first "; });
  const uint64_t second = load.AddAnswer(kPeer, 1, kNow + absl::Seconds(5),
                                         [&ended] { ended += "second "; });
  load.EndOverdue(kNow + absl::Seconds(9));
  if (!ended.empty()) return "too soon";
  load.EndOverdue(kNow + absl::Seconds(10));
  load.EndOverdue(kNow + absl::Seconds(11));
  load.RemoveAnswer(second);
  load.EndOverdue(kNow + absl::Seconds(20));
  return ended;
}

TEST(CallLimitsTest, ACallWithAnUntakenAnswerEndsOnce) {
  EXPECT_EQ(EndedCalls(), "first ");
  faults::Planted fault("answers-wait-for-ever");
  EXPECT_NE(EndedCalls(), "first ");
}

TEST(CallLimitsTest, ReadsThatWaitAreBounded) {
  CallLoadOptions options;
  options.max_waiting = 2;
  options.max_waiting_bytes = 100;
  CallLoad load(options);
  ASSERT_TRUE(load.Enter(60).ok());
  EXPECT_EQ(ReasonOf(load.Enter(60)), kamino::v1::REASON_OVERLOADED);
  ASSERT_TRUE(load.Enter(1).ok());
  EXPECT_EQ(ReasonOf(load.Enter(1)), kamino::v1::REASON_OVERLOADED);
  load.Leave(60);
  EXPECT_TRUE(load.Enter(60).ok());
  EXPECT_EQ(load.stats().waiting, 2);
}

std::string TryReadsOfGoneClients() {
  CallLoad load{CallLoadOptions()};
  if (!absl::IsCancelled(load.Begin(kPeer, true, kLater, kNow)))
    return "cancelled";
  if (!absl::IsDeadlineExceeded(load.Begin(kPeer, false, kNow, kNow)))
    return "late";
  return load.stats().given_up == 2 ? "" : "not counted";
}

TEST(CallLimitsTest, ReadsOfGoneClientsAreNotDone) {
  EXPECT_EQ(TryReadsOfGoneClients(), "");
  faults::Planted fault("reads-done-for-a-gone-client");
  EXPECT_NE(TryReadsOfGoneClients(), "");
}

}  // namespace
}  // namespace kamino::node
