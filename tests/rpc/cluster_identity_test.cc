// Calls between processes of one cluster, of two, and of none yet.
#include "rpc/cluster_identity.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/cluster_calls.h"
#include "rpc/detail.h"
#include "rpc/server.h"
#include "rpc/status.h"
#include "tests/faults/planted.h"

namespace kamino::rpc {
namespace {

using kamino::v1::PutRequest;
using kamino::v1::PutResponse;
using kamino::v1::WatchChainRequest;
using kamino::v1::WatchChainResponse;
using ::testing::HasSubstr;

constexpr char kAlpha[] = "00112233445566778899aabbccddeeff";
constexpr char kBeta[] = "ffeeddccbbaa99887766554433221100";

class Service final : public kamino::v1::KaminoService::CallbackService {
 public:
  ClusterIdentity cluster;
  bool compares = true;
  bool serves_data = false;
  int executed = 0;

 private:
  absl::Status Meet(grpc::CallbackServerContext* context) {
    absl::Status met = serves_data ? MeetClient(cluster, context)
                                   : MeetCaller(cluster, context);
    if (!compares) met = absl::OkStatus();
    if (met.ok()) ++executed;
    return met;
  }
  grpc::ServerUnaryReactor* Put(grpc::CallbackServerContext* context,
                                const PutRequest*, PutResponse*) override {
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(ToGrpc(Meet(context)));
    return reactor;
  }
  grpc::ServerWriteReactor<WatchChainResponse>* WatchChain(
      grpc::CallbackServerContext* context, const WatchChainRequest*) override {
    // Never ends by itself.
    class Stream final : public grpc::ServerWriteReactor<WatchChainResponse> {
     public:
      Stream() { StartWrite(&response_); }
      void OnCancel() override { Finish(grpc::Status::CANCELLED); }
      void OnDone() override { delete this; }

     private:
      WatchChainResponse response_;
    };
    (void)Meet(context);
    return new Stream;
  }
};

class ClusterIdentityTest : public ::testing::Test {
 protected:
  ClusterIdentityTest() {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    server_ = *Server::Start(options, {&service_});
    address_ = absl::StrCat("127.0.0.1:", server_->port());
    ChannelOptions channel;
    channel.cluster = client_;
    stub_ = kamino::v1::KaminoService::NewStub(MakeChannel(address_, channel));
  }

  absl::Status Put() {
    grpc::ClientContext context;
    PutResponse response;
    const absl::Status status =
        FromGrpc(stub_->Put(&context, PutRequest(), &response));
    answered_ = ClusterUuidIn(context);
    return status;
  }

