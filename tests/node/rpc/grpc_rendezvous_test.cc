// Two nodes' rendezvous over a real gRPC server; what they exchange is made up.
#include "node/rpc/grpc_rendezvous.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "rpc/credentials.h"
#include "tests/patience.h"

namespace kamino::node {
namespace {

using transport::GidKind;
using transport::VerbsEndpoint;

VerbsEndpoint Sample(uint32_t number) {
  VerbsEndpoint endpoint;
  endpoint.version = 1;
  endpoint.device = "rxe0";
  endpoint.port = 1;
  endpoint.gid_index = 3;
  endpoint.address.number = number;
  endpoint.address.psn = 0xabcdef;
  endpoint.address.lid = 17;
  for (uint8_t i = 0; i < 16; ++i) endpoint.address.gid[i] = i;
  endpoint.address.kind = GidKind::kRoceV2;
  endpoint.address.mtu = 4096;
  endpoint.ring_address = 0x7f0012345678;
  endpoint.ring_key = 0xfeedbeef;
  endpoint.ring_bytes = 8 << 20;
  endpoint.max_message = 5 << 20;
  endpoint.era = 42;
  return endpoint;
}

void ExpectEqual(const VerbsEndpoint& a, const VerbsEndpoint& b) {
  EXPECT_EQ(a.version, b.version);
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.port, b.port);
  EXPECT_EQ(a.gid_index, b.gid_index);
  EXPECT_EQ(a.address.number, b.address.number);
  EXPECT_EQ(a.address.psn, b.address.psn);
  EXPECT_EQ(a.address.lid, b.address.lid);
  EXPECT_EQ(a.address.gid, b.address.gid);
  EXPECT_EQ(a.address.kind, b.address.kind);
  EXPECT_EQ(a.address.mtu, b.address.mtu);
  EXPECT_EQ(a.ring_address, b.ring_address);
  EXPECT_EQ(a.ring_key, b.ring_key);
  EXPECT_EQ(a.ring_bytes, b.ring_bytes);
  EXPECT_EQ(a.max_message, b.max_message);
  EXPECT_EQ(a.era, b.era);
}

class GrpcRendezvousTest : public ::testing::Test {
 protected:
  GrpcRendezvousTest() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port);
    builder.RegisterService(&server_);
    grpc_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  ~GrpcRendezvousTest() override {
    client_.Stop();
    grpc_->Shutdown();
    server_.Stop();
  }

  absl::StatusOr<VerbsEndpoint> Ask(
      const VerbsEndpoint& offer,
      absl::Duration timeout = Patience(absl::Seconds(20))) {
    return AskFrom(&client_, offer, timeout);
  }
  absl::StatusOr<VerbsEndpoint> AskFrom(
      GrpcRendezvous* from, const VerbsEndpoint& offer,
      absl::Duration timeout = Patience(absl::Seconds(20))) {
    absl::Notification answered;
    absl::StatusOr<VerbsEndpoint> result = absl::UnknownError("no answer");
    from->Exchange(address_, offer, timeout,
                   [&](absl::StatusOr<VerbsEndpoint> answer) {
                     result = std::move(answer);
                     answered.Notify();
                   });
    answered.WaitForNotification();
    return result;
  }

  GrpcRendezvous server_{"c", kOnlyChain};
  GrpcRendezvous client_{"c", kOnlyChain};
  std::unique_ptr<grpc::Server> grpc_;
  std::string address_;
};

TEST_F(GrpcRendezvousTest, CarriesEveryFieldBothWays) {
  ASSERT_TRUE(server_
                  .Listen("",
                          [](const VerbsEndpoint& offer,
                             transport::VerbsRendezvous::Reply reply) {
                            ExpectEqual(offer, Sample(7));
                            reply(Sample(8));
                          })
                  .ok());
  auto answer = Ask(Sample(7));
  ASSERT_TRUE(answer.ok()) << answer.status();
  ExpectEqual(*answer, Sample(8));
}

