// The public API of a whole node, over gRPC, as the only node of a chain; the
// test plays the membership manager.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "examples/bank/bank_transfer.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/call_counts.h"
#include "rpc/channel.h"
#include "rpc/credentials.h"
#include "tests/node/rpc/node_server_fixture.h"
#include "tests/rpc/plain_channel.h"

namespace kamino::node {
namespace {

using grpc::health::v1::HealthCheckResponse;

TEST_F(NodeServerTest, ANodeWithoutAViewIsReconfiguring) {
  kamino::v1::GetResponse got;
  const grpc::Status status = Get("a", &got);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(DetailOf(status).reason(), kamino::v1::REASON_RECONFIGURING);
  EXPECT_EQ(DetailOf(Put("a", "1", 1)).reason(),
            kamino::v1::REASON_RECONFIGURING);
  kamino::v1::GetChainResponse chain;
  EXPECT_EQ(
      Send(&Stub::GetChain, kamino::v1::GetChainRequest(), &chain).error_code(),
      grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Health(""), HealthCheckResponse::SERVING);
  EXPECT_EQ(Health(kHeadHealth), HealthCheckResponse::NOT_SERVING);
}

TEST_F(NodeServerTest, CallsAreCountedByMethodAndByHowTheyEnd) {
  const std::string service = "/kamino.v1.KaminoService/";
  const auto ended = [&](const std::string& method, int code) {
    return rpc::CallsServed().Read(service + method).ended[code];
  };
  const uint64_t put = ended("Put", 0), refused = ended("Put", 14);
  const uint64_t absent = ended("Get", 5), scanned = ended("Scan", 0);
  EXPECT_FALSE(Put("a", "1", 1).ok());  // no view yet
  views_.Install(1);
  ASSERT_TRUE(Put("a", "1", 1).ok());
  kamino::v1::GetResponse got;
  EXPECT_FALSE(Get("b", &got).ok());
  grpc::ClientContext context;
  kamino::v1::ScanResponse part;
  auto scan = stub_->Scan(&context, kamino::v1::ScanRequest());
  while (scan->Read(&part)) {
  }
  EXPECT_TRUE(scan->Finish().ok());
  EXPECT_EQ(ended("Put", 0), put + 1);
  EXPECT_EQ(ended("Put", 14), refused + 1);
  EXPECT_EQ(ended("Get", 5), absent + 1);
  EXPECT_EQ(ended("Scan", 0), scanned + 1);
  // And its status says so.
  kamino::v1::GetNodeStatusResponse status;
  ASSERT_TRUE(
      Send(&Stub::GetNodeStatus, kamino::v1::GetNodeStatusRequest(), &status)
          .ok());
  int found = 0;
  for (const auto& calls : status.calls_served()) {
    if (calls.method() != service + "Put") continue;
    ++found;
    EXPECT_EQ(calls.ok(), put + 1);
    EXPECT_GE(calls.failed(), refused + 1);
  }
  EXPECT_EQ(found, 1);
  EXPECT_GT(status.processor_us(), 0u);
  EXPECT_GE(status.reads().answered(), 1u);
}

// Clients ask every node, again and again, while one is slow.
TEST_F(NodeServerTest, GetChainIsAnsweredWhileTheCoreThreadIsBusy) {
  views_.Install(1);
  ASSERT_TRUE(Put("a", "1", 1).ok());
  kamino::v1::GetResponse got;
  ASSERT_TRUE(Get("a", &got).ok());
  absl::Notification busy, go_on;
  ASSERT_TRUE(node_->Run([&](ChainNode&) {
    busy.Notify();
    go_on.WaitForNotification();
  }));
  busy.WaitForNotification();
  kamino::v1::GetChainResponse chain;
  const grpc::Status status =
      Send(&Stub::GetChain, kamino::v1::GetChainRequest(), &chain);
  go_on.Notify();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(chain.chain().view_id(), 1u);
  EXPECT_EQ(chain.header().view_id(), 1u);
  EXPECT_EQ(chain.header().served_by(), "n1");
  // A `since` of a client's next mutation: what it knows, and the chain has.
  EXPECT_EQ(chain.header().sequence(), got.version());
}

// How often a call is given up until the server is the first to notice.
constexpr int kTries = 100;

TEST_F(NodeServerTest, AnAbandonedStatusRequestMakesNoStatus) {
  views_.Install(1);
  const auto described = [] {
    return rpc::CallsServed()
        .Read("/kamino.v1.KaminoService/GetNodeStatus")
        .ended[grpc::StatusCode::OK];
  };
  uint64_t made = 2;
  for (int i = 0; i < kTries && made != 1; ++i) {
    const uint64_t before = described();
    SendAndGiveUp<kamino::v1::GetNodeStatusResponse>(
        &Stub::GetNodeStatus, kamino::v1::GetNodeStatusRequest());
    Status();  // one that is answered after it
    made = described() - before;
  }
  EXPECT_EQ(made, 1u);
}

TEST_F(NodeServerTest, EveryMethodIsServed) {
  views_.Install(1);
  ASSERT_TRUE(Put("a", "100", 1).ok());
  ASSERT_TRUE(Put("b", "100", 2).ok());

  kamino::v1::GetResponse got;
  ASSERT_TRUE(Get("a", &got).ok());
  EXPECT_EQ(got.value(), "100");
  EXPECT_EQ(got.header().served_by(), "n1");
  EXPECT_EQ(got.header().view_id(), 1u);

  kamino::v1::CallRequest call;
  call.mutable_request_id()->set_client_id(7);
  call.mutable_request_id()->set_number(3);
  call.set_procedure("bank.transfer");
  call.set_arguments("a b 30");
  kamino::v1::CallResponse called;
  ASSERT_TRUE(Send(&Stub::Call, call, &called).ok());
  EXPECT_EQ(called.result(), "70 130");
  // Sent again under the same name: the same answer, nothing moved.
  kamino::v1::CallResponse again;
  ASSERT_TRUE(Send(&Stub::Call, call, &again).ok());
  EXPECT_EQ(again.result(), "70 130");
  EXPECT_EQ(again.header().sequence(), called.header().sequence());

  kamino::v1::GetOutcomeRequest ask;
  *ask.mutable_request_id() = call.request_id();
  kamino::v1::GetOutcomeResponse outcome;
  ASSERT_TRUE(Send(&Stub::GetOutcome, ask, &outcome).ok());
  EXPECT_EQ(outcome.outcome(), kamino::v1::OUTCOME_COMMITTED);
  EXPECT_EQ(outcome.sequence(), called.header().sequence());
  ask.mutable_request_id()->set_number(2);
  ASSERT_TRUE(Send(&Stub::GetOutcome, ask, &outcome).ok());
  EXPECT_EQ(outcome.outcome(), kamino::v1::OUTCOME_SUPERSEDED);
  ask.mutable_request_id()->set_number(4);
  ASSERT_TRUE(Send(&Stub::GetOutcome, ask, &outcome).ok());
  EXPECT_EQ(outcome.outcome(), kamino::v1::OUTCOME_NOT_COMMITTED);

  kamino::v1::BatchGetRequest batch;
  batch.add_keys("b");
  batch.add_keys("none");
  kamino::v1::BatchGetResponse results;
  ASSERT_TRUE(Send(&Stub::BatchGet, batch, &results).ok());
  EXPECT_EQ(results.results(0).value(), "130");
  EXPECT_FALSE(results.results(1).found());

  grpc::ClientContext context;
  auto scan = stub_->Scan(&context, kamino::v1::ScanRequest());
  kamino::v1::ScanResponse part;
  int objects = 0;
  while (scan->Read(&part)) objects += part.results_size();
  EXPECT_TRUE(scan->Finish().ok());
  EXPECT_EQ(objects, 2);

  kamino::v1::GetNodeStatusResponse status;
  ASSERT_TRUE(
      Send(&Stub::GetNodeStatus, kamino::v1::GetNodeStatusRequest(), &status)
          .ok());
  EXPECT_EQ(status.role(), kamino::v1::ROLE_SINGLE);
  EXPECT_EQ(status.applied(), 4u);
  EXPECT_EQ(status.admission().repeated(), 1u);
  EXPECT_TRUE(status.has_turned_down());
  EXPECT_EQ(status.turned_down().malformed(), 0u);
}

TEST_F(NodeServerTest, RefusesBadRequests) {
  views_.Install(1);
  EXPECT_EQ(DetailOf(Put("a", "1", 0)).reason(),
            kamino::v1::REASON_INVALID_ARGUMENT);
  EXPECT_EQ(DetailOf(Put("", "1", 1)).reason(),
            kamino::v1::REASON_INVALID_ARGUMENT);
  EXPECT_EQ(DetailOf(Put("a", std::string(5 << 20, 'x'), 1)).reason(),
            kamino::v1::REASON_INVALID_ARGUMENT);
  kamino::v1::CommitRequest commit;
  commit.mutable_request_id()->set_client_id(7);
  commit.mutable_request_id()->set_number(1);
  for (int i = 0; i < 1001; ++i) commit.add_then_operations();
  kamino::v1::CommitResponse committed;
  EXPECT_EQ(DetailOf(Send(&Stub::Commit, commit, &committed)).reason(),
            kamino::v1::REASON_INVALID_ARGUMENT);
  kamino::v1::CallRequest call;
  *call.mutable_request_id() = commit.request_id();
  kamino::v1::CallResponse called;
  for (const char* name : {"", "kv.put", "kamino.format", "none"}) {
    call.set_procedure(name);
    EXPECT_EQ(DetailOf(Send(&Stub::Call, call, &called)).reason(),
              kamino::v1::REASON_UNKNOWN_PROCEDURE)
        << name;
  }
}

TEST_F(NodeServerTest, AnAbandonedReadIsNotDone) {
  views_.Install(1);
  ASSERT_TRUE(Put("a", "1", 1).ok());
  kamino::v1::GetRequest get;
  get.set_key("a");
  for (int i = 0; i < kTries && Status().reads().given_up() == 0; ++i) {
    SendAndGiveUp<kamino::v1::GetResponse>(&Stub::Get, get);
  }
  EXPECT_GT(Status().reads().given_up(), 0u);
  EXPECT_EQ(Status().reads().shed(), 0u);
}

TEST_F(NodeServerTest, AnAbandonedMutationIsNotExecuted) {
  views_.Install(1);
  ASSERT_TRUE(Put("a", "1", 1).ok());
  kamino::v1::PutRequest put;
  put.set_key("a");
  put.set_value("given up");
  kamino::v1::GetResponse got;
  int tries = 0;
  do {
    ASSERT_LT(++tries, kTries);
    ASSERT_TRUE(Put("a", "1", 2 * tries).ok());
    put.mutable_request_id()->set_client_id(7);
    put.mutable_request_id()->set_number(2 * tries + 1);
    SendAndGiveUp<kamino::v1::PutResponse>(&Stub::Put, put);
    ASSERT_TRUE(Get("a", &got).ok());
  } while (got.value() != "1");
  // Its number still names nothing, so the next attempt is the first.
  ASSERT_TRUE(Put("a", "again", 2 * tries + 1).ok());
  ASSERT_TRUE(Get("a", &got).ok());
  EXPECT_EQ(got.value(), "again");
}

TEST_F(NodeServerTest, AnswersCountUntilTheyAreSent) {
  views_.Install(1);
  const std::string large(1 << 20, 'x');
  ASSERT_TRUE(Put("a", large, 1).ok());
  kamino::v1::BatchGetRequest batch;
  for (int i = 0; i < 2; ++i) batch.add_keys("a");
  kamino::v1::CommitRequest commit;
  commit.mutable_request_id()->set_client_id(8);
  commit.mutable_request_id()->set_number(1);
  for (int i = 0; i < 4; ++i) {
    grpc::ClientContext context;
    auto scan = stub_->Scan(&context, kamino::v1::ScanRequest());
    kamino::v1::ScanResponse part;
    ASSERT_TRUE(scan->Read(&part));
    context.TryCancel();  // in the middle
    kamino::v1::BatchGetResponse results;
    ASSERT_TRUE(Send(&Stub::BatchGet, batch, &results).ok());
    kamino::v1::CommitResponse committed;
    ASSERT_TRUE(Send(&Stub::Commit, commit, &committed).ok());
  }
  // The server frees them when it has seen that the calls are over.
  while (Status().reads().unsent_bytes() > 0 ||
         Status().reads().waiting() > 1 ||
         node_->meters().results.stats().unsent_bytes > 0) {
  }
  EXPECT_EQ(Status().reads().unsent_bytes(), 0u);
}

class NoRoomTest : public NodeServerTest {
 protected:
  NoRoomTest() : NodeServerTest(Options()) {}

