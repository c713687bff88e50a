// Rights on connections with an identity, and on those without.
#include <string>

#include "examples/bank/bank_transfer.h"
#include "gmock/gmock.h"
#include "security/access.h"
#include "tests/faults/planted.h"
#include "tests/node/session/session_protocol_fixture.h"

namespace kamino::node {
namespace {

using security::Access;
using security::Role;
using security::RoleMap;
using session::FrameKind;
using session::Method;
using ::testing::HasSubstr;

constexpr int kPermissionDenied = 7;
constexpr int kUnauthenticated = 16;

std::string Name(Role role) {
  return security::ToString(security::Identity{"c", role, "x"});
}

SessionServerOptions Asking(Access* access) {
  SessionServerOptions options;
  options.access = access;
  return options;
}

struct WithAccess {
  Access access{RoleMap()};
};

class SessionAccessTest : public WithAccess, public SessionProtocolTest {
 protected:
  SessionAccessTest() : SessionProtocolTest(Asking(&access)) {}

  void ConnectAs(const std::string& identity) {
    identity_ = identity;
    Connect();
  }
  // A connection that has been greeted.
  void Enter(const std::string& identity, uint64_t session_id = 0) {
    ConnectAs(identity);
    SendHello(session_id);
    AwaitWelcome();
  }
  void Grant(const std::string& prefix) {
    access.Replace(RoleMap(
        {{"kamino://c/writer/*", {Role::kWriter}, KeyScope({prefix})}}, false));
  }
};

TEST_F(SessionAccessTest, AClientWithoutIdentityIsRefused) {
  SendHello(7);
  const Error why = AwaitGoodbye();
  EXPECT_EQ(why.code, kUnauthenticated);
  EXPECT_THAT(why.message, HasSubstr("HELLO needs a certificate"));
  ConnectAs("no identity");
  SendHello(7);
  EXPECT_EQ(AwaitGoodbye().code, kUnauthenticated);
}

TEST_F(SessionAccessTest, AClientWithAnotherRoleIsRefused) {
  for (Role role : {Role::kNode, Role::kManager, Role::kOperator}) {
    ConnectAs(Name(role));
    SendHello(7);
    const Error why = AwaitGoodbye();
    EXPECT_EQ(why.code, kPermissionDenied);
    EXPECT_THAT(why.message,
                HasSubstr("HELLO requires the role writer or reader"));
  }
  EXPECT_EQ(access.counts().denied, 3u);
}

// Each method that there is, and each role that may connect.
TEST_F(SessionAccessTest, EachRequestIsChecked) {
  uint64_t session = 100;
  for (Role role : {Role::kReader, Role::kWriter}) {
    for (uint16_t method = 1; method <= session::kLastMethod; ++method) {
      // These have no answer.
      if (static_cast<Method>(method) == Method::kCancel) continue;
      if (static_cast<Method>(method) == Method::kTrace) continue;
      Enter(Name(role), role == Role::kWriter ? ++session : 0);
      const bool may = security::RuleOfRequest(method)->roles.Has(role);
      const Response response = Ask(static_cast<Method>(method), 1, "");
      EXPECT_EQ(response.code != kPermissionDenied, may)
          << method << ": " << ErrorIn(response.body).message;
    }
  }
}

TEST_F(SessionAccessTest, AReaderMayReadAndMayNotWrite) {
  Enter(Name(Role::kWriter), 7);
  EXPECT_EQ(Put(1, "a", "1").code, 0);
  Enter(Name(Role::kReader));
  const Response denied = Put(1, "a", "2");
  EXPECT_EQ(denied.code, kPermissionDenied);
  EXPECT_EQ(
      ErrorIn(denied.body).message,
      "PUT requires the role writer; kamino://c/reader/x has the role reader");
  EXPECT_EQ(ValueOf("a"), "1");
}

// Sessions are limited, and reserved for writers.
TEST_F(SessionAccessTest, AReaderHasNoSession) {
  Enter(Name(Role::kWriter), 7);
  for (uint64_t session : {8, 7}) {
    ConnectAs(Name(Role::kReader));
    SendHello(session);
    const Error why = AwaitGoodbye();
    EXPECT_EQ(why.code, kPermissionDenied);
    EXPECT_EQ(
        why.message,
        "a HELLO with a session requires the role writer; kamino://c/reader/x "
        "has the role reader");
  }
}

TEST_F(SessionAccessTest, AnUncheckedRequestIsDetected) {
  faults::Planted fault("session-requests-not-guarded");
  Enter(Name(Role::kWriter), 7);
  access.Replace(RoleMap(
      {{"kamino://c/writer/*", {Role::kReader}, KeyScope::All()}}, false));
  EXPECT_EQ(Put(1, "a", "1").code, 0);
}

TEST_F(SessionAccessTest, KeysOutsideTheScopeAreDenied) {
  Enter(Name(Role::kWriter), 7);
  EXPECT_EQ(Put(1, "b/1", "100").code, 0);
  Grant("a/");
  EXPECT_EQ(Put(2, "a/1", "100").code, 0);
  EXPECT_EQ(Put(3, "b/1", "0").code, kPermissionDenied);
  kamino::v1::CallRequest call;
  call.set_procedure(examples::kBankTransfer);
  call.set_arguments("b/1 a/1 5");
  EXPECT_EQ(Ask(Method::kCall, 4, call.SerializeAsString()).code,
            kPermissionDenied);
  kamino::v1::GetRequest get;
  get.set_key("b/1");
  EXPECT_EQ(Ask(Method::kGet, 0, get.SerializeAsString()).code,
            kPermissionDenied);
  kamino::v1::BatchGetRequest batch;
  batch.add_keys("a/1");
  batch.add_keys("b/1");
  EXPECT_EQ(Ask(Method::kBatchGet, 0, batch.SerializeAsString()).code,
            kPermissionDenied);
  EXPECT_EQ(ValueOf("a/1"), "100");
  EXPECT_GE(access.counts().denied, 4u);
}

TEST_F(SessionAccessTest, AClientThatLostItsRolesIsDisconnected) {
  Enter(Name(Role::kWriter), 7);
  EXPECT_EQ(Put(1, "a", "1").code, 0);
  access.Replace(RoleMap({}, /*only_rules=*/true));
  session::Request put;
  put.method = Method::kPut;
  put.number = 2;
  const std::string body = PutBody("a", "2");
  put.body = body;
  SendFrame(Requests({put}));
  const Error why = AwaitGoodbye();
  EXPECT_EQ(why.code, kPermissionDenied);
  EXPECT_THAT(why.message, HasSubstr("kamino://c/writer/x has no role"));
}

}  // namespace
}  // namespace kamino::node
