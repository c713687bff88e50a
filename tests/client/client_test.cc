// The library against a service in this process that can lose answers, refuse
// calls and change its state.
#include "client/client.h"

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "client/error.h"
#include "client/transaction.h"
#include "gmock/gmock.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/credentials.h"
#include "tests/client/call_sequence.h"
#include "tests/client/late_seed.h"
#include "tests/patience.h"

namespace kamino::client {
namespace {

using kamino::v1::Reason;

grpc::Status Refusal(grpc::StatusCode code, Reason reason) {
  kamino::v1::ErrorDetail detail;
  detail.set_reason(reason);
  google::rpc::Status details;
  details.set_code(code);
  details.add_details()->PackFrom(detail);
  return grpc::Status(code, "refused", details.SerializeAsString());
}

// The fault of the next mutation.
enum class Fault {
  kLoseRequest,          // fails without being executed
  kLoseAnswer,           // is executed, then fails
  kLoseAnswerAndForget,  // and its outcome is dropped
};

// Objects and outcomes as a chain keeps them, shared by all its nodes.
struct State {
  absl::Mutex mutex;
  std::map<std::string, std::pair<std::string, uint64_t>> objects;
  struct Outcome {
    uint64_t number;
    uint64_t sequence;
    std::string result;
  };
  std::map<uint64_t, Outcome> outcomes;
  uint64_t sequence = 0;
  uint64_t horizon = 0;
  uint64_t since = 0;  // of the last mutation
  std::deque<Fault> faults;
  std::deque<Reason> refusals;  // of the next reads
  int refused = 0;
  kamino::v1::Chain chain;
  uint32_t asked_chain = 0;  // by the last Get
  int executed = 0;

  // Drops all outcomes.
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    outcomes.clear();
    horizon = sequence;
  }
};

class Service final : public kamino::v1::KaminoService::Service {
 public:
  Service(State* state, std::string id) : state_(state), id_(std::move(id)) {}

  grpc::Status GetChain(grpc::ServerContext*,
                        const kamino::v1::GetChainRequest* request,
                        kamino::v1::GetChainResponse* response) override {
    absl::MutexLock lock(&state_->mutex);
    if (request->chain_id() != 0 &&
        request->chain_id() != state_->chain.chain_id()) {
      return Refusal(grpc::StatusCode::INVALID_ARGUMENT,
                     kamino::v1::REASON_UNKNOWN_CHAIN);
    }
    *response->mutable_chain() = state_->chain;
    response->mutable_header()->set_sequence(state_->sequence);
    return grpc::Status::OK;
  }

  grpc::Status Get(grpc::ServerContext*, const kamino::v1::GetRequest* request,
                   kamino::v1::GetResponse* response) override {
    absl::MutexLock lock(&state_->mutex);
    state_->asked_chain = request->chain_id();
    if (state_->chain.nodes().rbegin()->node_id() != id_) {
      return Refusal(grpc::StatusCode::FAILED_PRECONDITION,
                     kamino::v1::REASON_NOT_TAIL);
    }
    if (!state_->refusals.empty()) {
      const Reason reason = state_->refusals.front();
      state_->refusals.pop_front();
      ++state_->refused;
      return Refusal(grpc::StatusCode::RESOURCE_EXHAUSTED, reason);
    }
    const auto found = state_->objects.find(request->key());
    if (found == state_->objects.end()) {
      return Refusal(grpc::StatusCode::NOT_FOUND,
                     kamino::v1::REASON_KEY_NOT_FOUND);
    }
    response->set_value(found->second.first);
    response->set_version(found->second.second);
    response->mutable_header()->set_served_by(id_);
    return grpc::Status::OK;
  }

  grpc::Status Put(grpc::ServerContext*, const kamino::v1::PutRequest* request,
                   kamino::v1::PutResponse* response) override {
    return Mutate(request->request_id(), response->mutable_header(), [&] {
      state_->mutex.AssertHeld();
      state_->objects[request->key()] = {request->value(), state_->sequence};
      return grpc::Status::OK;
    });
  }

