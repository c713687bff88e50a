// Sessions on two heaps: a head's, and that of a replica that executes the
// head's entries.
#ifndef KAMINO_TESTS_REPLICA_SESSIONS_FIXTURE_H_
#define KAMINO_TESTS_REPLICA_SESSIONS_FIXTURE_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/heap/heap_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kamino/internal/v1/operation.pb.h"
#include "kamino/v1/kamino.pb.h"
#include "replica/errors.h"
#include "replica/log/log_entry.h"
#include "replica/state/heap_executor.h"
#include "replica/state/state_machine.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::replica {

inline constexpr uint64_t kSession = 0x1122334455667788;
inline constexpr uint32_t kWindow = 4;

class SessionsTest : public ::testing::Test {
 protected:
  SessionsTest()
      : head_(engine::Scheme::kSimple),
        state_(Registry(), head_.heap().root()),
        replica_(engine::Scheme::kSimple),
        replica_state_(Registry(), replica_.heap().root()),
        executor_(&replica_.heap(), &replica_state_) {
    Mutation format;
    format.function = kFormatFunction;
    EXPECT_TRUE(Execute(format).ok());
    bytes_without_ = head_.heap().stats().bytes_used;
    EXPECT_TRUE(Open(kSession, kWindow).ok());
    bytes_with_ = head_.heap().stats().bytes_used;
  }
  // After each test the replica has the head's state.
  ~SessionsTest() override {
    if (dissent_) return;
    EXPECT_EQ(head_.heap().stats().bytes_used,
              replica_.heap().stats().bytes_used);
  }

  static const ProcedureRegistry* Registry() {
    static const ProcedureRegistry* registry = [] {
      auto* made = new ProcedureRegistry;
      // Its result has as many bytes as its arguments; it counts its calls.
      made->Register(
          "test.echo",
          [](ProcedureContext& context,
             absl::string_view arguments) -> absl::StatusOr<std::string> {
            auto calls = context.Get("calls");
            absl::Status put = context.Put(
                "calls", calls.ok() ? absl::StrCat(calls->value, "x") : "x");
            if (!put.ok()) return put;
            return std::string(arguments);
          });
      return made;
    }();
    return registry;
  }

  absl::StatusOr<StateMachine::Execution> Execute(const Mutation& mutation) {
    auto transaction = head_.Begin();
    auto done = state_.Execute(*transaction, mutation, sequence_ + 1);
    if (!done.ok() || done->repeated) {
      EXPECT_TRUE(transaction->Abort().ok());
      state_.Ended(/*committed=*/false);
      return done;
    }
    ++sequence_;
    write_set_ = transaction->write_set();
    EXPECT_TRUE(transaction->Commit().ok());
    state_.Ended(/*committed=*/true);
    head_.Propagate();
    Replay(mutation);
    return done;
  }

  void Replay(const Mutation& mutation) {
    const std::vector<const Mutation*> mutations = {&mutation};
    LogEntryDraft draft;
    draft.first = sequence_;
    draft.mutations = mutations;
    draft.write_set = &write_set_;
    const std::string bytes = draft.ToString();
    const auto entry = LogEntry::Check(bytes);
    ASSERT_TRUE(entry.ok()) << entry.status();
    // Without effect, on the cache either.
    const auto tried = executor_.Try(*entry);
    const auto executed = executor_.Execute(*entry);
    dissent_ |= !tried.ok() || !executed.ok();
    if (faulty_) return;
    EXPECT_TRUE(tried.ok()) << tried.status();
    EXPECT_TRUE(executed.ok()) << executed.status();
  }

  absl::StatusOr<StateMachine::Execution> Open(uint64_t id, uint32_t window,
                                               uint64_t epoch = 1) {
    kamino::internal::v1::OpenSession wanted;
    wanted.set_session_id(id);
    wanted.set_window(window);
    wanted.set_epoch(epoch);
    wanted.set_lease_ms(5000);
    Mutation mutation;
    mutation.function = kOpenSessionFunction;
    mutation.arguments = wanted.SerializeAsString();
    return Execute(mutation);
  }

  absl::Status Close(const std::vector<uint64_t>& ids) {
    kamino::internal::v1::CloseSessions closed;
    for (uint64_t id : ids) closed.add_session_ids(id);
    Mutation mutation;
    mutation.function = kCloseSessionsFunction;
    mutation.arguments = closed.SerializeAsString();
    return Execute(mutation).status();
  }

  static Mutation Of(uint64_t number, const std::string& function,
                     const std::string& arguments = "",
                     uint64_t session = kSession) {
    Mutation mutation;
    mutation.function = function;
    mutation.arguments = arguments;
    mutation.client_id = session;
    mutation.number = number;
    mutation.in_session = true;
    return mutation;
  }
  absl::StatusOr<StateMachine::Execution> Echo(uint64_t number,
                                               const std::string& text) {
    return Execute(Of(number, "test.echo", text));
  }
  absl::StatusOr<StateMachine::Execution> Void(uint64_t number) {
    return Execute(Of(number, kVoidFunction));
  }

  size_t Calls() {
    engine::HeapReader reader(&head_.heap());
    auto calls = state_.Objects(reader)->Get("calls");
    return calls.ok() ? calls->value.size() : 0;
  }

  std::vector<Sessions::Session> All() {
    std::vector<Sessions::Session> all;
    engine::HeapReader reader(&head_.heap());
    absl::Status visited = state_.VisitSessions(
        reader, [&](const Sessions::Session& one) { all.push_back(one); });
    EXPECT_TRUE(visited.ok()) << visited;
    return all;
  }

  engine::StoreUnderTest head_;
  StateMachine state_;
  engine::StoreUnderTest replica_;
  StateMachine replica_state_;
  HeapExecutor executor_;
  engine::WriteSet write_set_;  // of the last mutation
  uint64_t sequence_ = 0;
  uint64_t bytes_without_ = 0;  // of the heap, without the session
  uint64_t bytes_with_ = 0;
  bool faulty_ = false;   // the replica is expected to differ
  bool dissent_ = false;  // it disagrees
};

inline void ExpectReason(const absl::Status& status, kamino::v1::Reason reason,
                         const std::string& text) {
  EXPECT_EQ(ReasonOf(status), reason) << status;
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(text));
}

}  // namespace kamino::replica

#endif  // KAMINO_TESTS_REPLICA_SESSIONS_FIXTURE_H_
