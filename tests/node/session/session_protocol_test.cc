// A node's answers to the frames of a connection, with every carrier.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"
#include "kamino/v1/session.pb.h"
#include "proto/session_frame.h"
#include "tests/node/session/session_protocol_fixture.h"

namespace kamino::node {
namespace {

using session::FrameKind;
using session::Method;
using ::testing::HasSubstr;

TEST_F(SessionProtocolTest, MutationsAreExecutedOnce) {
  const auto welcome = OpenSession(7);
  EXPECT_EQ(welcome.session().id(), 7);
  EXPECT_EQ(welcome.session().window(), 4);
  EXPECT_NE(welcome.session().epoch(), 0);
  const Response first = Put(1, "a", "1");
  EXPECT_EQ(first.code, 0);
  EXPECT_GT(first.sequence, 0);
  const Response again = Put(1, "a", "other");
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.sequence, first.sequence);
  EXPECT_EQ(ValueOf("a"), "1");
}

TEST_F(SessionProtocolTest, SlotsDoNotWaitForEachOther) {
  OpenSession(7);
  EXPECT_EQ(Put(3, "c", "3").code, 0);
  EXPECT_EQ(Put(7, "c", "7").code, 0);
  EXPECT_EQ(Put(1, "a", "1").code, 0);
  const Response late = Put(3, "c", "late");
  EXPECT_EQ(ErrorIn(late.body).reason, kamino::v1::REASON_SUPERSEDED);
  const Response early = Put(15, "c", "early");
  EXPECT_EQ(ErrorIn(early.body).reason, kamino::v1::REASON_INVALID_ARGUMENT);
  EXPECT_EQ(ValueOf("c"), "7");
}

TEST_F(SessionProtocolTest, AVoidedNumberIsNeverExecuted) {
  OpenSession(7);
  kamino::v1::VoidResponse voided;
  Response response = Ask(Method::kVoid, 1, "");
  ASSERT_EQ(response.code, 0) << ErrorIn(response.body).message;
  ASSERT_TRUE(voided.ParseFromString(response.body));
  EXPECT_FALSE(voided.executed());
  response = Put(1, "a", "1");
  EXPECT_EQ(ErrorIn(response.body).reason, kamino::v1::REASON_SUPERSEDED);

  const Response put = Put(2, "b", "2");
  response = Ask(Method::kVoid, 2, "");
  ASSERT_TRUE(voided.ParseFromString(response.body));
  EXPECT_TRUE(voided.executed());
  EXPECT_EQ(response.sequence, put.sequence);
}

TEST_F(SessionProtocolTest, ASessionOutlivesItsConnections) {
  const auto welcome = OpenSession(7);
  const Response first = Put(1, "a", "1");
  SendFrame(session::MakeFrame(FrameKind::kGoodbye, "x"));
  peer_->AwaitClosed();
  Connect();
  SendHello(7, welcome.session().epoch());
  EXPECT_EQ(AwaitWelcome().session().window(), 4);
  EXPECT_EQ(Put(1, "a", "other").sequence, first.sequence);
}

TEST_F(SessionProtocolTest, AClosedSessionIsExpired) {
  const auto welcome = OpenSession(7);
  EXPECT_EQ(Ask(Method::kClose, 0, "").code, 0);
  const Response put = Put(1, "a", "1");
  EXPECT_EQ(ErrorIn(put.body).reason, kamino::v1::REASON_INVALID_ARGUMENT);
  Connect();
  SendHello(7, welcome.session().epoch());
  EXPECT_EQ(AwaitGoodbye().reason, kamino::v1::REASON_SESSION_EXPIRED);
}

TEST_F(SessionProtocolTest, AClosedSessionIsNotKeptAlive) {
  const auto welcome = OpenSession(7);
  const auto peer = peer_;
  const uint64_t id = id_;
  Connect();
  SendHello(7, welcome.session().epoch());
  AwaitWelcome();
  EXPECT_EQ(Ask(Method::kKeepAlive, 0, "").code, 0);
  EXPECT_EQ(Ask(Method::kClose, 0, "").code, 0);
  peer_ = peer;
  id_ = id;
  EXPECT_EQ(ErrorIn(Ask(Method::kKeepAlive, 0, "").body).reason,
            kamino::v1::REASON_SESSION_EXPIRED);
}

// A waiting request is answered when the core thread, which knows its progress,
// is gone.
TEST_F(SessionProtocolTest, ANodeStopsWhileAClientAsksForASession) {
  const auto welcome = OpenSession(7);
  const auto peer = peer_;
  const uint64_t id = id_;
  Connect();
  SendHello(7, welcome.session().epoch());
  AwaitWelcome();
  views_.InstallBeforeAnother(2);
  SendFrame(Requests({{1, Method::kClose, 0, 0, ""}}));
  for (std::atomic<uint64_t> in_flight = 0; in_flight == 0;) {
    node_->Run([&in_flight](ChainNode& node) {
      in_flight = node.head().admission_stats()->in_flight;
    });
    absl::Notification ran;
    node_->Run([&ran](ChainNode&) { ran.Notify(); });
    ran.WaitForNotification();
  }
  peer_ = peer;
  id_ = id;
  SendFrame(Requests({{1, Method::kKeepAlive, 0, 0, ""}}));
  node_->Stop();
}

// There may be another head, with other sessions.
TEST_F(SessionProtocolTest, AHeadWithoutLeaseRevealsNoSession) {
  const auto welcome = OpenSession(7);
  views_.lease_ = false;
  EXPECT_EQ(ErrorIn(Ask(Method::kKeepAlive, 0, "").body).reason,
            kamino::v1::REASON_RECONFIGURING);
  for (uint64_t session : {7, 8}) {
    Connect();
    SendHello(session, welcome.session().epoch());
    EXPECT_EQ(AwaitGoodbye().reason, kamino::v1::REASON_RECONFIGURING);
  }
}

TEST_F(SessionProtocolTest, AClientWithoutSessionMayRead) {
  EXPECT_TRUE(NodeServerTest::Put("a", "1", 1).ok());
  SendHello(0);
  AwaitWelcome();
  EXPECT_EQ(ValueOf("a"), "1");
  const Response put = Put(1, "a", "2");
  EXPECT_THAT(ErrorIn(put.body).message, HasSubstr("no session"));
  EXPECT_EQ(Ask(Method::kKeepAlive, 0, "").code, 0);
  const Response none = Ask(static_cast<Method>(99), 0, "");
  EXPECT_THAT(ErrorIn(none.body).message, HasSubstr("no method 99"));
}

TEST_F(SessionProtocolTest, OnlyTheHeadKnowsSessions) {
  views_.Install(2, /*with_us=*/false);
  SendHello(7);
  EXPECT_EQ(AwaitGoodbye().reason, kamino::v1::REASON_NOT_HEAD);
}

TEST_F(SessionProtocolTest, ManyRequestsOfOneFrameAreAllAnswered) {
  OpenSession(7);
  std::vector<session::Request> requests(4);
  const std::string body = PutBody("k", "v");
  for (uint32_t i = 0; i < requests.size(); ++i) {
    requests[i].tag = 10 + i;
    requests[i].method = Method::kPut;
    requests[i].number = 1 + i;
    requests[i].body = body;
  }
  SendFrame(Requests(requests));
  std::vector<uint32_t> tags;
  for (size_t i = 0; i < requests.size(); ++i) tags.push_back(Await().tag);
  EXPECT_THAT(tags, ::testing::UnorderedElementsAre(10, 11, 12, 13));
}

// --- Nonsense ends the connection, and says why.

TEST_F(SessionProtocolTest, RequestsBeforeTheHelloAreRefused) {
  SendFrame(Requests({{1, Method::kKeepAlive, 0, 0, ""}}));
  EXPECT_THAT(AwaitGoodbye().message, HasSubstr("a hello"));
}

TEST_F(SessionProtocolTest, AMalformedFrameIsRefused) {
  SendFrame("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(AwaitGoodbye().message, HasSubstr("no frame"));
}

TEST_F(SessionProtocolTest, AnotherVersionIsRefused) {
  kamino::v1::SessionHello hello;
  hello.set_min_version(2);
  hello.set_max_version(3);
  SendFrame(session::MakeFrame(FrameKind::kHello, hello.SerializeAsString()));
  EXPECT_THAT(AwaitGoodbye().message, HasSubstr("versions 2 to 3"));
}

TEST_F(SessionProtocolTest, PartsThatDoNotFillTheFrameAreRefused) {
  SendHello(0);
  AwaitWelcome();
  std::string frame = Requests({{1, Method::kKeepAlive, 0, 0, ""}});
  frame[session::kHeaderBytes] = 200;  // the part's length
  SendFrame(frame);
  // Earlier requests may be answered first; then the goodbye follows.
  std::string last = peer_->Next();
  EXPECT_EQ(session::ParseFrame(last)->kind, FrameKind::kGoodbye);
}

TEST_F(SessionProtocolTest, AnotherChainIsRefused) {
  kamino::v1::SessionHello hello;
  hello.set_min_version(1);
  hello.set_max_version(1);
  hello.set_chain_id(9);
  SendFrame(session::MakeFrame(FrameKind::kHello, hello.SerializeAsString()));
  EXPECT_EQ(AwaitGoodbye().reason, kamino::v1::REASON_UNKNOWN_CHAIN);
}

TEST_F(SessionProtocolTest, AZeroWindowIsRefused) {
  SendHello(7, /*epoch=*/0, /*window=*/0);
  EXPECT_EQ(AwaitGoodbye().reason, kamino::v1::REASON_INVALID_ARGUMENT);
}

TEST_F(SessionProtocolTest, AWindowIsCutToItsLimit) {
  SendHello(7, /*epoch=*/0, /*window=*/1 << 20);
  EXPECT_EQ(AwaitWelcome().session().window(), 1024);
}

constexpr char kOurs[] = "00112233445566778899aabbccddeeff";
constexpr char kAnother[] = "ffeeddccbbaa99887766554433221100";

TEST_F(SessionProtocolTest, AHelloForAnotherClusterOpensNothing) {
  SendHelloFor(kAnother);
  EXPECT_EQ(AwaitWelcome().cluster_uuid(), "") << "it knows of no cluster yet";
  views_.cluster_uuid_ = absl::HexStringToBytes(kOurs);
  views_.Install(2);
  EXPECT_EQ(Status().admission().sessions(), 1u);

  Connect();
  SendHelloFor(kAnother);
  const Error refused = AwaitGoodbye();
  EXPECT_EQ(refused.reason, kamino::v1::REASON_OTHER_CLUSTER);
  EXPECT_THAT(refused.message, HasSubstr("c (uuid 00112233"));
  EXPECT_EQ(Status().admission().sessions(), 1u);

  for (const std::string uuid : {kOurs, ""}) {
    Connect();
    SendHelloFor(uuid);
    EXPECT_EQ(AwaitWelcome().cluster_uuid(), kOurs);
  }
}

// A node before its first view.
class SessionBeforeViewTest : public SessionProtocolTest {
 protected:
  SessionBeforeViewTest() : SessionProtocolTest({}, /*installs_view=*/false) {}
};

TEST_F(SessionBeforeViewTest, AHelloThatNamesAClusterIsRefused) {
  for (const char* const uuid : {kOurs, kAnother}) {
    Connect();
    SendHelloFor(uuid);
    const Error refused = AwaitGoodbye();
    EXPECT_EQ(refused.reason, kamino::v1::REASON_RECONFIGURING);
    EXPECT_THAT(refused.message, HasSubstr(uuid));
  }

  views_.cluster_uuid_ = absl::HexStringToBytes(kOurs);
  views_.Install(1);
  EXPECT_EQ(Status().admission().sessions(), 0u);
  Connect();
  SendHelloFor(kOurs);
  EXPECT_EQ(AwaitWelcome().cluster_uuid(), kOurs);
}

}  // namespace
}  // namespace kamino::node