  static CallLoadOptions Options() {
    CallLoadOptions options;
    options.max_unsent_bytes = 0;
    return options;
  }
};

TEST_F(NoRoomTest, ReadsAreRefusedAndWritesAreNot) {
  views_.Install(1);
  ASSERT_TRUE(Put("a", "1", 1).ok());
  kamino::v1::GetResponse got;
  const grpc::Status status = Get("a", &got);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailOf(status).reason(), kamino::v1::REASON_OVERLOADED);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  google::rpc::RetryInfo retry;
  ASSERT_EQ(details.details_size(), 2);
  ASSERT_TRUE(details.details(1).UnpackTo(&retry));
  EXPECT_GT(retry.retry_delay().nanos(), 0);
  grpc::ClientContext context;
  auto scan = stub_->Scan(&context, kamino::v1::ScanRequest());
  kamino::v1::ScanResponse part;
  EXPECT_FALSE(scan->Read(&part));
  EXPECT_EQ(DetailOf(scan->Finish()).reason(), kamino::v1::REASON_OVERLOADED);
  EXPECT_EQ(Status().reads().shed(), 2u);
}

class LittleRoomTest : public NodeServerTest {
 protected:
  LittleRoomTest() : NodeServerTest(Room(1 << 20), Room(0)) {}

