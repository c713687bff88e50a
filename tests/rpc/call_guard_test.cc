// A server with certificates, and every method that there is, called by every
// role and by a caller without a certificate.
#include "rpc/call_guard.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "kamino/internal/v1/membership.grpc.pb.h"
#include "kamino/internal/v1/verbs.grpc.pb.h"
#include "kamino/v1/admin.grpc.pb.h"
#include "kamino/v1/debug.grpc.pb.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "kamino/v1/session.grpc.pb.h"
#include "rpc/call_counts.h"
#include "rpc/channel.h"
#include "rpc/credentials.h"
#include "rpc/server.h"
#include "rpc/status.h"
#include "tests/faults/planted.h"
#include "tests/patience.h"
#include "tests/security/test_certificates.h"

namespace kamino::rpc {
namespace {

using security::AccessRule;
using security::Asked;
using security::Identity;
using security::Role;

std::string NameOf(const std::optional<Role>& role) {
  return role.has_value() ? std::string(security::RoleName(*role)) : "nobody";
}

class CallGuardTest : public ::testing::Test {
 protected:
  CallGuardTest() {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.credentials = CredentialsOf({"c", Role::kManager, "m1"});
    options.access = access_;
    server_ =
        *Server::Start(options, {&kamino_, &sessions_, &admin_, &debug_,
                                 &membership_, &grants_, &verbs_, &links_});
    const std::string address = absl::StrCat("127.0.0.1:", server_->port());
    for (Role role : security::kRoles) {
      ChannelOptions channel;
      channel.credentials = CredentialsOf({"c", role, "x"});
      channel.server = Role::kManager;
      stubs_[role] =
          std::make_unique<grpc::GenericStub>(MakeChannel(address, channel));
    }
    stubs_[std::nullopt] =
        std::make_unique<grpc::GenericStub>(MakeChannel(address));
  }

  std::shared_ptr<const Credentials> CredentialsOf(const Identity& identity) {
    return *Credentials::Make(
        std::shared_ptr<security::Certificates>(authority_.Load(identity)));
  }

  // Sends an empty message, and ignores the contents of the answer.
  absl::Status Call(const std::optional<Role>& role,
                    const std::string& method) {
    grpc::ClientContext context;
    SetTimeout(role.has_value() ? Patience(absl::Seconds(20))
                                : absl::Milliseconds(500),
               &context);
    const grpc::Slice nothing;
    const grpc::ByteBuffer request(&nothing, 1);
    grpc::ByteBuffer response;
    grpc::Status status;
    absl::Notification done;
    stubs_.at(role)->UnaryCall(&context, method, {}, &request, &response,
                               [&](grpc::Status ended) {
                                 status = std::move(ended);
                                 done.Notify();
                               });
    done.WaitForNotification();
    return FromGrpc(status);
  }

  // Calls whose answers differ from the table; empty: none.
  std::vector<std::string> Wrong() {
    std::vector<std::string> wrong;
    for (const AccessRule& rule : security::AccessTable()) {
      // The answer of this call never ends.
      if (rule.kind != Asked::kCall ||
          rule.name == "/grpc.health.v1.Health/Watch")
        continue;
      for (Role role : security::kRoles) {
        const absl::Status status = Call(role, std::string(rule.name));
        if (absl::IsPermissionDenied(status) == rule.roles.Has(role)) {
          wrong.push_back(absl::StrCat(rule.name, " by ", NameOf(role), ": ",
                                       status.ToString()));
        }
      }
    }
    return wrong;
  }

  security::TestAuthority authority_;
  std::shared_ptr<security::Access> access_ =
      std::make_shared<security::Access>(security::RoleMap());
  kamino::v1::KaminoService::CallbackService kamino_;
  kamino::v1::SessionService::CallbackService sessions_;
  kamino::v1::AdminService::CallbackService admin_;
  kamino::v1::DebugService::CallbackService debug_;
  kamino::internal::v1::MembershipService::CallbackService membership_;
  kamino::internal::v1::VouchService::CallbackService grants_;
  kamino::internal::v1::VerbsLinks::CallbackService verbs_;
  kamino::internal::v1::ChainLinks::CallbackService links_;
  std::unique_ptr<Server> server_;
  std::map<std::optional<Role>, std::unique_ptr<grpc::GenericStub>> stubs_;
};

TEST_F(CallGuardTest, EachMethodIsOpenToTheRolesOfTheTable) {
  EXPECT_THAT(Wrong(), ::testing::IsEmpty());
  EXPECT_GT(access_->counts().denied, 50u);
}

TEST_F(CallGuardTest, AnUnguardedMethodIsDetected) {
  faults::Planted fault("calls-of-one-method-not-guarded");
  EXPECT_EQ(Wrong().size(), std::size(security::kRoles) - 1);
}

TEST_F(CallGuardTest, CallsWithoutACertificateAreRefused) {
  for (const AccessRule& rule : security::AccessTable()) {
    if (rule.kind != Asked::kCall) continue;
    const absl::Status status = Call(std::nullopt, std::string(rule.name));
    EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status))
        << rule.name << ": " << status;
  }
}

TEST_F(CallGuardTest, MethodsOutsideTheTableAreRefused) {
  for (Role role : security::kRoles) {
    const absl::Status status = Call(role, "/kamino.v1.AdminService/New");
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                ::testing::HasSubstr("no access rule names it"));
  }
}

TEST_F(CallGuardTest, DenialsHaveAReasonAndAreCounted) {
  const std::string method = "/kamino.v1.AdminService/RemoveNode";
  const uint64_t before =
      CallsServed().Read(method).ended[grpc::StatusCode::PERMISSION_DENIED];
  const absl::Status status = Call(Role::kReader, method);
  EXPECT_EQ(std::string(status.message()),
            method +
                " requires the role operator; kamino://c/reader/x has the role "
                "reader");
  EXPECT_EQ(
      CallsServed().Read(method).ended[grpc::StatusCode::PERMISSION_DENIED],
      before + 1);
}

TEST_F(CallGuardTest, GrantsFollowTheCurrentRules) {
  const std::string method = "/kamino.v1.AdminService/RemoveNode";
  access_->Replace(security::RoleMap(
      {{"kamino://c/reader/*", {Role::kOperator}}}, /*only_rules=*/true));
  EXPECT_FALSE(absl::IsPermissionDenied(Call(Role::kReader, method)));
  EXPECT_TRUE(absl::IsPermissionDenied(Call(Role::kOperator, method)));
}

}  // namespace
}  // namespace kamino::rpc
