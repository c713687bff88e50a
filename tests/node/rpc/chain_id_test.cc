// A node's answers to requests that name a chain or a cluster, and the names in
// its answers.
#include <string>
#include <type_traits>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"
#include "kamino/v1/session.grpc.pb.h"
#include "metrics/counters.h"
#include "rpc/cluster_calls.h"
#include "tests/faults/planted.h"
#include "tests/node/rpc/node_server_fixture.h"

namespace kamino::node {
namespace {

// Calls `ask` with each method of the service that has one answer, and with
// messages for it.
template <typename Stub, typename Ask>
void AskEach(const Ask& ask) {
  ask(&Stub::Get, kamino::v1::GetRequest(), kamino::v1::GetResponse());
  ask(&Stub::BatchGet, kamino::v1::BatchGetRequest(),
      kamino::v1::BatchGetResponse());
  ask(&Stub::Put, kamino::v1::PutRequest(), kamino::v1::PutResponse());
  ask(&Stub::Patch, kamino::v1::PatchRequest(), kamino::v1::PatchResponse());
  ask(&Stub::Delete, kamino::v1::DeleteRequest(), kamino::v1::DeleteResponse());
  ask(&Stub::Commit, kamino::v1::CommitRequest(), kamino::v1::CommitResponse());
  kamino::v1::CallRequest call;
  call.set_procedure("bank.transfer");
  ask(&Stub::Call, call, kamino::v1::CallResponse());
  ask(&Stub::GetOutcome, kamino::v1::GetOutcomeRequest(),
      kamino::v1::GetOutcomeResponse());
  ask(&Stub::GetChain, kamino::v1::GetChainRequest(),
      kamino::v1::GetChainResponse());
  ask(&Stub::GetNodeStatus, kamino::v1::GetNodeStatusRequest(),
      kamino::v1::GetNodeStatusResponse());
}

TEST_F(NodeServerTest, EveryRequestForAnotherChainIsRefused) {
  views_.Install(1);
  const auto refused = [&](auto method, auto request, auto response) {
    if constexpr (requires { request.mutable_request_id(); }) {
      request.mutable_request_id()->set_client_id(7);
      request.mutable_request_id()->set_number(1);
    }
    request.set_chain_id(7);
    const grpc::Status status = Send(method, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.error_message(), "chain 7 was asked for; here is chain 1");
    const kamino::v1::ErrorDetail detail = DetailOf(status);
    EXPECT_EQ(detail.reason(), kamino::v1::REASON_UNKNOWN_CHAIN);
    EXPECT_EQ(detail.chain_id(), kOnlyChain);
  };
  AskEach<Stub>(refused);

  grpc::ClientContext scan_context;
  kamino::v1::ScanRequest scan;
  scan.set_chain_id(7);
  EXPECT_EQ(DetailOf(stub_->Scan(&scan_context, scan)->Finish()).reason(),
            kamino::v1::REASON_UNKNOWN_CHAIN);
  grpc::ClientContext watch_context;
  kamino::v1::WatchChainRequest watch;
  watch.set_chain_id(7);
  EXPECT_EQ(
      DetailOf(stub_->WatchChain(&watch_context, watch)->Finish()).reason(),
      kamino::v1::REASON_UNKNOWN_CHAIN);
}

TEST_F(NodeServerTest, EveryAnswerNamesTheChain) {
  kamino::v1::GetResponse got;
  EXPECT_EQ(DetailOf(Get("a", &got)).chain_id(), kOnlyChain);  // no view yet
  views_.Install(1);
  kamino::v1::PutRequest put;
  put.mutable_request_id()->set_client_id(7);
  put.mutable_request_id()->set_number(1);
  put.set_key("a");
  put.set_chain_id(kOnlyChain);
  kamino::v1::PutResponse written;
  ASSERT_TRUE(Send(&Stub::Put, put, &written).ok());
  EXPECT_EQ(written.header().chain_id(), kOnlyChain);
  ASSERT_TRUE(Get("a", &got).ok());
  EXPECT_EQ(got.header().chain_id(), kOnlyChain);
  kamino::v1::GetChainResponse chain;
  ASSERT_TRUE(
      Send(&Stub::GetChain, kamino::v1::GetChainRequest(), &chain).ok());
  EXPECT_EQ(chain.chain().chain_id(), kOnlyChain);
  grpc::ClientContext scan_context;
  kamino::v1::ScanResponse part;
  ASSERT_TRUE(
      stub_->Scan(&scan_context, kamino::v1::ScanRequest())->Read(&part));
  EXPECT_EQ(part.header().chain_id(), kOnlyChain);
  grpc::ClientContext watch_context;
  kamino::v1::WatchChainResponse seen;
  ASSERT_TRUE(stub_->WatchChain(&watch_context, kamino::v1::WatchChainRequest())
                  ->Read(&seen));
  EXPECT_EQ(seen.header().chain_id(), kOnlyChain);
}

constexpr char kOurs[] = "00112233445566778899aabbccddeeff";
constexpr char kAnother[] = "ffeeddccbbaa99887766554433221100";

class ClusterNamesTest : public NodeServerTest {
 protected:
  ClusterNamesTest() {
    views_.cluster_uuid_ = absl::HexStringToBytes(kOurs);
    views_.Install(1);
    Status();  // the core thread has the view by then
  }