  static CallLoadOptions Room(int64_t unsent_bytes) {
    CallLoadOptions options;
    options.max_unsent_bytes = unsent_bytes;
    return options;
  }
};

TEST_F(LittleRoomTest, UnreadAnswersTakeTheRoomOfOtherReaders) {
  views_.Install(1);
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(Put(absl::StrCat("a", i), large, i + 1).ok());
  }
  ASSERT_TRUE(Put("b", "small", 5).ok());
  // More than a connection takes before its reader does, as long as gRPC does
  // not find out that it could take more.
  grpc::ChannelArguments narrow;
  narrow.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  const auto stub = kamino::v1::KaminoService::NewStub(
      rpc::MakePlainChannel(absl::StrCat("127.0.0.1:", server_->port()),
                            rpc::ChannelCredentials(), narrow));
  grpc::ClientContext context;
  auto scan = stub->Scan(&context, kamino::v1::ScanRequest());
  kamino::v1::GetResponse got;
  grpc::Status status;
  for (int tries = 0; tries < kTries && status.ok(); ++tries) {
    status = Get("b", &got);
  }
  EXPECT_EQ(DetailOf(status).reason(), kamino::v1::REASON_OVERLOADED);
  EXPECT_GT(Status().reads().unsent_bytes(), 0u);
  context.TryCancel();
  for (int tries = 0; tries < kTries && !status.ok(); ++tries) {
    status = Get("b", &got);
  }
  EXPECT_TRUE(status.ok()) << status.error_message();
}