  Service service_;
  const std::shared_ptr<ClusterIdentity> client_ =
      std::make_shared<ClusterIdentity>();
  std::unique_ptr<Server> server_;
  std::string address_;
  std::unique_ptr<kamino::v1::KaminoService::Stub> stub_;
  std::string answered_;  // the uuid that the last answer named
};

TEST_F(ClusterIdentityTest, TheSameClusterIsServed) {
  service_.cluster.Set("alpha", kAlpha);
  client_->Pin("alpha", kAlpha);
  EXPECT_EQ(Put(), absl::OkStatus());
  EXPECT_EQ(answered_, kAlpha);
  EXPECT_EQ(service_.executed, 1);
}

TEST_F(ClusterIdentityTest, AnotherClusterIsRefused) {
  service_.cluster.Set("beta", kBeta);
  client_->Pin("alpha", kAlpha);
  const absl::Status refused = Put();
  EXPECT_TRUE(IsOtherCluster(refused)) << refused;
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_EQ(answered_, kBeta);
  EXPECT_THAT(refused.message(), HasSubstr("beta (uuid ffeeddcc"));
  EXPECT_THAT(refused.message(), HasSubstr("of uuid 00112233"));
  EXPECT_EQ(service_.executed, 0);
  // A cluster of the same name with another uuid is refused as well.
  service_.cluster.Set("alpha", kBeta);
  EXPECT_TRUE(IsOtherCluster(Put()));
  EXPECT_EQ(service_.executed, 0);
}

TEST_F(ClusterIdentityTest, AnUnknownClusterMatchesAny) {
  EXPECT_EQ(Put(), absl::OkStatus());
  EXPECT_EQ(answered_, "");
  client_->Pin("alpha", kAlpha);
  EXPECT_EQ(Put(), absl::OkStatus()) << "the server knows of no cluster";
  EXPECT_EQ(answered_, "");
}

TEST_F(ClusterIdentityTest, DataIsNotServedBeforeTheServerKnowsItsCluster) {
  service_.serves_data = true;
  service_.cluster.SetName("beta");
  EXPECT_EQ(Put(), absl::OkStatus()) << "it names no cluster";
  client_->Pin("alpha", kAlpha);
  const absl::Status refused = Put();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_EQ(DetailIn<kamino::v1::ErrorDetail>(refused)->reason(),
            kamino::v1::REASON_RECONFIGURING);
  EXPECT_THAT(refused.message(),
              HasSubstr("does not know its cluster's uuid yet"));
  EXPECT_EQ(service_.executed, 1);
  // A view of a release without uuids.
  service_.cluster.Set("alpha", "");
  EXPECT_EQ(Put(), absl::OkStatus());
  service_.cluster.Set("beta", kBeta);
  EXPECT_TRUE(IsOtherCluster(Put()));
}

TEST_F(ClusterIdentityTest, AServerThatServesTooEarlyIsDetected) {
  const faults::Planted fault("cluster-is-served-before-it-is-known");
  client_->Pin("alpha", kAlpha);
  service_.serves_data = true;
  EXPECT_EQ(Put(), absl::OkStatus());
}

TEST_F(ClusterIdentityTest, AClientThatNamesNoClusterIsServed) {
  service_.cluster.Set("beta", kBeta);
  EXPECT_EQ(Put(), absl::OkStatus());
  EXPECT_EQ(answered_, kBeta);
}

TEST_F(ClusterIdentityTest, AnAnswerOfAnotherClusterIsRejected) {
  service_.compares = false;
  service_.cluster.Set("beta", kBeta);
  client_->Pin("alpha", kAlpha);
  const absl::Status refused = Put();
  EXPECT_TRUE(IsOtherCluster(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr(address_ + " is of the cluster"));
  EXPECT_THAT(refused.message(), HasSubstr("not of cluster alpha (uuid 0011"));
}

TEST_F(ClusterIdentityTest, AStreamOfAnotherClusterEnds) {
  service_.compares = false;
  service_.cluster.Set("beta", kBeta);
  client_->Pin("alpha", kAlpha);
  grpc::ClientContext context;
  auto stream = stub_->WatchChain(&context, WatchChainRequest());
  WatchChainResponse response;
  while (stream->Read(&response)) {
  }
  EXPECT_TRUE(IsOtherCluster(FromGrpc(stream->Finish())));
}

TEST_F(ClusterIdentityTest, TheFirstClusterIsKept) {
  EXPECT_TRUE(client_->Pin("alpha", ""));
  EXPECT_EQ(client_->uuid(), "");
  EXPECT_TRUE(client_->Pin("alpha", kAlpha));
  EXPECT_FALSE(client_->Pin("beta", kBeta));
  EXPECT_EQ(client_->uuid(), kAlpha);
  EXPECT_TRUE(client_->Pin("alpha", kAlpha));
  // A view of a release that did not know uuids takes none away.
  service_.cluster.Set("alpha", kAlpha);
  service_.cluster.Set("alpha", "");
  EXPECT_EQ(service_.cluster.uuid(), kAlpha);
}

TEST_F(ClusterIdentityTest, ErrorsBoundTheNameThatAPeerSends) {
  service_.cluster.Set("beta", kBeta);
  const absl::Status refused =
      service_.cluster.CheckAsked(std::string(4096, '\n'));
  EXPECT_TRUE(IsOtherCluster(refused));
  EXPECT_LT(refused.message().size(), 1024u);
  EXPECT_EQ(refused.message().find('\n'), absl::string_view::npos);
}

TEST_F(ClusterIdentityTest, AServerThatDoesNotCompareIsDetected) {
  const faults::Planted fault("cluster-uuids-are-not-compared");
  service_.cluster.Set("beta", kBeta);
  client_->Pin("alpha", kAlpha);
  EXPECT_EQ(Put(), absl::OkStatus());
  EXPECT_EQ(service_.executed, 1) << "what AnotherClusterIsRefused would see";
}

}  // namespace
}  // namespace kamino::rpc