  // `call` makes a call by a context that names `uuid`; "": none.
  template <typename MakeCall>
  grpc::Status By(const std::string& uuid, const MakeCall& call) {
    grpc::ClientContext context;
    if (!uuid.empty()) context.AddMetadata(rpc::kClusterUuidKey, uuid);
    const grpc::Status status = call(&context);
    answered_ = rpc::ClusterUuidIn(context);
    return status;
  }
  template <typename Method, typename Request, typename Response>
  grpc::Status Ask(const std::string& uuid, Method method, Request request,
                   Response response) {
    if constexpr (requires { request.mutable_request_id(); }) {
      request.mutable_request_id()->set_client_id(7);
      request.mutable_request_id()->set_number(1);
    }
    if constexpr (requires { request.set_key(""); }) request.set_key("a");
    if constexpr (requires { request.add_keys(""); }) request.add_keys("a");
    return By(uuid, [&](grpc::ClientContext* context) {
      return (stub_.get()->*method)(context, request, &response);
    });
  }
  void ExpectRefused(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION)
        << status.error_message();
    const kamino::v1::ErrorDetail detail = DetailOf(status);
    EXPECT_EQ(detail.reason(), kamino::v1::REASON_OTHER_CLUSTER);
    EXPECT_EQ(detail.served_by(), "n1");
    EXPECT_FALSE(detail.has_chain()) << "nobody is to follow it";
    EXPECT_EQ(answered_, kOurs);
  }
  static uint64_t Unnamed() {
    for (const metrics::Counters* each : metrics::AllCounters()) {
      if (each->name() != "kamino_requests_without_cluster_total") continue;
      uint64_t sum = 0;
      for (const auto& [labels, counter] : each->All()) sum += counter->Read();
      return sum;
    }
    return 0;
  }