class NoPatienceTest : public NodeServerTest {
 protected:
  NoPatienceTest() : NodeServerTest(Options()) {}

  static CallLoadOptions Options() {
    CallLoadOptions options;
    options.max_unsent_time = absl::ZeroDuration();
    return options;
  }
};

TEST_F(NoPatienceTest, AnUnreadScanEndsWithAReason) {
  views_.Install(1);
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(Put(absl::StrCat("a", i), large, i + 1).ok());
  }
  grpc::ChannelArguments narrow;
  narrow.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  const auto stub = kamino::v1::KaminoService::NewStub(
      rpc::MakePlainChannel(absl::StrCat("127.0.0.1:", server_->port()),
                            rpc::ChannelCredentials(), narrow));
  grpc::ClientContext context;  // without a deadline
  auto scan = stub->Scan(&context, kamino::v1::ScanRequest());
  while (node_->meters().reads.stats().ended == 0) {
  }
  kamino::v1::ScanResponse part;
  while (scan->Read(&part)) {
  }
  const grpc::Status status = scan->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("has not taken"), std::string::npos)
      << status.error_message();
  while (node_->meters().reads.stats().unsent_bytes > 0) {
  }
}

TEST_F(NodeServerTest, OneConnectionDoesNotTakeAllPlacesOfWatchers) {
  views_.Install(1);
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<
      grpc::ClientReaderInterface<kamino::v1::WatchChainResponse>>>
      watches;
  kamino::v1::WatchChainResponse seen;
  for (int i = 0; i < ViewBoard::kMaxOfOnePeer; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    watches.push_back(stub_->WatchChain(contexts.back().get(),
                                        kamino::v1::WatchChainRequest()));
    ASSERT_TRUE(watches.back()->Read(&seen));
  }
  grpc::ClientContext context;
  auto one_more = stub_->WatchChain(&context, kamino::v1::WatchChainRequest());
  EXPECT_FALSE(one_more->Read(&seen));
  EXPECT_EQ(DetailOf(one_more->Finish()).reason(),
            kamino::v1::REASON_OVERLOADED);
  grpc::ChannelArguments own;
  own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto other = kamino::v1::KaminoService::NewStub(
      rpc::MakePlainChannel(absl::StrCat("127.0.0.1:", server_->port()),
                            rpc::ChannelCredentials(), own));
  grpc::ClientContext others;
  auto watch = other->WatchChain(&others, kamino::v1::WatchChainRequest());
  EXPECT_TRUE(watch->Read(&seen));
  others.TryCancel();
  for (auto& each : contexts) each->TryCancel();
}