  // Fails always.
  grpc::Status Delete(grpc::ServerContext*,
                      const kamino::v1::DeleteRequest* request,
                      kamino::v1::DeleteResponse* response) override {
    return Mutate(request->request_id(), response->mutable_header(), [&] {
      return Refusal(grpc::StatusCode::NOT_FOUND,
                     kamino::v1::REASON_KEY_NOT_FOUND);
    });
  }

  grpc::Status Commit(grpc::ServerContext*,
                      const kamino::v1::CommitRequest* request,
                      kamino::v1::CommitResponse* response) override {
    const grpc::Status status =
        Mutate(request->request_id(), response->mutable_header(), [&] {
          state_->mutex.AssertHeld();
          return Apply(*request, response);
        });
    absl::MutexLock lock(&state_->mutex);
    if (status.ok()) {
      const auto header = response->header();
      response->ParseFromString(
          state_->outcomes[request->request_id().client_id()].result);
      *response->mutable_header() = header;
    }
    return status;
  }

 private:
  template <typename Body>
  grpc::Status Mutate(const kamino::v1::RequestId& id,
                      kamino::v1::ResponseHeader* header, Body body) {
    absl::MutexLock lock(&state_->mutex);
    if (state_->chain.nodes(0).node_id() != id_) {
      return Refusal(grpc::StatusCode::FAILED_PRECONDITION,
                     kamino::v1::REASON_NOT_HEAD);
    }
    Fault fault{};
    const bool faulty = !state_->faults.empty();
    if (faulty) {
      fault = state_->faults.front();
      state_->faults.pop_front();
      if (fault == Fault::kLoseRequest) return Lost();
    }
    const auto stored = state_->outcomes.find(id.client_id());
    state_->since = id.since();
    if (stored == state_->outcomes.end() && id.since() < state_->horizon) {
      return Refusal(grpc::StatusCode::FAILED_PRECONDITION,
                     kamino::v1::REASON_CLIENT_EXPIRED);
    }
    if (stored == state_->outcomes.end() ||
        stored->second.number < id.number()) {
      ++state_->sequence;
      result_.clear();
      if (grpc::Status status = body(); !status.ok()) return status;
      ++state_->executed;
      state_->outcomes[id.client_id()] = {id.number(), state_->sequence,
                                          result_};
    } else if (stored->second.number > id.number()) {
      return Refusal(grpc::StatusCode::FAILED_PRECONDITION,
                     kamino::v1::REASON_SUPERSEDED);
    }
    header->set_sequence(state_->outcomes[id.client_id()].sequence);
    header->set_served_by(id_);
    if (faulty && fault == Fault::kLoseAnswerAndForget) state_->Forget();
    return faulty ? Lost() : grpc::Status::OK;
  }

  static grpc::Status Lost() {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "connection lost");
  }

