#include "server/debug_service.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "logs/audit_thread.h"
#include "rpc/channel.h"
#include "rpc/cluster_identity.h"
#include "rpc/credentials.h"
#include "rpc/server.h"
#include "rpc/status.h"
#include "tests/security/test_certificates.h"

namespace kamino::server {
namespace {

using ::testing::HasSubstr;

// Settings and the log are more than most operator calls return.
TEST(DebugServiceTest, ACallerIsInTheAuditLog) {
  const security::TestAuthority authority;
  const auto credentials = [&](security::Role role, const std::string& name) {
    return *rpc::Credentials::Make(std::shared_ptr<security::Certificates>(
        authority.Load({"c", role, name})));
  };
  const std::string path = absl::StrCat(security::NewFolder(), "/audit.log");
  const auto audit = AuditLog::Open(path);
  ASSERT_TRUE(audit.ok()) << audit.status();
  logs::AuditThread audit_thread;
  const rpc::ClusterIdentity cluster;
  DebugService service("kamino_manager", &cluster, nullptr, &audit_thread,
                       audit->get());
  rpc::ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.credentials = credentials(security::Role::kManager, "m1");
  options.access = std::make_shared<security::Access>(security::RoleMap());
  const auto server = rpc::Server::Start(options, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  rpc::ChannelOptions channel;
  channel.credentials = credentials(security::Role::kOperator, "ann");
  channel.server = security::Role::kManager;
  const auto stub = kamino::v1::DebugService::NewStub(
      rpc::MakeChannel(absl::StrCat("127.0.0.1:", (*server)->port()), channel));
  grpc::ClientContext context;
  kamino::v1::GetDebugResponse response;
  const grpc::Status status = stub->GetDebug(&context, {}, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.program(), "kamino_manager");
  EXPECT_EQ((*audit)->records(), 1u);
  const std::string line = security::ReadText(path);
  EXPECT_THAT(line, HasSubstr(R"("who":"kamino://c/operator/ann")"));
  EXPECT_THAT(line, HasSubstr(R"("from":"ipv4:127.0.0.1:)"));
  EXPECT_THAT(line, HasSubstr(R"("call":"/kamino.v1.DebugService/GetDebug")"));
  EXPECT_THAT(line, HasSubstr(R"("outcome":"OK")"));
}

TEST(DebugServiceTest, AnotherClusterLearnsNothing) {
  logs::AuditThread audit_thread;
  rpc::ClusterIdentity cluster;
  cluster.Set("beta", std::string(32, 'b'));
  DebugService service("kamino_node", &cluster, nullptr, &audit_thread);
  rpc::ServerOptions options;
  options.listen = "127.0.0.1:0";
  const auto server = rpc::Server::Start(options, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto asked = std::make_shared<rpc::ClusterIdentity>();
  asked->Pin("alpha", std::string(32, 'a'));
  rpc::ChannelOptions channel;
  channel.cluster = asked;
  const auto stub = kamino::v1::DebugService::NewStub(
      rpc::MakeChannel(absl::StrCat("127.0.0.1:", (*server)->port()), channel));
  grpc::ClientContext context;
  kamino::v1::GetDebugResponse response;
  const grpc::Status refused = stub->GetDebug(&context, {}, &response);
  EXPECT_TRUE(rpc::IsOtherCluster(rpc::FromGrpc(refused)));
  EXPECT_EQ(response.settings_size(), 0);
}

TEST(RedactedTest, SecretsAreNotShown) {
  EXPECT_EQ(Redacted("etcd_password", "x"), "(redacted)");
  EXPECT_EQ(Redacted("secret", "x"), "(redacted)");
  EXPECT_EQ(Redacted("join_token", "x"), "(redacted)");
  EXPECT_EQ(Redacted("etcd", "u:p@h:1,h:2"), "(redacted)@h:1,h:2");
  // The absence of a password is no secret, nor is the name of its file.
  EXPECT_EQ(Redacted("etcd_password", ""), "");
  EXPECT_EQ(Redacted("etcd_password_file", "/etc/p"), "/etc/p");
  EXPECT_EQ(Redacted("tls_key", "/etc/key.pem"), "/etc/key.pem");
  EXPECT_EQ(Redacted("listen", "127.0.0.1:1"), "127.0.0.1:1");
}

}  // namespace
}  // namespace kamino::server
