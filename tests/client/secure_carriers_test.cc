// The library and a whole node, by each carrier, with certificates.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "security/certificates.h"
#include "security/identity.h"
#include "tests/node/rpc/node_server_fixture.h"
#include "tests/patience.h"
#include "tests/security/test_certificates.h"

namespace kamino::client {
namespace {

using security::Certificates;
using security::Identity;
using security::Role;
using ::testing::HasSubstr;

const Identity kNode = {"c", Role::kNode, "n1"};
const Identity kWriter = {"c", Role::kWriter, "app"};
const Identity kReader = {"c", Role::kReader, "looker"};

struct WithAuthority {
  security::TestAuthority authority;
  security::TlsFiles of_node = authority.Write(kNode);
  std::shared_ptr<Certificates> node = Load(of_node);
  std::shared_ptr<Certificates> caller = authority.Load(kWriter);

  static std::shared_ptr<Certificates> Load(const security::TlsFiles& files) {
    Certificates::Options options;
    options.files = files;
    options.look = absl::InfiniteDuration();
    auto made = Certificates::Load(options);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }
};

class SecureNode : public WithAuthority, public node::NodeServerTest {
 protected:
  SecureNode() : NodeServerTest({}, {}, {}, {WithAuthority::node, caller}) {
    views_.Install(1);
  }

  ClientOptions Options(const std::string& carrier,
                        const security::TlsFiles& files) {
    ClientOptions options;
    options.seeds = {absl::StrCat("127.0.0.1:", server_->port())};
    options.carrier = carrier;
    options.rdma_devices = fabric_;
    options.tls = files;
    options.timeout = Patience(absl::Seconds(20));
    return options;
  }

  std::unique_ptr<Client> Connect(const std::string& carrier,
                                  const security::TlsFiles& files) {
    auto client = Client::Connect(Options(carrier, files));
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  absl::Status PutOne(Client* client) {
    return client->Put("key", absl::StrCat("value", ++puts_)).status();
  }

  // Until there is a session.
  void Enter(Client* client) {
    for (int i = 0; client->session() == 0; ++i) {
      ASSERT_LT(i, 100000);
      ASSERT_TRUE(PutOne(client).ok());
    }
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(PutOne(client).ok());
  }

  std::vector<kamino::v1::Carrier> Carriers() {
    grpc::ClientContext context;
    kamino::v1::GetCarriersResponse response;
    auto stub = kamino::v1::SessionService::NewStub(channel_);
    EXPECT_TRUE(stub->GetCarriers(&context, {}, &response).ok());
    return {response.carriers().begin(), response.carriers().end()};
  }

  int puts_ = 0;
};

class SecureCarriersTest : public SecureNode,
                           public ::testing::WithParamInterface<const char*> {
 protected:
  bool IsLink() const { return GetParam() != std::string("grpc"); }
};

TEST_P(SecureCarriersTest, CallsUseTheCarrier) {
  auto client = Connect(GetParam(), authority.Write(kWriter));
  Enter(client.get());
  EXPECT_EQ(events_->established() > 0, IsLink());
  const auto got = client->Get("key");
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->value(), absl::StrCat("value", puts_));
}

TEST_P(SecureCarriersTest, AReaderMayReadAndNotWrite) {
  auto writer = Connect("grpc", authority.Write(kWriter));
  ASSERT_TRUE(PutOne(writer.get()).ok());
  auto reader = Connect(GetParam(), authority.Write(kReader));
  // Often enough that a connection is made, and then used.
  for (int i = 0; i < 20000 && (i < 200 || events_->established() == 0); ++i) {
    const auto got = reader->Get("key");
    ASSERT_TRUE(got.ok()) << got.status();
    if (i >= 200 && !IsLink()) break;
  }
  EXPECT_EQ(events_->established() > 0, IsLink());
  for (int i = 0; i < 100; ++i) {
    const absl::Status put = PutOne(reader.get());
    ASSERT_TRUE(absl::IsPermissionDenied(put)) << put;
  }
}

TEST_P(SecureCarriersTest, ConnectionsEndWhenTheClientIsRevoked) {
  const security::Issued issued = authority.Issue(kWriter);
  auto client = Connect(GetParam(), authority.Write(issued));
  Enter(client.get());
  authority.Revoke(issued.certificate_pem, of_node);
  WithAuthority::node->Look();
  EXPECT_GT(WithAuthority::node->counts().ended, 0u);
  // The check itself ends gRPC's connections; a link's thread ends links.
  auto late = Options(GetParam(), authority.Write(issued));
  late.timeout = absl::Seconds(2);
  EXPECT_FALSE(Client::Connect(late).ok());
  absl::Status put;
  const absl::Time limit = absl::Now() + Patience(absl::Seconds(30));
  while (put.ok() && absl::Now() < limit) put = PutOne(client.get());
  EXPECT_FALSE(put.ok());
}

INSTANTIATE_TEST_SUITE_P(All, SecureCarriersTest,
                         ::testing::Values("shm", "verbs", "tcp", "grpc"),
                         [](const auto& test) { return test.param; });

// Waits for the end of a link.
class Ending final : public transport::LinkHandler {
 public:
  void OnMessage(absl::Span<const std::byte>) override {}
  void OnConnected(const std::shared_ptr<transport::Link>&) override {
    connected = true;
    if (then_close != nullptr) then_close->Notify();
  }
  void OnClosed(const absl::Status& status) override {
    why = status;
    closed.Notify();
  }
  bool connected = false;
  absl::Notification* then_close = nullptr;
  absl::Status why;
  absl::Notification closed;
};

// A pass that the client obtained in some way.
class HeldPass final : public transport::PassSource {
 public:
  HeldPass(transport::LinkPass pass, security::Certificate issuer)
      : granted_{std::move(pass), std::move(issuer)} {}
  void Ask(const std::string&, absl::Duration, Reply reply) override {
    reply(granted_);
  }

