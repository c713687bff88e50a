// The head's part of the protocol, with a ring and a store but no chain: the
// test plays the tail's completions.
#ifndef KAMINO_TESTS_HEAD_ADMISSION_FIXTURE_H_
#define KAMINO_TESTS_HEAD_ADMISSION_FIXTURE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/heap/heap_reader.h"
#include "gtest/gtest.h"
#include "head/admission.h"
#include "kamino/v1/kamino.pb.h"
#include "replica/builtins.h"
#include "replica/errors.h"
#include "replica/log/log_entry.h"
#include "replica/state/heap_executor.h"
#include "tests/engine/kamino/fixture.h"
#include "tests/replica/no_copy.h"

namespace kamino::head {

class LoneHead {
 public:
  explicit LoneHead(AdmissionOptions options = {},
                    replica::ChainOptions chain = CoreOptions(),
                    engine::Scheme scheme = engine::Scheme::kSimpleLater)
      : under_(scheme),
        state_(&procedures_, under_.heap().root()),
        executor_(&under_.heap(), &state_),
        ring_region_(replica::LogRing::kMinBytes),
        ring_(*replica::LogRing::Create(&ring_region_, {})),
        record_(&ring_region_),
        core_(std::move(chain), {ring_.get(), &record_, &executor_, &copy_}) {
    record_.Create(replica::NodeState());
    procedures_.Register("test.decline", [this](replica::ProcedureContext&,
                                                absl::string_view) {
      ++declined_;
      return absl::StatusOr<std::string>(absl::FailedPreconditionError("no"));
    });
    membership::View view{"c", 1, {}};
    for (const char* id : {"n1", "n2"}) {
      membership::Member member;
      member.node_id = id;
      member.incarnation = 1;
      view.members.push_back(member);
    }
    view.in_force[replica::session_format::kOwnersTerm] = 1;
    core_.OnView(view, now_, &actions_);
    options.lease_valid = [this] { return lease_; };
    admission_ =
        std::make_unique<Admission>(options, &under_.store(), &state_, &core_);
    EXPECT_TRUE(admission_->Promote(now_, &actions_).ok());
    Complete();
  }

  static replica::ChainOptions CoreOptions() {
    replica::ChainOptions options;
    options.cluster_id = "c";
    options.node_id = "n1";
    options.incarnation = 1;
    return options;
  }

  // Submits without executing; the outcome lands at the returned index.
  size_t Submit(const std::string& function, const std::string& arguments,
                uint64_t client, uint64_t number = 1,
                absl::Time deadline = absl::InfiniteFuture(),
                std::function<bool()> abandoned = nullptr) {
    const size_t index = outcomes_.size();
    outcomes_.push_back(nullptr);
    Request request;
    request.mutation.function = function;
    request.mutation.arguments = arguments;
    request.mutation.client_id = client;
    request.mutation.number = number;
    request.mutation.in_session = in_session_;
    if (!in_session_) request.mutation.since = since_;
    request.by = by_;
    request.deadline = deadline;
    request.abandoned = std::move(abandoned);
    request.room_for_answer = room_for_answer_;
    request.done = [this, index](RequestOutcome outcome) {
      ASSERT_EQ(outcomes_[index], nullptr) << "answered twice";
      outcomes_[index] = std::make_unique<RequestOutcome>(std::move(outcome));
    };
    admission_->Submit(std::move(request), now_);
    return index;
  }

  size_t Put(const std::string& key, const std::string& value, uint64_t client,
             uint64_t number = 1) {
    kamino::v1::PutRequest put;
    put.set_key(key);
    put.set_value(value);
    return Submit(replica::kPutFunction, put.SerializeAsString(), client,
                  number);
  }

  size_t Delete(const std::string& key, uint64_t client) {
    kamino::v1::DeleteRequest del;
    del.set_key(key);
    return Submit(replica::kDeleteFunction, del.SerializeAsString(), client);
  }

  // As Submit, of a session.
  size_t SubmitIn(uint64_t session, uint64_t number,
                  const std::string& function, const std::string& arguments) {
    in_session_ = true;
    const size_t index = Submit(function, arguments, session, number);
    in_session_ = false;
    return index;
  }

  size_t PutIn(uint64_t session, uint64_t number, const std::string& key,
               const std::string& value) {
    kamino::v1::PutRequest put;
    put.set_key(key);
    put.set_value(value);
    return SubmitIn(session, number, replica::kPutFunction,
                    put.SerializeAsString());
  }

  size_t VoidIn(uint64_t session, uint64_t number) {
    return SubmitIn(session, number, replica::kVoidFunction, "");
  }

  void Execute() { admission_->ExecuteReady(now_, &actions_); }

  // The tail has applied everything, and the undo copy is in sync.
  void Complete() {
    admission_->OnCompleted(ring_->applied());
    while (admission_->PropagateToUndoCopy(10) > 0) {
    }
  }

  bool Answered(size_t index) const { return outcomes_[index] != nullptr; }
  absl::Status StatusOf(size_t index) const {
    return Answered(index) ? outcomes_[index]->status
                           : absl::UnknownError("no answer");
  }

  std::string Get(const std::string& key) {
    engine::HeapReader reader(&under_.heap());
    auto entry = state_.Objects(reader)->Get(key);
    return entry.ok() ? std::string(entry->value) : "absent";
  }

  uint64_t VersionOf(const std::string& key) {
    engine::HeapReader reader(&under_.heap());
    auto entry = state_.Objects(reader)->Get(key);
    return entry.ok() ? entry->version : 0;
  }

  // Requests of the log entries after the first, which formats.
  std::vector<int> BatchSizes() const {
    std::vector<int> sizes;
    for (uint64_t last = 1; last < ring_->received();) {
      const replica::LogEntry entry = ring_->EntryOf(last + 1);
      last = entry.last();
      sizes.push_back(static_cast<int>(entry.count()));
    }
    return sizes;
  }

  absl::Time now_ = absl::UnixEpoch();
  bool lease_ = true;
  int declined_ = 0;
  // The `since` of submitted requests.
  uint64_t since_ = 0;
  bool in_session_ = false;
  PrincipalPtr by_;
  std::function<absl::Status()> room_for_answer_;
  replica::ProcedureRegistry procedures_;
  engine::StoreUnderTest under_;
  replica::StateMachine state_;
  replica::HeapExecutor executor_;
  engine::SimRegion ring_region_;
  std::unique_ptr<replica::LogRing> ring_;
  replica::NodeRecord record_;
  replica::NoCopy copy_;
  replica::ChainCore core_;
  replica::Actions actions_;
  std::vector<std::unique_ptr<RequestOutcome>> outcomes_;
  std::unique_ptr<Admission> admission_;
};

class AdmissionTest : public ::testing::Test, protected LoneHead {
 protected:
  explicit AdmissionTest(AdmissionOptions options = {},
                         replica::ChainOptions chain = LoneHead::CoreOptions(),
                         engine::Scheme scheme = engine::Scheme::kSimpleLater)
      : LoneHead(std::move(options), std::move(chain), scheme) {}
};

}  // namespace kamino::head

#endif  // KAMINO_TESTS_HEAD_ADMISSION_FIXTURE_H_