  std::string answered_;  // that the last answer named
};

TEST_F(ClusterNamesTest, EveryRequestForAnotherClusterIsRefused) {
  const auto refused = [&](auto method, const auto& request, auto response) {
    SCOPED_TRACE(request.GetTypeName());
    ExpectRefused(Ask(kAnother, method, request, response));
  };
  AskEach<Stub>(refused);
  ExpectRefused(By(kAnother, [&](grpc::ClientContext* context) {
    return stub_->Scan(context, kamino::v1::ScanRequest())->Finish();
  }));
  ExpectRefused(By(kAnother, [&](grpc::ClientContext* context) {
    return stub_->WatchChain(context, kamino::v1::WatchChainRequest())
        ->Finish();
  }));
  EXPECT_EQ(Status().admission().committed(), 0u);
}

TEST_F(ClusterNamesTest, EverySessionSetUpForAnotherClusterIsRefused) {
  const auto sessions = kamino::v1::SessionService::NewStub(channel_);
  ExpectRefused(By(kAnother, [&](grpc::ClientContext* context) {
    kamino::v1::GetCarriersResponse response;
    return sessions->GetCarriers(context, {}, &response);
  }));
  ExpectRefused(By(kAnother, [&](grpc::ClientContext* context) {
    kamino::v1::ConnectPairResponse response;
    return sessions->ConnectPair(context, {}, &response);
  }));
  ExpectRefused(By(kAnother, [&](grpc::ClientContext* context) {
    kamino::v1::GetLinkPassResponse response;
    return sessions->GetLinkPass(context, {}, &response);
  }));
}

TEST_F(ClusterNamesTest, RequestsForThisClusterOrNoneAreServed) {
  for (const std::string uuid : {kOurs, ""}) {
    const uint64_t before = Unnamed();
    const grpc::Status put = Ask(uuid, &Stub::Put, kamino::v1::PutRequest(),
                                 kamino::v1::PutResponse());
    EXPECT_TRUE(put.ok()) << put.error_message();
    EXPECT_EQ(answered_, kOurs);
    EXPECT_EQ(Unnamed() - before, uuid.empty() ? 1u : 0u);
  }
  // A client that learns which cluster it meets is not counted.
  const uint64_t before = Unnamed();
  kamino::v1::GetChainResponse chain;
  ASSERT_TRUE(
      Send(&Stub::GetChain, kamino::v1::GetChainRequest(), &chain).ok());
  EXPECT_EQ(chain.chain().cluster_uuid(), kOurs);
  EXPECT_EQ(Unnamed(), before);
}

TEST_F(ClusterNamesTest, ANodeThatDoesNotCompareIsDetected) {
  const faults::Planted fault("cluster-uuids-are-not-compared");
  EXPECT_TRUE(Ask(kAnother, &Stub::Put, kamino::v1::PutRequest(),
                  kamino::v1::PutResponse())
                  .ok());
  EXPECT_EQ(Status().admission().committed(), 1u);
}

// A session that is set up before the first view would be served by whatever
// cluster that view makes.
TEST_F(NodeServerTest, BeforeTheFirstViewNoSessionOfAKnownClusterIsSetUp) {
  const auto sessions = kamino::v1::SessionService::NewStub(channel_);
  const auto ask = [&](const std::string& uuid) {
    grpc::ClientContext context;
    if (!uuid.empty()) context.AddMetadata(rpc::kClusterUuidKey, uuid);
    kamino::v1::GetCarriersResponse response;
    return sessions->GetCarriers(&context, {}, &response);
  };
  EXPECT_TRUE(ask("").ok());
  // Data calls, too; GetNodeStatus is answered.
  grpc::ClientContext get_context;
  get_context.AddMetadata(rpc::kClusterUuidKey, kOurs);
  kamino::v1::GetRequest get;
  get.set_key("a");
  kamino::v1::GetResponse got;
  EXPECT_THAT(stub_->Get(&get_context, get, &got).error_message(),
              ::testing::HasSubstr("does not know its cluster's uuid yet"));
  grpc::ClientContext status_context;
  status_context.AddMetadata(rpc::kClusterUuidKey, kOurs);
  kamino::v1::GetNodeStatusResponse status;
  EXPECT_TRUE(stub_->GetNodeStatus(&status_context, {}, &status).ok());
  EXPECT_EQ(DetailOf(ask(kOurs)).reason(), kamino::v1::REASON_RECONFIGURING);
  {
    const faults::Planted fault("cluster-is-served-before-it-is-known");
    EXPECT_TRUE(ask(kOurs).ok());
  }
  views_.cluster_uuid_ = absl::HexStringToBytes(kOurs);
  views_.Install(1);
  Status();  // the core thread has the view by then
  EXPECT_TRUE(ask(kOurs).ok());
}

// Before the first view of a new cluster, or of one that a release without
// uuids made.
TEST_F(NodeServerTest, ANodeWithoutClusterServesAllRequests) {
  views_.Install(1);
  grpc::ClientContext context;
  context.AddMetadata(rpc::kClusterUuidKey, kAnother);
  kamino::v1::GetNodeStatusResponse response;
  EXPECT_TRUE(stub_->GetNodeStatus(&context, {}, &response).ok());
  EXPECT_EQ(rpc::ClusterUuidIn(context), "");
}

}  // namespace
}  // namespace kamino::node