TEST_F(LittleRoomTest, CommitsAreRefusedWhereResultsHaveNoRoom) {
  views_.Install(1);
  kamino::v1::CommitRequest commit;
  commit.mutable_request_id()->set_client_id(8);
  commit.mutable_request_id()->set_number(1);
  kamino::v1::CommitResponse committed;
  EXPECT_EQ(DetailOf(Send(&Stub::Commit, commit, &committed)).reason(),
            kamino::v1::REASON_OVERLOADED);
}

TEST_F(NodeServerTest, ScanBoundsHaveALengthLimit) {
  views_.Install(1);
  for (const size_t length : {1025, 1026}) {
    kamino::v1::ScanRequest request;
    request.set_start_key(std::string(length, 'k'));
    grpc::ClientContext context;
    auto scan = stub_->Scan(&context, request);
    kamino::v1::ScanResponse part;
    while (scan->Read(&part)) {
    }
    EXPECT_EQ(scan->Finish().ok(), length == 1025);
  }
}

TEST_F(NodeServerTest, ANodeWithoutLeaseServesNothing) {
  views_.Install(1);
  ASSERT_TRUE(Put("a", "1", 1).ok());
  views_.lease_ = false;
  kamino::v1::GetResponse got;
  EXPECT_EQ(DetailOf(Get("a", &got)).reason(),
            kamino::v1::REASON_RECONFIGURING);
  EXPECT_EQ(DetailOf(Put("a", "1", 1)).reason(),  // from the stored outcome
            kamino::v1::REASON_RECONFIGURING);
  views_.lease_ = true;
  EXPECT_TRUE(Get("a", &got).ok());
}

TEST_F(NodeServerTest, HealthAndWatchersFollowTheView) {
  grpc::ClientContext context;
  auto watch = stub_->WatchChain(&context, kamino::v1::WatchChainRequest());
  views_.Install(1);
  kamino::v1::WatchChainResponse seen;
  ASSERT_TRUE(watch->Read(&seen));
  EXPECT_EQ(seen.chain().view_id(), 1u);
  EXPECT_EQ(seen.chain().nodes(0).role(), kamino::v1::ROLE_SINGLE);
  const auto becomes = [this](HealthCheckResponse::ServingStatus wanted) {
    // Reported with the next tick of the core thread.
    while (Health(kHeadHealth) != wanted || Health(kTailHealth) != wanted) {
    }
  };
  becomes(HealthCheckResponse::SERVING);
  views_.Install(2, /*with_us=*/false);
  ASSERT_TRUE(watch->Read(&seen));
  EXPECT_EQ(seen.chain().view_id(), 2u);
  becomes(HealthCheckResponse::NOT_SERVING);
  kamino::v1::GetResponse got;
  const kamino::v1::ErrorDetail detail = DetailOf(Get("a", &got));
  EXPECT_EQ(detail.reason(), kamino::v1::REASON_NOT_TAIL);
  EXPECT_EQ(detail.chain().nodes(0).address(), "other:1");
  EXPECT_EQ(DetailOf(Put("a", "1", 1)).reason(), kamino::v1::REASON_NOT_HEAD);
  context.TryCancel();
}

TEST_F(NodeServerTest, AnOpenStreamDoesNotDelayTheStop) {
  grpc::ClientContext context;
  auto watch = stub_->WatchChain(&context, kamino::v1::WatchChainRequest());
  views_.Install(1);
  kamino::v1::WatchChainResponse seen;
  ASSERT_TRUE(watch->Read(&seen));
  node_->Stop();
  server_.reset();
  EXPECT_FALSE(watch->Read(&seen));
}

}  // namespace
}  // namespace kamino::node
