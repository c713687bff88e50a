// Servers and channels with certificates: accepted and refused peers, and the
// end of connections.
#include <sys/stat.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kamino/v1/admin.grpc.pb.h"
#include "rpc/answer.h"
#include "rpc/channel.h"
#include "rpc/credentials.h"
#include "rpc/peers.h"
#include "rpc/server.h"
#include "rpc/status.h"
#include "tests/patience.h"
#include "tests/rpc/plain_channel.h"
#include "tests/security/test_certificates.h"

namespace kamino::rpc {
namespace {

using kamino::v1::AdminService;
using security::Certificates;
using security::Identity;
using security::Issued;
using security::Role;
using security::TestAuthority;
using testing::HasSubstr;

const Identity kManager = {"c", Role::kManager, "m1"};
const Identity kOperator = {"c", Role::kOperator, "ann"};

// Answers with the caller's identity.
class Service final : public AdminService::CallbackService {
  grpc::ServerUnaryReactor* GetCluster(
      grpc::CallbackServerContext* context,
      const kamino::v1::GetClusterRequest*,
      kamino::v1::GetClusterResponse* response) override {
    const auto peer = PeerOf(*context);
    response->set_leader(peer.ok() ? ToString(peer->identity()) : "nobody");
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    Finish<kamino::v1::GetClusterRequest>(reactor, MonotonicNow(),
                                          absl::OkStatus());
    return reactor;
  }
};

// The lines of the log since it was made.
class Lines final : public google::LogSink {
 public:
  Lines() { google::AddLogSink(this); }
  ~Lines() override { google::RemoveLogSink(this); }
  void send(google::LogSeverity, const char*, const char*, int,
            const google::LogMessageTime&, const char* message,
            size_t length) override {
    absl::MutexLock lock(&mutex_);
    lines_.emplace_back(message, length);
  }
  std::vector<std::string> With(const std::string& part) {
    absl::MutexLock lock(&mutex_);
    std::vector<std::string> found;
    for (const std::string& line : lines_) {
      if (line.find(part) != std::string::npos) found.push_back(line);
    }
    return found;
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
};

class TlsTest : public testing::Test {
 protected:
  struct Party {
    security::TlsFiles files;
    std::shared_ptr<Certificates> certificates;
    std::shared_ptr<const Credentials> credentials;
  };

  Party Make(const TestAuthority& authority, const Issued& issued,
             const std::string& cluster = "c") {
    Party party;
    Certificates::Options options;
    options.files = authority.Write(issued);
    options.cluster = cluster;
    options.look = absl::InfiniteDuration();
    options.now = [this] { return absl::Now() + later_; };
    party.files = options.files;
    party.certificates = *Certificates::Load(options);
    party.credentials = *Credentials::Make(party.certificates);
    return party;
  }
  Party Make(const Identity& identity) {
    return Make(authority_, authority_.Issue(identity), identity.cluster);
  }

  void Serve(const Party& party) {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.credentials = party.credentials;
    server_ = *Server::Start(options, {&service_});
    address_ = absl::StrCat("127.0.0.1:", server_->port());
  }

  std::unique_ptr<AdminService::Stub> StubOf(const Party& party) {
    ChannelOptions options;
    options.credentials = party.credentials;
    options.server = Role::kManager;
    return AdminService::NewStub(MakeChannel(address_, options));
  }

  // The identity under which the server knows this client.
  absl::StatusOr<std::string> Ask(AdminService::Stub* stub) {
    grpc::ClientContext context;
    SetTimeout(Patience(absl::Seconds(20)), &context);
    kamino::v1::GetClusterResponse response;
    const grpc::Status status =
        stub->GetCluster(&context, kamino::v1::GetClusterRequest(), &response);
    if (!status.ok()) return FromGrpc(status);
    return response.leader();
  }
  // The client makes only the checks of gRPC itself, without ours.
  absl::Status AskAsIfNothingWereWrong(const Issued& own) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs =
        std::string(authority_.authority().certificate_pem());
    options.pem_cert_chain = own.certificate_pem;
    options.pem_private_key = own.key_pem;
    const auto stub = AdminService::NewStub(
        MakePlainChannel(address_, grpc::SslCredentials(options)));
    return Ask(stub.get()).status();
  }
  absl::StatusOr<std::string> Ask(const Party& party) {
    return Ask(StubOf(party).get());
  }

