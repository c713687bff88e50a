// TLS to a real etcd, and users of one with authentication.
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "etcd/etcdserver/etcdserverpb/rpc.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "membership/etcd/etcd_client.h"
#include "membership/etcd/etcd_login.h"
#include "membership/etcd/etcd_tls.h"
#include "rpc/channel.h"
#include "security/authority.h"
#include "tests/membership/child_process.h"
#include "tests/patience.h"
#include "tests/security/test_certificates.h"

namespace kamino::membership {
namespace {

using security::Issued;
using security::NewFolder;
using security::TestAuthority;
using security::TlsFiles;
using security::WriteText;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Duration kDeadline = Patience(absl::Seconds(2));
const EtcdDeadlines kDeadlines = {kDeadline, kDeadline};
const absl::Duration kPatience = Patience(absl::Seconds(20));
const Etcd::Keys kKeys = {"/k/l", "/k/r", "/k/v"};

absl::Status Look(EtcdClient* client) { return client->Look(kKeys).status(); }

// Until etcd has started.
absl::Status AwaitLook(EtcdClient* client) {
  const absl::Time deadline = absl::Now() + kPatience;
  absl::Status status = Look(client);
  while (!status.ok() && absl::Now() < deadline) status = Look(client);
  return status;
}

class EtcdTlsTest : public testing::Test {
 protected:
  Issued IssueToEtcd(const std::vector<std::string>& hosts,
                     security::Validity validity) const {
    auto issued =
        authority_.authority().IssueTo({"e", hosts, /*serves=*/true}, validity);
    EXPECT_EQ(issued.status(), absl::OkStatus());
    return *std::move(issued);
  }
  // Starts etcd, which requires certificates of its authority.
  void Start(const Issued& own) {
    etcds_ = authority_.Write(own);
    etcd_ = std::make_unique<EtcdProcess>(
        NewFolder(),
        std::vector<std::string>{
            absl::StrCat("--cert-file=", etcds_.certificate),
            absl::StrCat("--key-file=", etcds_.key),
            absl::StrCat("--trusted-ca-file=", etcds_.authorities),
            "--client-cert-auth"},
        "https");
  }
  void StartAsUsual() {
    Start(IssueToEtcd({"127.0.0.1"}, authority_.validity()));
  }
  TlsFiles FilesOf(const TestAuthority& authority) const {
    auto issued = authority.authority().IssueTo({"m", {}, /*serves=*/false},
                                                authority.validity());
    EXPECT_EQ(issued.status(), absl::OkStatus());
    return authority.Write(*issued);
  }
  std::unique_ptr<EtcdClient> Connect(TlsFiles files) const {
    EtcdAccess access;
    EtcdTls::Options options;
    options.files = std::move(files);
    auto tls = EtcdTls::Load(options);
    EXPECT_EQ(tls.status(), absl::OkStatus());
    access.tls = *std::move(tls);
    return std::make_unique<EtcdClient>(
        std::vector<std::string>{etcd_->endpoint()}, kDeadlines,
        std::move(access));
  }