  grpc::Status Apply(const kamino::v1::CommitRequest& request,
                     kamino::v1::CommitResponse* response)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    for (const auto& condition : request.preconditions()) {
      const auto found = state_->objects.find(condition.key());
      const bool there = found != state_->objects.end();
      const bool holds =
          condition.has_exists()
              ? condition.exists() == there
              : there && condition.version_equals() == found->second.second;
      if (!holds) response->add_failed_keys(condition.key());
    }
    response->set_succeeded(response->failed_keys().empty());
    if (!response->succeeded() && request.fail_on_conflict()) {
      return Refusal(grpc::StatusCode::ABORTED, kamino::v1::REASON_CONFLICT);
    }
    if (response->succeeded()) {
      for (const auto& operation : request.then_operations()) {
        state_->objects[operation.put().key()] = {operation.put().value(),
                                                  state_->sequence};
      }
    }
    result_ = response->SerializeAsString();
    return grpc::Status::OK;
  }

  State* const state_;
  const std::string id_;
  std::string result_;
};

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    for (const char* id : {"n1", "n2", "n3"}) {
      services_.push_back(std::make_unique<Service>(&state_, id));
      int port = 0;
      grpc::ServerBuilder builder;
      builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port);
      builder.RegisterService(services_.back().get());
      servers_.push_back(builder.BuildAndStart());
      addresses_[id] = absl::StrCat("127.0.0.1:", port);
    }
    SetChain(1, {"n1", "n2", "n3"});
    Connect(Patience(absl::Seconds(10)));
  }

  void SetChain(uint64_t view, const std::vector<std::string>& ids) {
    absl::MutexLock lock(&state_.mutex);
    state_.chain.Clear();
    state_.chain.set_cluster_id("c");
    state_.chain.set_chain_id(1);
    state_.chain.set_view_id(view);
    for (const std::string& id : ids) {
      auto* node = state_.chain.add_nodes();
      node->set_node_id(id);
      node->set_address(addresses_[id]);
    }
  }

  void Connect(absl::Duration timeout, int max_outstanding = 1024) {
    ClientOptions options;
    // A seed without a server does not matter.
    options.seeds = {addresses_["n2"], "127.0.0.1:1"};
    options.timeout = timeout;
    options.max_outstanding = max_outstanding;
    auto client = Client::Connect(options);
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = std::move(*client);
  }

  void Faults(std::deque<Fault> faults) {
    absl::MutexLock lock(&state_.mutex);
    state_.faults = std::move(faults);
  }

  void Refuse(std::deque<Reason> reasons) {
    absl::MutexLock lock(&state_.mutex);
    state_.refusals = std::move(reasons);
    state_.refused = 0;
  }

  int refused() {
    absl::MutexLock lock(&state_.mutex);
    return state_.refused;
  }

  int executed() {
    absl::MutexLock lock(&state_.mutex);
    return state_.executed;
  }

  State state_;
  std::map<std::string, std::string> addresses_;
  std::vector<std::unique_ptr<Service>> services_;
  std::vector<std::unique_ptr<grpc::Server>> servers_;
  std::unique_ptr<Client> client_;
};

TEST_F(ClientTest, WritesAtTheHeadAndReadsAtTheTail) {
  auto put = client_->Put("key", "value");
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->header().served_by(), "n1");
  auto got = client_->Get("key");
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->value(), "value");
  EXPECT_EQ(got->header().served_by(), "n3");
  EXPECT_EQ(ReasonOf(client_->Get("absent").status()),
            kamino::v1::REASON_KEY_NOT_FOUND);
}

TEST_F(ClientTest, FollowsTheView) {
  ASSERT_TRUE(client_->Put("key", "1").ok());
  SetChain(2, {"n2", "n3", "n1"});
  auto put = client_->Put("key", "2");
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->header().served_by(), "n2");
  EXPECT_EQ(client_->Get("key")->header().served_by(), "n1");
  servers_[0]->Shutdown();
  SetChain(3, {"n2", "n3"});
  auto got = client_->Get("key");
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->header().served_by(), "n3");
}

TEST_F(ClientTest, RequestsNameTheirChainAndOtherChainsAreIgnored) {
  ASSERT_TRUE(client_->Put("key", "1").ok());
  ASSERT_TRUE(client_->Get("key").ok());
  {
    absl::MutexLock lock(&state_.mutex);
    EXPECT_EQ(state_.asked_chain, 1u);
    state_.chain.set_chain_id(2);
    state_.chain.set_view_id(9);
  }
  client_->Refresh().IgnoreError();
  EXPECT_EQ(client_->chain().chain_id(), 1u);
  EXPECT_EQ(client_->chain().view_id(), 1u);
}

TEST_F(ClientTest, AnUnknownChainIsReportedAtOnce) {
  ClientOptions options;
  options.seeds = {addresses_["n2"]};
  options.timeout = absl::Hours(1);  // it does not wait for a chain to come
  options.chain_id = 7;
  EXPECT_EQ(ReasonOf(Client::Connect(options).status()),
            kamino::v1::REASON_UNKNOWN_CHAIN);
  options.chain_id = 1;
  EXPECT_TRUE(Client::Connect(options).ok());
}