  TestAuthority authority_;
  absl::Duration later_ = absl::ZeroDuration();
  Service service_;
  std::unique_ptr<Server> server_;
  std::string address_;
};

TEST_F(TlsTest, TheServerLearnsTheCallersIdentity) {
  Serve(Make(kManager));
  EXPECT_EQ(*Ask(Make(kOperator)), "kamino://c/operator/ann");
}

TEST_F(TlsTest, APlaintextClientIsRefused) {
  Serve(Make(kManager));
  EXPECT_FALSE(Ask(Party()).ok());
}

TEST_F(TlsTest, APlaintextServerIsNotCalled) {
  Serve(Party());
  EXPECT_FALSE(Ask(Make(kOperator)).ok());
}

TEST_F(TlsTest, TheServerRefusesInvalidClientCertificates) {
  const Party server = Make(kManager);
  Serve(server);
  const TestAuthority other;
  const Issued revoked = authority_.Issue(kOperator);
  authority_.Revoke(revoked.certificate_pem, server.files);
  server.certificates->Look();
  const absl::Time now = absl::Now();
  const std::vector<std::pair<Issued, std::string>> refused = {
      {other.Issue(kOperator), "no trusted authority has signed it"},
      {revoked, "certificate revoked"},
      {authority_.Issue(kOperator,
                        {now - absl::Hours(2), now - absl::Hours(1)}),
       "certificate has expired"},
      {authority_.Issue({"other", Role::kOperator, "ann"}),
       "is of another cluster than c"}};
  for (const auto& [client, why] : refused) {
    Lines lines;
    const absl::Status answer = AskAsIfNothingWereWrong(client);
    EXPECT_EQ(answer.code(), absl::StatusCode::kUnavailable) << why;
    EXPECT_THAT(answer.message(), HasSubstr("it may require a certificate, or "
                                            "another one; its log says why"));
    EXPECT_EQ(lines.With("refused a connection to " + address_).size(), 1);
    EXPECT_EQ(lines.With(why).size(), 1) << why;
  }
}

TEST_F(TlsTest, TheClientRefusesInvalidServerCertificates) {
  const TestAuthority other;
  const Party client = Make(kOperator);
  const std::vector<std::pair<Party, std::string>> refused = {
      {Make({"c", Role::kNode, "n1"}), "only a manager may serve there"},
      {Make({"c", Role::kWriter, "w"}), "is not a server certificate"},
      {Make({"other", Role::kManager, "m1"}), "is of another cluster than c"},
      {Make(other, other.Issue(kManager)),
       "no trusted authority has signed it"}};
  for (const auto& [server, why] : refused) {
    Serve(server);
    Lines lines;
    const auto answer = Ask(client);
    EXPECT_THAT(answer.status().message(), HasSubstr(why));
    EXPECT_EQ(lines.With("refused the server at 127.0.0.1:").size(), 1) << why;
  }
}

TEST_F(TlsTest, AConnectionEndsWhenItsCallerIsRevoked) {
  const Party server = Make(kManager);
  Serve(server);
  const Party client = Make(kOperator);
  const Party other = Make({"c", Role::kOperator, "bob"});
  const auto stub = StubOf(client);
  const auto others = StubOf(other);
  ASSERT_TRUE(Ask(stub.get()).ok());
  ASSERT_TRUE(Ask(others.get()).ok());
  authority_.Revoke(client.certificates->Current()->certificate_pem,
                    server.files);
  Lines lines;
  server.certificates->Look();
  EXPECT_EQ(lines.With("ends the connection from 127.0.0.1:").size(), 1);
  EXPECT_EQ(Ask(stub.get()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Ask(others.get()).ok());
  EXPECT_EQ(server.certificates->counts().ended, 1);
  EXPECT_EQ(lines.With("ends the connection from").size(), 1);
}

TEST_F(TlsTest, ACallInFlightEndsWhenItsCallerIsRevoked) {
  class Silent final : public AdminService::CallbackService {
    grpc::ServerUnaryReactor* GetCluster(
        grpc::CallbackServerContext*, const kamino::v1::GetClusterRequest*,
        kamino::v1::GetClusterResponse*) override {
      class Reactor final : public grpc::ServerUnaryReactor {
        void OnCancel() override { Finish(grpc::Status::CANCELLED); }
        void OnDone() override { delete this; }
      };
      called.Notify();
      return new Reactor;
    }

   public:
    absl::Notification called;
  };
  Silent silent;
  const Party server = Make(kManager);
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.credentials = server.credentials;
  server_ = *Server::Start(options, {&silent});
  address_ = absl::StrCat("127.0.0.1:", server_->port());
  const auto stub = StubOf(Make(kOperator));
  grpc::ClientContext context;
  SetTimeout(Patience(absl::Minutes(1)), &context);
  const kamino::v1::GetClusterRequest request;
  kamino::v1::GetClusterResponse response;
  absl::Notification ended;
  grpc::Status status;
  stub->async()->GetCluster(&context, &request, &response,
                            [&](const grpc::Status& how) {
                              status = how;
                              ended.Notify();
                            });
  silent.called.WaitForNotification();
  later_ = absl::Hours(24);
  server.certificates->Look();
  EXPECT_TRUE(
      ended.WaitForNotificationWithTimeout(Patience(absl::Seconds(30))));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TlsTest, AChannelEndsWhenItsServerIsRevoked) {
  const Party server = Make(kManager);
  Serve(server);
  const Party client = Make(kOperator);
  const auto stub = StubOf(client);
  ASSERT_TRUE(Ask(stub.get()).ok());
  authority_.Revoke(server.certificates->Current()->certificate_pem,
                    client.files);
  client.certificates->Look();
  // A call that is made before gRPC has noticed fails with the connection, in
  // words that depend on whether it was reading or writing.
  absl::Status status = Ask(stub.get()).status();
  const absl::Time limit = absl::Now() + Patience(absl::Seconds(30));
  while (!absl::StrContains(status.message(), "certificate revoked") &&
         absl::Now() < limit) {
    ASSERT_FALSE(status.ok());
    status = Ask(stub.get()).status();
  }
  EXPECT_THAT(status.message(), HasSubstr("certificate revoked"));
}

TEST_F(TlsTest, ANewCertificateIsPresentedToNewPeers) {
  const Party server = Make(kManager);
  Serve(server);
  const Party client = Make(kOperator);
  const auto stub = StubOf(client);
  ASSERT_TRUE(Ask(stub.get()).ok());
  // Only those with the client's old certificate are turned away from now on.
  const Issued next = authority_.Issue(kOperator);
  authority_.Revoke(client.certificates->Current()->certificate_pem,
                    server.files);
  security::WriteText(client.files.certificate, next.certificate_pem);
  security::WriteText(client.files.key, next.key_pem);
  client.certificates->Look();
  server.certificates->Look();
  // gRPC looks each second.
  absl::StatusOr<std::string> answer = Ask(stub.get());
  const absl::Time limit = absl::Now() + Patience(absl::Seconds(30));
  while (!answer.ok() && absl::Now() < limit) {
    absl::Notification never;
    never.WaitForNotificationWithTimeout(absl::Milliseconds(100));
    answer = Ask(stub.get());
  }
  EXPECT_EQ(*answer, "kamino://c/operator/ann");
}

TEST_F(TlsTest, ClosedConnectionsAreForgotten) {
  const Party server = Make(kManager);
  Serve(server);
  const Party client = Make(kOperator);
  for (int i = 0; i < 70; ++i) ASSERT_TRUE(Ask(client).ok()) << i;
  // The remaining entries were still connected at the last count.
  later_ = absl::Hours(24);
  server.certificates->Look();
  EXPECT_LT(server.certificates->counts().ended, 40);
}

}  // namespace
}  // namespace kamino::rpc