TEST_F(GrpcRendezvousTest, CarriesEveryKindOfGid) {
  ASSERT_TRUE(
      server_
          .Listen("",
                  [](const VerbsEndpoint& offer,
                     transport::VerbsRendezvous::Reply reply) { reply(offer); })
          .ok());
  for (const GidKind kind :
       {GidKind::kInfiniBand, GidKind::kRoceV1, GidKind::kRoceV2}) {
    VerbsEndpoint offer = Sample(7);
    offer.address.kind = kind;
    auto answer = Ask(offer);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->address.kind, kind);
  }
}

TEST_F(GrpcRendezvousTest, RefusalsAndTheirReasonsArrive) {
  EXPECT_TRUE(absl::IsUnavailable(Ask(Sample(7)).status()));  // no listener
  ASSERT_TRUE(server_
                  .Listen("",
                          [](const VerbsEndpoint&,
                             transport::VerbsRendezvous::Reply reply) {
                            reply(absl::UnavailableError("era 42 is over"));
                          })
                  .ok());
  const absl::Status refused = Ask(Sample(7)).status();
  EXPECT_TRUE(absl::IsUnavailable(refused));
  EXPECT_NE(refused.message().find("era 42 is over"), std::string::npos);
  EXPECT_TRUE(absl::IsAlreadyExists(server_.Listen("", nullptr).status()));
  server_.StopListening("");
  EXPECT_TRUE(absl::IsUnavailable(Ask(Sample(7)).status()));
}

TEST_F(GrpcRendezvousTest, AForeignClusterIsTurnedAway) {
  GrpcRendezvous foreign("d", kOnlyChain);
  EXPECT_TRUE(
      absl::IsFailedPrecondition(AskFrom(&foreign, Sample(7)).status()));
}

TEST_F(GrpcRendezvousTest, AnotherChainIsTurnedAway) {
  GrpcRendezvous other("c", 2);
  EXPECT_EQ(AskFrom(&other, Sample(7)).status(),
            absl::FailedPreconditionError(
                "verbs set-up: chain 2 was asked for; here is chain 1"));
}

TEST_F(GrpcRendezvousTest, NonsenseIsTurnedAway) {
  ASSERT_TRUE(server_
                  .Listen("",
                          [](const VerbsEndpoint&,
                             transport::VerbsRendezvous::Reply reply) {
                            ADD_FAILURE() << "nonsense was taken in";
                            reply(Sample(8));
                          })
                  .ok());
  VerbsEndpoint offer = Sample(1 << 24);  // over 24 bits
  EXPECT_TRUE(absl::IsFailedPrecondition(Ask(offer).status()));
  offer = Sample(7);
  offer.address.psn = 1 << 24;
  EXPECT_TRUE(absl::IsFailedPrecondition(Ask(offer).status()));
  offer = Sample(7);
  offer.address.kind = static_cast<GidKind>(9);
  EXPECT_TRUE(absl::IsFailedPrecondition(Ask(offer).status()));
}

TEST_F(GrpcRendezvousTest, AMissingAnswerTimesOut) {
  transport::VerbsRendezvous::Reply held;
  absl::Notification offered;
  ASSERT_TRUE(server_
                  .Listen("",
                          [&](const VerbsEndpoint&,
                              transport::VerbsRendezvous::Reply reply) {
                            held = std::move(reply);
                            offered.Notify();
                          })
                  .ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      Ask(Sample(7), absl::Milliseconds(300)).status()));
  offered.WaitForNotification();
  held(Sample(8));  // late; the server must be able to end
}

TEST_F(GrpcRendezvousTest, StopEndsPendingExchanges) {
  transport::VerbsRendezvous::Reply held;
  absl::Notification offered, answered;
  ASSERT_TRUE(server_
                  .Listen("",
                          [&](const VerbsEndpoint&,
                              transport::VerbsRendezvous::Reply reply) {
                            held = std::move(reply);
                            offered.Notify();
                          })
                  .ok());
  client_.Exchange(address_, Sample(7), absl::Seconds(60),
                   [&](const absl::StatusOr<VerbsEndpoint>& answer) {
                     EXPECT_FALSE(answer.ok());
                     answered.Notify();
                   });
  offered.WaitForNotification();
  client_.Stop();
  EXPECT_TRUE(answered.HasBeenNotified());
  EXPECT_TRUE(absl::IsUnavailable(Ask(Sample(7)).status()));
  held(Sample(8));
}

}  // namespace
}  // namespace kamino::node