  const TestAuthority authority_;
  TlsFiles etcds_;
  std::unique_ptr<EtcdProcess> etcd_;
};

TEST_F(EtcdTlsTest, ClientAndEtcdAuthenticateEachOther) {
  StartAsUsual();
  const TlsFiles files = FilesOf(authority_);
  const auto client = Connect(files);
  EXPECT_EQ(AwaitLook(client.get()), absl::OkStatus());

  // etcd refuses a client without a certificate, or with a stranger's.
  TlsFiles none = files;
  none.certificate = none.key = "";
  EXPECT_THAT(Look(Connect(none).get()).message(),
              HasSubstr("no connection by TLS"));
  const TestAuthority other("other");
  TlsFiles stranger = FilesOf(other);
  stranger.authorities = files.authorities;
  EXPECT_THAT(Look(Connect(stranger).get()).message(),
              HasSubstr("no connection by TLS"));
  // The client rejects an etcd of another authority.
  stranger = files;
  stranger.authorities = FilesOf(other).authorities;
  EXPECT_THAT(Look(Connect(stranger).get()).message(),
              HasSubstr("rejected certificate: no trusted authority has "
                        "signed it"));
  // Nor does the client talk to it in the clear.
  EtcdClient clear({etcd_->endpoint()},
                   {absl::Milliseconds(300), absl::Milliseconds(300)});
  EXPECT_FALSE(Look(&clear).ok());
}

TEST_F(EtcdTlsTest, TheCertificateMustNameTheCalledHost) {
  Start(IssueToEtcd({"etcd-0.example", "10.0.0.1"}, authority_.validity()));
  const auto client = Connect(FilesOf(authority_));
  absl::Status status = Look(client.get());
  const absl::Time deadline = absl::Now() + kPatience;
  while (status.message().find("rejected certificate") == std::string::npos &&
         absl::Now() < deadline) {
    status = Look(client.get());
  }
  EXPECT_THAT(status.message(),
              HasSubstr("rejected certificate: its certificate is not for "
                        "127.0.0.1, but for etcd-0.example, 10.0.0.1"));
}

TEST_F(EtcdTlsTest, AnExpiredCertificateIsRejected) {
  StartAsUsual();
  absl::Time now = absl::Now();
  EtcdTls::Options options;
  options.files = FilesOf(authority_);
  options.now = [&now] { return now; };
  const auto tls = EtcdTls::Load(options);
  ASSERT_EQ(tls.status(), absl::OkStatus());
  const auto trust =
      security::Trust::Parse(security::ReadText(etcds_.authorities), {});
  ASSERT_EQ(trust.status(), absl::OkStatus());
  EtcdPeer peer("127.0.0.1:2379");
  EXPECT_EQ((*tls)->CheckAgain(&peer), absl::OkStatus());
  auto chain =
      security::ParseCertificates(security::ReadText(etcds_.certificate));
  ASSERT_EQ(chain.status(), absl::OkStatus());
  EXPECT_EQ(peer.Check(**trust, *std::move(chain), now), absl::OkStatus());
  now = authority_.validity().until + absl::Seconds(1);
  EXPECT_THAT((*tls)->CheckAgain(&peer).message(), HasSubstr("expired"));
  EXPECT_FALSE(peer.refusal().ok());
}

TEST_F(EtcdTlsTest, AClientCertificateCannotServe) {
  EtcdPeer peer("localhost:2379");
  const auto trust =
      security::Trust::Parse(authority_.authority().certificate_pem(), {});
  ASSERT_EQ(trust.status(), absl::OkStatus());
  auto chain = security::ParseCertificates(
      authority_.Issue({"c", security::Role::kWriter, "localhost"})
          .certificate_pem);
  ASSERT_EQ(chain.status(), absl::OkStatus());
  EXPECT_THAT(peer.Check(**trust, *std::move(chain), absl::Now()).message(),
              HasSubstr("is not a server certificate"));
}

TEST_F(EtcdTlsTest, FilesAreReloadedOnceTheyMatch) {
  StartAsUsual();
  EtcdTls::Options options;
  options.files = FilesOf(authority_);
  const auto tls = EtcdTls::Load(options);
  ASSERT_EQ(tls.status(), absl::OkStatus());
  EXPECT_FALSE((*tls)->Look());
  const std::string key = security::ReadText(options.files.key);
  const TlsFiles next = FilesOf(authority_);
  WriteText(options.files.key, security::ReadText(next.key));
  EXPECT_FALSE((*tls)->Look());  // it is not that certificate's
  WriteText(options.files.key, key);
  EXPECT_FALSE((*tls)->Look());  // as before
  WriteText(options.files.key, security::ReadText(next.key));
  WriteText(options.files.certificate, security::ReadText(next.certificate));
  EXPECT_TRUE((*tls)->Look());
  EXPECT_FALSE((*tls)->Look());

  options.files.key = options.files.authorities;
  EXPECT_THAT(EtcdTls::Load(options).status().message(),
              HasSubstr("has no private key"));
  options.files.authorities = "/none";
  EXPECT_THAT(EtcdTls::Load(options).status().message(),
              HasSubstr("/none cannot be read"));
}

// Removing a revocation list does not unrevoke any certificate.
TEST_F(EtcdTlsTest, ARevokedCertificateStaysRevokedWithoutTheList) {
  const Issued etcds = IssueToEtcd({"127.0.0.1"}, authority_.validity());
  EtcdTls::Options options;
  options.files = FilesOf(authority_);
  authority_.Revoke(etcds.certificate_pem, options.files);
  const auto tls = EtcdTls::Load(options);
  ASSERT_EQ(tls.status(), absl::OkStatus());
  EtcdPeer peer("127.0.0.1:1");
  const auto check = [&] {
    auto trust =
        security::Trust::Parse(authority_.authority().certificate_pem(), {});
    auto chain = security::ParseCertificates(etcds.certificate_pem);
    EXPECT_EQ(chain.status(), absl::OkStatus());
    // A channel that knows no list would accept the certificate.
    EXPECT_EQ(peer.Check(**trust, *std::move(chain), absl::Now()),
              absl::OkStatus());
    return (*tls)->CheckAgain(&peer);
  };
  EXPECT_THAT(check().message(), HasSubstr("revoked"));
  for (const auto& entry :
       std::filesystem::directory_iterator(options.files.revoked)) {
    std::filesystem::remove(entry);
  }
  EXPECT_TRUE((*tls)->Look());
  EXPECT_THAT(check().message(), HasSubstr("revoked"));
  // Nor does a later change of another file help.
  const TlsFiles next = FilesOf(authority_);
  WriteText(options.files.key, security::ReadText(next.key));
  WriteText(options.files.certificate, security::ReadText(next.certificate));
  EXPECT_TRUE((*tls)->Look());
  EXPECT_THAT(check().message(), HasSubstr("revoked"));
}

class EtcdLoginTest : public testing::Test {
 protected:
  EtcdLoginTest() { WriteText(password_, "secret\n"); }

