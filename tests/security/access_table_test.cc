// The access table, compared with everything that can be requested: each method
// of each service, each frame of sessions, each request in one.
#include "security/access_table.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpc/health/v1/health.pb.h"
#include "gtest/gtest.h"
#include "kamino/internal/v1/membership.pb.h"
#include "kamino/internal/v1/verbs.pb.h"
#include "kamino/v1/admin.pb.h"
#include "kamino/v1/backup.pb.h"
#include "kamino/v1/debug.pb.h"
#include "kamino/v1/kamino.pb.h"
#include "kamino/v1/session.pb.h"
#include "proto/session_frame.h"
#include "security/access.h"

namespace kamino::security {
namespace {

using google::protobuf::FileDescriptor;

std::vector<std::string> AllMethods() {
  std::vector<std::string> methods;
  for (const FileDescriptor* file : {
           v1::GetRequest::descriptor()->file(),
           v1::SessionFrame::descriptor()->file(),
           v1::GetClusterRequest::descriptor()->file(),
           v1::GetDebugRequest::descriptor()->file(),
           v1::SaveRequest::descriptor()->file(),
           internal::v1::RegisterRequest::descriptor()->file(),
           internal::v1::ConnectRequest::descriptor()->file(),
           grpc::health::v1::HealthCheckRequest::descriptor()->file(),
       }) {
    for (int i = 0; i < file->service_count(); ++i) {
      const auto* service = file->service(i);
      for (int j = 0; j < service->method_count(); ++j) {
        methods.push_back(absl::StrCat("/", service->full_name(), "/",
                                       service->method(j)->name()));
      }
    }
  }
  // Its description comes with a library of gRPC's.
  methods.push_back(
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
  return methods;
}

TEST(AccessTableTest, HasEachMethodAndNoOther) {
  const std::vector<std::string> all = AllMethods();
  std::set<std::string> rows;
  for (const AccessRule& rule : AccessTable()) {
    if (rule.kind != Asked::kCall) continue;
    EXPECT_TRUE(rows.insert(std::string(rule.name)).second) << rule.name;
  }
  EXPECT_EQ(rows, std::set<std::string>(all.begin(), all.end()));
}

TEST(AccessTableTest, HasEachFrameThatClientsSend) {
  using session::FrameKind;
  for (const FrameKind kind :
       {FrameKind::kHello, FrameKind::kRequests, FrameKind::kGoodbye}) {
    EXPECT_NE(RuleOfFrame(static_cast<uint8_t>(kind)), nullptr);
  }
  for (const FrameKind kind : {FrameKind::kWelcome, FrameKind::kResponses}) {
    EXPECT_EQ(RuleOfFrame(static_cast<uint8_t>(kind)), nullptr);
  }
  EXPECT_EQ(RuleOfFrame(0), nullptr);
  EXPECT_EQ(RuleOfFrame(6), nullptr);
}

TEST(AccessTableTest, SessionsAreForWriters) {
  ASSERT_NE(RuleOfSession(), nullptr);
  EXPECT_EQ(RuleOfSession()->roles, RoleSet({Role::kWriter}));
}

TEST(AccessTableTest, HasEachRequest) {
  for (uint16_t method = 1; method <= session::kLastMethod; ++method) {
    const AccessRule* const rule = RuleOfRequest(method);
    ASSERT_NE(rule, nullptr) << method;
    EXPECT_EQ(rule->number, method);
    if (session::IsMutation(static_cast<session::Method>(method))) {
      EXPECT_EQ(rule->roles, RoleSet({Role::kWriter})) << rule->name;
    }
  }
  EXPECT_EQ(RuleOfRequest(0), nullptr);
  EXPECT_EQ(RuleOfRequest(session::kLastMethod + 1), nullptr);
  EXPECT_EQ(RuleOfRequest(0xffff), nullptr);
}

TEST(AccessTableTest, HasEachPageExceptProbes) {
  for (const char* path : {"/metrics", "/", "/chain.json"}) {
    const AccessRule* const rule = RuleOfPage(path);
    ASSERT_NE(rule, nullptr) << path;
    EXPECT_EQ(rule->roles, RoleSet({Role::kOperator, Role::kReader}));
  }
  for (const char* path : {"/livez", "/readyz", "", "metrics", "//"}) {
    EXPECT_EQ(RuleOfPage(path), nullptr) << path;
  }
}

// The table in words. An entry that is looser than this is looser on purpose,
// and says so here.
std::string RolesOf(const std::string& method) {
  const AccessRule* const rule = RuleOfCall(method);
  return rule == nullptr ? "no rule" : ToString(rule->roles);
}

TEST(AccessTableTest, GrantsTheIntendedRoles) {
  const std::string everybody = "node, manager, operator, writer or reader";
  const std::string data = "writer or reader";
  const std::string looks = "operator or reader";
  const std::vector<std::pair<std::string, std::string>> meant = {
      {"Get", data},
      {"BatchGet", data},
      {"Put", "writer"},
      {"Patch", "writer"},
      {"Delete", "writer"},
      {"Scan", data},
      {"Commit", "writer"},
      {"Call", "writer"},
      {"GetOutcome", "writer"},
      {"GetChain", everybody},
      {"WatchChain", everybody},
      {"GetNodeStatus", "manager, operator or reader"},
      {"Connect", data},
      {"GetCarriers", data},
      {"ConnectPair", data},
      {"GetLinkPass", data},
      {"GetCluster", looks},
      {"GetManager", looks},
      {"RemoveNode", "operator"},
      {"AddNode", "operator"},
      {"Recover", "operator"},
      {"Finalize", "operator"},
      {"GetDebug", "operator"},
      {"Save", "operator"},
      {"Restore", "operator"},
      {"Register", "node"},
      {"Heartbeat", "node"},
      {"Vouch", "node"},
      {"GetPass", "node"},
      {"Check", everybody},
      {"Watch", everybody},
      {"ServerReflectionInfo", "operator"}};
  for (const std::string& method : AllMethods()) {
    const std::string name = method.substr(method.rfind('/') + 1);
    // One of the nodes' own, too.
    if (method == "/kamino.internal.v1.VerbsLinks/Connect") {
      EXPECT_EQ(RolesOf(method), "node");
      continue;
    }
    bool found = false;
    for (const auto& [each, roles] : meant) {
      if (each != name) continue;
      found = true;
      EXPECT_EQ(RolesOf(method), roles) << method;
    }
    EXPECT_TRUE(found) << method << ": who is meant to?";
  }
}

// Every method, frame and request, by every role and without one.
TEST(AccessTableTest, DecidesForEveryRoleAndForNone) {
  Access access{RoleMap()};
  for (const AccessRule& rule : AccessTable()) {
    EXPECT_FALSE(rule.roles.empty()) << rule.name;
    EXPECT_TRUE(
        absl::IsUnauthenticated(access.Check(nullptr, &rule, rule.name)));
    for (Role role : kRoles) {
      const GrantPtr grant = access.GrantOf({"c", role, "x"});
      const absl::Status status = access.Check(grant.get(), &rule, rule.name);
      EXPECT_EQ(status.ok(), rule.roles.Has(role)) << status;
      EXPECT_TRUE(status.ok() || absl::IsPermissionDenied(status)) << status;
    }
    const Grant nothing =
        RoleMap({}, /*only_rules=*/true).GrantOf({"c", Role::kOperator, "x"});
    EXPECT_TRUE(
        absl::IsPermissionDenied(access.Check(&nothing, &rule, rule.name)));
  }
}

// The answer to the client names the key; other readers must not learn it.
TEST(AccessTest, ANotedDenialContainsNoKey) {
  Access access{RoleMap()};
  std::vector<std::string> told;
  access.SetOnDenied([&](const absl::Status& why, absl::string_view what,
                         absl::string_view who) {
    EXPECT_TRUE(absl::IsPermissionDenied(why)) << why;
    told.push_back(absl::StrCat(who, ", ", what, ": ", why.message()));
  });
  const Principal who{"kamino://c/writer/w", KeyScope({"a/"})};
  access.Note(absl::PermissionDeniedError("the key \"a-key\" is outside"),
              "/kamino.v1.KaminoService/Get", &who);
  EXPECT_THAT(
      told,
      ::testing::ElementsAre(
          "kamino://c/writer/w, /kamino.v1.KaminoService/Get: "
          "/kamino.v1.KaminoService/Get used a key outside of \"a/\", which "
          "this identity may use, or another identity's session"));
  access.Note(absl::NotFoundError("no a-key"), "GET", &who);
  EXPECT_EQ(access.counts().denied, 1u);
}

}  // namespace
}  // namespace kamino::security