 private:
  const Granted granted_;
};

class SecureListenersTest : public SecureNode {
 protected:
  std::string AddressOf(const std::string& kind) {
    for (const kamino::v1::Carrier& carrier : Carriers()) {
      if (carrier.transport() == kind) return carrier.address();
    }
    ADD_FAILURE() << "no " << kind;
    return "";
  }

  transport::LinkPass Pass() {
    grpc::ClientContext context;
    kamino::v1::GetLinkPassResponse response;
    auto stub = kamino::v1::SessionService::NewStub(channel_);
    const grpc::Status status = stub->GetLinkPass(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return {response.token(), response.proof(), response.user()};
  }

  // Why there is no link, or why the node ended it.
  absl::Status WhyNoLink(const transport::TransportFactory& factory,
                         const std::string& address,
                         std::shared_ptr<Certificates> certificates) {
    transport::TransportOptions options;
    options.certificates = std::move(certificates);
    auto transport = factory.Make(options);
    EXPECT_TRUE(transport.ok()) << transport.status();
    auto ending = std::make_shared<Ending>();
    EXPECT_TRUE((*transport)->Connect(address, ending).ok());
    ending->closed.WaitForNotification();
    EXPECT_FALSE(ending->connected);
    return ending->why;
  }

  // Expects a link, and closes it.
  void ExpectLink(const transport::TransportFactory& factory,
                  const std::string& address) {
    transport::TransportOptions options;
    options.certificates = caller;
    auto transport = factory.Make(options);
    ASSERT_TRUE(transport.ok()) << transport.status();
    auto ending = std::make_shared<Ending>();
    absl::Notification connected;
    ending->then_close = &connected;
    auto link = (*transport)->Connect(address, ending);
    ASSERT_TRUE(link.ok()) << link.status();
    EXPECT_TRUE(
        connected.WaitForNotificationWithTimeout(Patience(absl::Seconds(20))));
    EXPECT_EQ((*link)->peer_identity(), ToString(kNode));
    (*link)->Close();
    ending->closed.WaitForNotification();
  }

  transport::TransportFactory Shm(const transport::LinkPass& pass) {
    return transport::ShmTransports(
        "/tmp", {nullptr, std::make_shared<HeldPass>(
                              pass, WithAuthority::node->Current()->own)});
  }
};

TEST_F(SecureListenersTest, RefusePlaintext) {
  const absl::Status tcp =
      WhyNoLink(transport::TcpTransports(), AddressOf("tcp"), nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(tcp)) << tcp;
  EXPECT_TRUE(events_->Await(transport::LinkRefusal::kPlaintext, 1));
  const absl::Status shm =
      WhyNoLink(transport::ShmTransports(), AddressOf("shm"), nullptr);
  EXPECT_FALSE(shm.ok());
  EXPECT_TRUE(events_->Await(transport::LinkRefusal::kProtocol, 1));
  EXPECT_EQ(events_->established(), 0);
}

TEST_F(SecureListenersTest, AcceptAPassOnce) {
  const transport::LinkPass pass = Pass();
  ExpectLink(Shm(pass), AddressOf("shm"));
  // Replayed.
  const absl::Status why = WhyNoLink(Shm(pass), AddressOf("shm"), caller);
  EXPECT_TRUE(absl::IsPermissionDenied(why)) << why;
  EXPECT_TRUE(events_->Await(transport::LinkRefusal::kCertificate, 1));
  // Made up.
  transport::LinkPass wrong = Pass();
  wrong.token.assign(transport::kPassBytes, 'w');
  EXPECT_FALSE(WhyNoLink(Shm(wrong), AddressOf("shm"), caller).ok());
  EXPECT_TRUE(events_->Await(transport::LinkRefusal::kCertificate, 2));
  EXPECT_EQ(events_->established(), 1);
}

TEST_F(SecureListenersTest, MustProveTheirHalfOfThePass) {
  transport::LinkPass pass = Pass();
  pass.proof.assign(transport::kPassBytes, 'p');
  const absl::Status why = WhyNoLink(Shm(pass), AddressOf("shm"), caller);
  EXPECT_TRUE(absl::IsUnauthenticated(why)) << why;
}

// A client shows nothing to another user's socket in the node's place.
TEST_F(SecureListenersTest, MustRunAsTheNodesUser) {
  transport::LinkPass pass = Pass();
  ++pass.user;
  const absl::Status why = WhyNoLink(Shm(pass), AddressOf("shm"), caller);
  EXPECT_TRUE(absl::IsUnauthenticated(why)) << why;
  EXPECT_THAT(std::string(why.message()), HasSubstr("of user"));
  --pass.user;
  ExpectLink(Shm(pass), AddressOf("shm"));
}

TEST_F(SecureListenersTest, IssueABoundedNumberOfPasses) {
  grpc::StatusCode last = grpc::StatusCode::OK;
  for (int i = 0; i < 50 && last == grpc::StatusCode::OK; ++i) {
    grpc::ClientContext context;
    kamino::v1::GetLinkPassResponse response;
    auto stub = kamino::v1::SessionService::NewStub(channel_);
    last = stub->GetLinkPass(&context, {}, &response).error_code();
  }
  EXPECT_EQ(last, grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// A node must have the certificate for the name that it claims.
TEST_F(SecureListenersTest, MustBeTheNodeThatWasDialed) {
  const absl::Status why =
      WhyNoLink(transport::TcpTransports(), AddressOf("tcp"),
                security::TestAuthority("foreign").Load(kWriter));
  EXPECT_TRUE(absl::IsUnauthenticated(why)) << why;
}

using InTheClearTest = node::NodeServerTest;

TEST_F(InTheClearTest, NoPassIsIssued) {
  grpc::ClientContext context;
  kamino::v1::GetLinkPassResponse response;
  auto stub = kamino::v1::SessionService::NewStub(channel_);
  EXPECT_EQ(stub->GetLinkPass(&context, {}, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

// A client with certificates never continues without.
TEST_F(InTheClearTest, AClientWithCertificatesCannotConnect) {
  views_.Install(1);
  ClientOptions options;
  options.seeds = {absl::StrCat("127.0.0.1:", server_->port())};
  options.tls = security::TestAuthority().Write(kWriter);
  options.timeout = absl::Seconds(2);
  EXPECT_FALSE(Client::Connect(options).ok());
  EXPECT_EQ(events_->established(), 0);
}

}  // namespace
}  // namespace kamino::client