  std::unique_ptr<EtcdClient> Connect(const std::string& user = "kamino") {
    EtcdAccess access;
    access.user = {user, password_};
    return std::make_unique<EtcdClient>(
        std::vector<std::string>{etcd_.endpoint()}, kDeadlines,
        std::move(access));
  }
  // Calls that etcdctl makes.
  template <typename Response, typename Request>
  void Ask(grpc::Status (etcdserverpb::Auth::Stub::*call)(grpc::ClientContext*,
                                                          const Request&,
                                                          Response*),
           const Request& request, const std::string& token = "") {
    grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("token", token);
    Response response;
    const grpc::Status status =
        (auth_.get()->*call)(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  void AddUser(const std::string& name, const std::string& password,
               const std::string& role) {
    etcdserverpb::AuthUserAddRequest user;
    user.set_name(name);
    user.set_password(password);
    Ask(&etcdserverpb::Auth::Stub::UserAdd, user);
    etcdserverpb::AuthUserGrantRoleRequest grant;
    grant.set_user(name);
    grant.set_role(role);
    Ask(&etcdserverpb::Auth::Stub::UserGrantRole, grant);
  }
  // From now on every client has to log in: the user kamino with "secret", who
  // has all keys from /k/ to /k0.
  void Enable() {
    etcdserverpb::AuthRoleAddRequest role;
    role.set_name("root");
    Ask(&etcdserverpb::Auth::Stub::RoleAdd, role);
    role.set_name("kamino");
    Ask(&etcdserverpb::Auth::Stub::RoleAdd, role);
    etcdserverpb::AuthRoleGrantPermissionRequest grant;
    grant.set_name("kamino");
    grant.mutable_perm()->set_permtype(authpb::Permission::READWRITE);
    grant.mutable_perm()->set_key("/k/");
    grant.mutable_perm()->set_range_end("/k0");
    Ask(&etcdserverpb::Auth::Stub::RoleGrantPermission, grant);
    AddUser("root", "root", "root");
    AddUser("kamino", "secret", "kamino");
    Ask(&etcdserverpb::Auth::Stub::AuthEnable,
        etcdserverpb::AuthEnableRequest());
  }
  void ChangePassword(const std::string& password) {
    grpc::ClientContext context;
    etcdserverpb::AuthenticateRequest login;
    login.set_name("root");
    login.set_password("root");
    etcdserverpb::AuthenticateResponse root;
    ASSERT_TRUE(auth_->Authenticate(&context, login, &root).ok());
    etcdserverpb::AuthUserChangePasswordRequest change;
    change.set_name("kamino");
    change.set_password(password);
    Ask(&etcdserverpb::Auth::Stub::UserChangePassword, change, root.token());
  }

  const std::string password_ = NewFolder() + "/password";
  EtcdProcess etcd_{NewFolder(), {"--bcrypt-cost=4"}};
  const std::unique_ptr<etcdserverpb::Auth::Stub> auth_ =
      etcdserverpb::Auth::NewStub(rpc::MakeChannel(etcd_.endpoint()));
};

TEST_F(EtcdLoginTest, TheClientLogsInWheneverEtcdRequiresIt) {
  const auto client = Connect();
  ASSERT_EQ(AwaitLook(client.get()), absl::OkStatus());
  Enable();
  EXPECT_EQ(Look(client.get()), absl::OkStatus());
  const auto election = client->Campaign(kKeys, "a", "0", 0, 0);
  ASSERT_EQ(election.status(), absl::OkStatus());
  EXPECT_TRUE(election->won);
  const Etcd::Leadership term = {"a", election->stored.leader.mod_revision};
  EXPECT_EQ(client->Compact(term.revision), absl::OkStatus());
  // It has lost its tokens.
  etcd_.Restart();
  EXPECT_EQ(AwaitLook(client.get()), absl::OkStatus());
  EXPECT_EQ(client->Renew(kKeys, "1", term).status(), absl::OkStatus());
  EtcdClient stranger({etcd_.endpoint()}, kDeadlines);
  EXPECT_THAT(Look(&stranger).message(), HasSubstr("user name is empty"));
  // It has no rights to other keys.
  EXPECT_THAT(client->Look({"/x/l", "/x/r", "/x/v"}).status().message(),
              HasSubstr("permission denied"));
}

TEST_F(EtcdLoginTest, APasswordMayChange) {
  const auto client = Connect();
  ASSERT_EQ(AwaitLook(client.get()), absl::OkStatus());
  Enable();
  EXPECT_EQ(Look(client.get()), absl::OkStatus());
  ChangePassword("next");
  const absl::Status refused = Look(client.get());
  EXPECT_TRUE(absl::IsPermissionDenied(refused));
  EXPECT_THAT(refused.message(),
              HasSubstr(absl::StrCat("it does not take user kamino with the "
                                     "password in ",
                                     password_)));
  EXPECT_THAT(refused.message(), Not(HasSubstr("secret")));
  WriteText(password_, "next\n");
  EXPECT_EQ(AwaitLook(client.get()), absl::OkStatus());
  EXPECT_THAT(Look(Connect("nobody").get()).message(),
              HasSubstr("does not take user nobody"));
}

TEST(PasswordTest, IsTheFirstLineOfAFile) {
  const std::string path = NewFolder() + "/p";
  for (const auto& [text, password] :
       {std::pair{"a b", "a b"}, std::pair{"x\n", "x"},
        std::pair{"x\r\ny\n", "x"}}) {
    WriteText(path, text);
    const auto read = ReadPassword(path);
    ASSERT_EQ(read.status(), absl::OkStatus());
    EXPECT_EQ(*read, password);
  }
  for (const std::string& text :
       {std::string(), std::string("\nx"), std::string(5000, 'x')}) {
    WriteText(path, text);
    EXPECT_TRUE(absl::IsInvalidArgument(ReadPassword(path).status()));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ReadPassword("/none").status()));
}

// A pipe may have no writer, and a manager must not wait for one.
TEST(PasswordTest, APipeIsRefused) {
  const std::string path = NewFolder() + "/p";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(ReadPassword(path).status().message(),
              HasSubstr("it is no regular file"));
}

}  // namespace
}  // namespace kamino::membership