TEST_F(ClientTest, EveryMutationIsExecutedOnceDespiteLosses) {
  Faults({Fault::kLoseAnswer, Fault::kLoseRequest, Fault::kLoseAnswer,
          Fault::kLoseAnswer});
  ASSERT_TRUE(client_->Put("key", "1").ok());
  EXPECT_EQ(executed(), 1);
  Faults({Fault::kLoseRequest, Fault::kLoseRequest});
  ASSERT_TRUE(client_->Put("key", "2").ok());
  EXPECT_EQ(executed(), 2);
}

TEST_F(ClientTest, ARefusalAfterALostAnswerIsResolved) {
  // The refusal does not tell whether the lost attempt was carried out; the
  // name is taken, so that it never will be.
  Faults({Fault::kLoseRequest});
  const absl::Status refused = client_->Delete("absent").status();
  EXPECT_EQ(ReasonOf(refused), kamino::v1::REASON_KEY_NOT_FOUND) << refused;
  EXPECT_EQ(executed(), 1);  // the settling commit
  ASSERT_TRUE(client_->Put("key", "1").ok());
}

TEST_F(ClientTest, ATimeoutAfterALostAnswerNamesTheOutcomeCommand) {
  Connect(Patience(absl::Seconds(1)));
  Faults(std::deque<Fault>(100000, Fault::kLoseRequest));
  const absl::Status status = client_->Put("key", "1").status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(ReasonOf(status), kamino::v1::REASON_OUTCOME_UNKNOWN);
  EXPECT_THAT(std::string(status.message()),
              ::testing::ContainsRegex("kamino outcome [0-9]+ 1 [0-9]+ "));
  Faults({});
  ASSERT_TRUE(client_->Put("key", "2").ok());  // under another name
}

TEST_F(ClientTest, AMutationThatWasNeverSentHasAKnownOutcome) {
  addresses_["n9"] = "127.0.0.1:1";
  SetChain(2, {"n9", "n2", "n3"});
  Connect(Patience(absl::Seconds(1)));
  const absl::Status status = client_->Put("key", "1").status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(ReasonOf(status), kamino::v1::REASON_UNSPECIFIED) << status;
  SetChain(3, {"n1", "n2", "n3"});
  ASSERT_TRUE(client_->Put("key", "2").ok());
  EXPECT_EQ(executed(), 1);
}

TEST_F(ClientTest, AnOverloadedNodeIsRetried) {
  ASSERT_TRUE(client_->Put("key", "1").ok());
  Refuse(std::deque<Reason>(5, kamino::v1::REASON_OVERLOADED));
  auto got = client_->Get("key");
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(refused(), 5);
  Connect(Patience(absl::Seconds(1)));
  Refuse(std::deque<Reason>(100000, kamino::v1::REASON_OVERLOADED));
  got = client_->Get("key");
  EXPECT_TRUE(absl::IsResourceExhausted(got.status())) << got.status();
  EXPECT_EQ(ReasonOf(got.status()), kamino::v1::REASON_OVERLOADED);
  EXPECT_GT(refused(), 1);
}

TEST_F(ClientTest, ATooLargeRequestIsNotRetried) {
  ASSERT_TRUE(client_->Put("key", "1").ok());
  Refuse({kamino::v1::REASON_TOO_LARGE});
  EXPECT_EQ(ReasonOf(client_->Get("key").status()),
            kamino::v1::REASON_TOO_LARGE);
  EXPECT_EQ(refused(), 1);
  EXPECT_EQ(client_->retries(), 0u);
}

