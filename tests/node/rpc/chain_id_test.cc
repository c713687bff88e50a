// What a node says to requests that name a chain, and which one its answers
// name.
#include "gtest/gtest.h"
#include "tests/node/rpc/node_server_fixture.h"

namespace kamino::node {
namespace {

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
  refused(&Stub::Get, kamino::v1::GetRequest(), kamino::v1::GetResponse());
  refused(&Stub::BatchGet, kamino::v1::BatchGetRequest(),
          kamino::v1::BatchGetResponse());
  refused(&Stub::Put, kamino::v1::PutRequest(), kamino::v1::PutResponse());
  refused(&Stub::Patch, kamino::v1::PatchRequest(),
          kamino::v1::PatchResponse());
  refused(&Stub::Delete, kamino::v1::DeleteRequest(),
          kamino::v1::DeleteResponse());
  refused(&Stub::Commit, kamino::v1::CommitRequest(),
          kamino::v1::CommitResponse());
  refused(&Stub::Call, kamino::v1::CallRequest(), kamino::v1::CallResponse());
  refused(&Stub::GetOutcome, kamino::v1::GetOutcomeRequest(),
          kamino::v1::GetOutcomeResponse());
  refused(&Stub::GetChain, kamino::v1::GetChainRequest(),
          kamino::v1::GetChainResponse());
  refused(&Stub::GetNodeStatus, kamino::v1::GetNodeStatusRequest(),
          kamino::v1::GetNodeStatusResponse());

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

}  // namespace
}  // namespace kamino::node