TEST_F(ClientTest, AForgottenLaneContinuesAfterAKnownOutcome) {
  ASSERT_TRUE(client_->Put("key", "1").ok());
  {
    absl::MutexLock lock(&state_.mutex);
    state_.Forget();
  }
  ASSERT_TRUE(client_->Put("key", "2").ok());
  EXPECT_EQ(executed(), 2);
  EXPECT_EQ(client_->retries(), 0u);
}

TEST_F(ClientTest, AForgottenLaneIsReplaced) {
  ASSERT_TRUE(client_->Put("key", "1").ok());
  uint64_t horizon = 0;
  {
    absl::MutexLock lock(&state_.mutex);
    state_.sequence += 10;  // others'
    state_.Forget();
    horizon = state_.horizon;
  }
  ASSERT_TRUE(client_->Put("key", "2").ok());
  EXPECT_EQ(executed(), 2);
  absl::MutexLock lock(&state_.mutex);
  EXPECT_GE(state_.since, horizon);
}

TEST_F(ClientTest, AMutationWithAForgottenOutcomeIsNotRepeated) {
  Faults({Fault::kLoseAnswerAndForget});
  const absl::Status status = client_->Put("key", "1").status();
  EXPECT_EQ(ReasonOf(status), kamino::v1::REASON_OUTCOME_UNKNOWN) << status;
  EXPECT_EQ(executed(), 1);
  ASSERT_TRUE(client_->Put("key", "2").ok());  // under another name
  EXPECT_EQ(executed(), 2);
}

TEST_F(ClientTest, ASequentialClientUsesOneLane) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(client_->Put("key", "x").ok());
  EXPECT_FALSE(client_->Delete("absent").ok());
  ASSERT_TRUE(client_->Put("key", "y").ok());
  absl::MutexLock lock(&state_.mutex);
  EXPECT_EQ(state_.outcomes.size(), 1u);
  EXPECT_EQ(state_.outcomes.begin()->second.number, 21u);
}

TEST_F(ClientTest, TransactionsRetryOnConflict) {
  ASSERT_TRUE(client_->Put("n", "1").ok());
  int runs = 0;
  absl::Status done = client_->RunTransaction([&](Transaction& transaction) {
    auto value = transaction.Get("n");
    if (!value.ok()) return value.status();
    // Another client writes in between, the first time.
    if (++runs == 1) {
      EXPECT_TRUE(client_->Put("n", "5").ok());
    }
    transaction.Put("n", absl::StrCat(std::stoi(**value) + 1));
    EXPECT_EQ(**transaction.Get("n"), absl::StrCat(std::stoi(**value) + 1));
    EXPECT_FALSE(transaction.Get("absent")->has_value());
    return absl::OkStatus();
  });
  ASSERT_TRUE(done.ok()) << done;
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(client_->Get("n")->value(), "6");
  done = client_->RunTransaction([](Transaction& transaction) {
    transaction.Put("n", "7");
    return absl::InternalError("no");
  });
  EXPECT_TRUE(absl::IsInternal(done));
  EXPECT_EQ(client_->Get("n")->value(), "6");
}

// A body's error that rests on inconsistent reads is not returned.
TEST_F(ClientTest, ABodysErrorIsReturnedOnlyAfterItsReadsAreValidated) {
  ASSERT_TRUE(client_->Put("a", "1").ok());
  ASSERT_TRUE(client_->Put("b", "1").ok());
  int runs = 0;
  absl::Status done = client_->RunTransaction([&](Transaction& transaction) {
    auto a = transaction.Get("a");
    if (++runs == 1) {
      EXPECT_TRUE(client_->Put("a", "2").ok());
      EXPECT_TRUE(client_->Put("b", "2").ok());
    }
    auto b = transaction.Get("b");
    return **a == **b ? absl::OkStatus() : absl::InternalError("a is not b");
  });
  EXPECT_TRUE(done.ok()) << done;
  EXPECT_EQ(runs, 2);
  // Nor is it when they could not be checked.
  Connect(Patience(absl::Seconds(1)));
  bool held = false;
  done = client_->RunTransaction([&](Transaction& transaction) {
    EXPECT_TRUE(transaction.Get("a").ok() && transaction.Get("b").ok());
    if (!held) state_.mutex.Lock();  // holds the check's answer back
    held = true;
    return absl::InternalError("n");
  });
  EXPECT_FALSE(absl::IsInternal(done)) << done;
  state_.mutex.Unlock();
}

TEST_F(ClientTest, AsynchronousCallsAreBounded) {
  Connect(Patience(absl::Seconds(10)), /*max_outstanding=*/2);
  state_.mutex.Lock();  // holds every answer back
  absl::Notification answered[2];
  for (auto& done : answered) {
    kamino::v1::PutRequest request;
    request.set_key("key");
    client_->PutAsync(request, [&done](const auto& put) {
      EXPECT_TRUE(put.ok()) << put.status();
      done.Notify();
    });
  }
  bool refused = false;
  kamino::v1::GetRequest get;
  get.set_key("key");
  client_->GetAsync(get, [&refused](const auto& got) {
    refused = ReasonOf(got.status()) == kamino::v1::REASON_OVERLOADED;
  });
  EXPECT_TRUE(refused);
  state_.mutex.Unlock();
  for (auto& done : answered) done.WaitForNotification();
}

// Otherwise callbacks that begin the next call would use up the stack.
TEST_F(ClientTest, AnImmediateFailureRunsItsCallbackOnAnotherStack) {
  LateSeed late;
  ClientOptions options;
  options.seeds = {addresses_["n2"], late.address()};
  auto client = Client::Connect(options);
  ASSERT_TRUE(client.ok()) << client.status();
  late.Answer();
  // Until the answer of the late seed has come.
  while (!AreOfDifferentClusters((*client)->Get("key").status())) {
  }
  CallSequence sequence(client->get(), 300);
  sequence.Next();
  const absl::Status last = sequence.Wait();
  EXPECT_TRUE(AreOfDifferentClusters(last)) << last;
  EXPECT_EQ(sequence.nested(), 0);
}

TEST_F(ClientTest, AnImmediateTimeoutRunsItsCallbackOnAnotherStack) {
  ClientOptions options;
  options.seeds = {addresses_["n2"]};
  options.timeout = absl::Nanoseconds(1);
  auto client = Client::Connect(options);
  // A node on a busy machine may answer after the first round.
  while (!client.ok()) client = Client::Connect(options);
  CallSequence sequence(client->get(), 300);
  sequence.Next();
  const absl::Status last = sequence.Wait();
  EXPECT_TRUE(absl::IsDeadlineExceeded(last)) << last;
  EXPECT_EQ(sequence.nested(), 0);
}

TEST(ConnectTest, FailsWithoutAReachableSeed) {
  EXPECT_TRUE(absl::IsInvalidArgument(Client::Connect({}).status()));
  ClientOptions options;
  options.seeds = {"127.0.0.1:1"};
  options.timeout = absl::Milliseconds(100);
  EXPECT_TRUE(absl::IsUnavailable(Client::Connect(options).status()));
}

TEST(ConnectTest, ASeedThatIsNoNodeIsNamedInTheError) {
  grpc::CallbackGenericService something_else;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&something_else);
  const auto server = builder.BuildAndStart();
  ClientOptions options;
  options.seeds = {absl::StrCat("127.0.0.1:", port)};
  options.timeout = absl::Hours(1);  // it does not wait: that would not help
  const absl::Status none = Client::Connect(options).status();
  EXPECT_TRUE(absl::IsInvalidArgument(none));
  EXPECT_THAT(std::string(none.message()),
              ::testing::StartsWith(options.seeds[0] + " answers, but is no"));
  // The other one may be a node that is not up yet.
  options.seeds.push_back("127.0.0.1:1");
  options.timeout = Patience(absl::Seconds(1));
  EXPECT_TRUE(absl::IsUnavailable(Client::Connect(options).status()));
}

}  // namespace
}  // namespace kamino::client
