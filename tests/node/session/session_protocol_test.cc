// What a node answers to the frames of a connection, whatever carries them: the
// test is the carrier.
#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"
#include "kamino/v1/session.pb.h"
#include "node/session/session_server.h"
#include "proto/session_frame.h"
#include "tests/node/rpc/node_server_fixture.h"

namespace kamino::node {
namespace {

using kamino::v1::Reason;
using session::FrameKind;
using session::Method;
using ::testing::HasSubstr;

// What the peer of a connection sees. Any thread.
class Peer {
 public:
  void Add(std::string frame) {
    absl::MutexLock lock(&mutex_);
    if (takes_) {
      frames_.push_back(std::move(frame));
    } else {
      untaken_ += frame.size();
    }
  }
  void Close() {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }
  void TakeNothing() {
    absl::MutexLock lock(&mutex_);
    takes_ = false;
  }
  size_t untaken() {
    absl::MutexLock lock(&mutex_);
    return untaken_;
  }
  // Waits for the next frame.
  std::string Next() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Peer::HasFrame));
    std::string frame = std::move(frames_.front());
    frames_.pop_front();
    return frame;
  }
  void AwaitClosed() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&closed_));
  }

 private:
  bool HasFrame() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !frames_.empty();
  }

  absl::Mutex mutex_;
  std::deque<std::string> frames_ ABSL_GUARDED_BY(mutex_);
  bool takes_ ABSL_GUARDED_BY(mutex_) = true;
  size_t untaken_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

class TestCarrier final : public SessionCarrier {
 public:
  explicit TestCarrier(std::shared_ptr<Peer> peer) : peer_(std::move(peer)) {}
  void Send(std::string frame) override { peer_->Add(std::move(frame)); }
  size_t unsent() const override { return peer_->untaken(); }
  void Close() override { peer_->Close(); }
  void Abort() override { peer_->Close(); }
  std::string peer() const override { return "test"; }

 private:
  const std::shared_ptr<Peer> peer_;
};

// One whose looks at it are counted.
class CountingCarrier final : public SessionCarrier {
 public:
  explicit CountingCarrier(std::shared_ptr<int> looks)
      : looks_(std::move(looks)) {}
  void Send(std::string) override {}
  size_t unsent() const override {
    ++*looks_;
    return 0;
  }
  void Close() override {}
  void Abort() override {}
  std::string peer() const override { return "test"; }

 private:
  const std::shared_ptr<int> looks_;
};

SessionServerOptions TightOptions() {
  SessionServerOptions options;
  options.limits.max_requests = 4;
  options.limits.max_unsent_bytes = 4096;
  options.limits.max_silence = absl::Milliseconds(200);
  return options;
}

// The body of an error, or of a goodbye.
struct Error {
  int code = 0;
  std::string message;
  Reason reason = kamino::v1::REASON_UNSPECIFIED;
};

Error ErrorIn(absl::string_view body) {
  google::rpc::Status status;
  EXPECT_TRUE(
      status.ParseFromArray(body.data(), static_cast<int>(body.size())));
  kamino::v1::ErrorDetail detail;
  if (status.details_size() > 0) status.details(0).UnpackTo(&detail);
  return {status.code(), status.message(), detail.reason()};
}

class SessionProtocolTest : public NodeServerTest {
 protected:
  explicit SessionProtocolTest(const SessionServerOptions& options = {})
      : NodeServerTest({}, {}, options) {
    views_.Install(1);
    Connect();
  }

  void Connect() {
    peer_ = std::make_shared<Peer>();
    id_ = sessions_->NewId();
    node_->Run([this, id = id_, peer = peer_](ChainNode&) {
      sessions_->Open(id, std::make_unique<TestCarrier>(peer));
    });
  }

  void SendFrame(std::string frame) {
    node_->Run([this, id = id_, frame = std::move(frame)](ChainNode&) {
      sessions_->OnFrame(id, frame);
    });
  }

  void SendHello(uint64_t session_id, uint64_t epoch = 0, uint32_t window = 4) {
    kamino::v1::SessionHello hello;
    hello.set_min_version(1);
    hello.set_max_version(1);
    if (session_id != 0) {
      hello.mutable_session()->set_id(session_id);
      hello.mutable_session()->set_epoch(epoch);
      hello.mutable_session()->set_window(window);
      hello.mutable_session()->set_lease_ms(60000);
    }
    SendFrame(session::MakeFrame(FrameKind::kHello, hello.SerializeAsString()));
  }

  kamino::v1::SessionWelcome AwaitWelcome() {
    const std::string bytes = peer_->Next();
    const auto frame = session::ParseFrame(bytes);
    EXPECT_TRUE(frame.ok()) << frame.status();
    EXPECT_EQ(frame->kind, FrameKind::kWelcome);
    kamino::v1::SessionWelcome welcome;
    EXPECT_TRUE(welcome.ParseFromString(std::string(frame->parts)));
    return welcome;
  }
  kamino::v1::SessionWelcome OpenSession(uint64_t id) {
    SendHello(id);
    return AwaitWelcome();
  }

  Error AwaitGoodbye() {
    const std::string bytes = peer_->Next();
    const auto frame = session::ParseFrame(bytes);
    EXPECT_EQ(frame->kind, FrameKind::kGoodbye);
    peer_->AwaitClosed();
    return ErrorIn(frame->parts);
  }

  static std::string Requests(const std::vector<session::Request>& requests) {
    session::FrameWriter writer(FrameKind::kRequests);
    for (const session::Request& request : requests) writer.Add(request);
    return writer.Take();
  }

  struct Response {
    uint32_t tag = 0;
    int code = 0;
    uint64_t sequence = 0;
    std::string body;
  };
  Response Await() {
    while (responses_.empty()) {
      const std::string bytes = peer_->Next();
      const auto frame = session::ParseFrame(bytes);
      EXPECT_EQ(frame->kind, FrameKind::kResponses);
      EXPECT_TRUE(session::VisitResponses(
                      *frame,
                      [this](const session::Response& response) {
                        responses_.push_back({response.tag, response.code,
                                              response.sequence,
                                              std::string(response.body)});
                        return true;
                      })
                      .ok());
    }
    Response response = responses_.front();
    responses_.pop_front();
    return response;
  }

  // Sends one request and returns its answer.
  Response Ask(Method method, uint64_t number, const std::string& body) {
    session::Request request;
    request.tag = ++tag_;
    request.method = method;
    request.number = number;
    request.body = body;
    SendFrame(Requests({request}));
    Response response = Await();
    EXPECT_EQ(response.tag, tag_);
    return response;
  }
  Response Put(uint64_t number, const std::string& key,
               const std::string& value) {
    return Ask(Method::kPut, number, PutBody(key, value));
  }
  static std::string PutBody(const std::string& key, const std::string& value) {
    kamino::v1::PutRequest put;
    put.set_key(key);
    put.set_value(value);
    return put.SerializeAsString();
  }
  std::string ValueOf(const std::string& key) {
    kamino::v1::GetRequest get;
    get.set_key(key);
    const Response response = Ask(Method::kGet, 0, get.SerializeAsString());
    kamino::v1::GetResponse got;
    EXPECT_EQ(response.code, 0) << ErrorIn(response.body).message;
    EXPECT_TRUE(got.ParseFromString(response.body));
    return got.value();
  }

  std::shared_ptr<Peer> peer_;
  uint64_t id_ = 0;
  uint32_t tag_ = 0;
  std::deque<Response> responses_;
};

TEST_F(SessionProtocolTest, MutationsAreCarriedOutOnce) {
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

TEST_F(SessionProtocolTest, AVoidedNumberIsNeverCarriedOut) {
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

TEST_F(SessionProtocolTest, WhatWasClosedIsNotKnownAnyMore) {
  const auto welcome = OpenSession(7);
  EXPECT_EQ(Ask(Method::kClose, 0, "").code, 0);
  const Response put = Put(1, "a", "1");
  EXPECT_EQ(ErrorIn(put.body).reason, kamino::v1::REASON_INVALID_ARGUMENT);
  Connect();
  SendHello(7, welcome.session().epoch());
  EXPECT_EQ(AwaitGoodbye().reason, kamino::v1::REASON_SESSION_EXPIRED);
}

TEST_F(SessionProtocolTest, WhatWasClosedIsNotKeptAlive) {
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

// What waits is answered when there is no core any more to say how far it was.
TEST_F(SessionProtocolTest, ANodeStopsWhileSomebodyAsksForASession) {
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
      in_flight = node.admission_stats()->in_flight;
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
TEST_F(SessionProtocolTest, WithoutALeaseAHeadSaysNothingOfSessions) {
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

// It would take longer than the ticks are apart.
TEST_F(SessionProtocolTest, ATickLooksAtAFewOfMany) {
  constexpr int kMany = 2000;
  std::vector<std::shared_ptr<int>> looks;
  int most = 0;
  absl::Notification done;
  node_->Run([&](ChainNode&) {
    for (int i = 0; i < kMany; ++i) {
      looks.push_back(std::make_shared<int>(0));
      sessions_->Open(sessions_->NewId(),
                      std::make_unique<CountingCarrier>(looks.back()));
    }
    const auto sum = [&] {
      int all = 0;
      for (const auto& each : looks) all += *each;
      return all;
    };
    for (int tick = 0; tick < 20; ++tick) {
      const int before = sum();
      sessions_->OnTick(node_->Now());
      most = std::max(most, sum() - before);
    }
    done.Notify();
  });
  done.WaitForNotification();
  EXPECT_LE(most, kMany / 10);
  for (int i = 0; i < kMany; ++i) EXPECT_GE(*looks[i], 1) << i;
}

TEST_F(SessionProtocolTest, WithoutASessionOneMayRead) {
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

TEST_F(SessionProtocolTest, RequestsBeforeTheHello) {
  SendFrame(Requests({{1, Method::kKeepAlive, 0, 0, ""}}));
  EXPECT_THAT(AwaitGoodbye().message, HasSubstr("a hello"));
}

TEST_F(SessionProtocolTest, WhatIsNoFrame) {
  SendFrame("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(AwaitGoodbye().message, HasSubstr("no frame"));
}

TEST_F(SessionProtocolTest, AnotherVersion) {
  kamino::v1::SessionHello hello;
  hello.set_min_version(2);
  hello.set_max_version(3);
  SendFrame(session::MakeFrame(FrameKind::kHello, hello.SerializeAsString()));
  EXPECT_THAT(AwaitGoodbye().message, HasSubstr("versions 2 to 3"));
}

TEST_F(SessionProtocolTest, PartsThatDoNotFillTheFrame) {
  SendHello(0);
  AwaitWelcome();
  std::string frame = Requests({{1, Method::kKeepAlive, 0, 0, ""}});
  frame[session::kHeaderBytes] = 200;  // the part's length
  SendFrame(frame);
  // What came before it was answered, perhaps; then that.
  std::string last = peer_->Next();
  EXPECT_EQ(session::ParseFrame(last)->kind, FrameKind::kGoodbye);
}

TEST_F(SessionProtocolTest, AnotherChain) {
  kamino::v1::SessionHello hello;
  hello.set_min_version(1);
  hello.set_max_version(1);
  hello.set_chain_id(9);
  SendFrame(session::MakeFrame(FrameKind::kHello, hello.SerializeAsString()));
  EXPECT_EQ(AwaitGoodbye().reason, kamino::v1::REASON_UNKNOWN_CHAIN);
}

TEST_F(SessionProtocolTest, SessionsThatCannotBe) {
  SendHello(7, /*epoch=*/0, /*window=*/0);
  EXPECT_EQ(AwaitGoodbye().reason, kamino::v1::REASON_INVALID_ARGUMENT);
}

TEST_F(SessionProtocolTest, AWindowIsCutToWhatMayBe) {
  SendHello(7, /*epoch=*/0, /*window=*/1 << 20);
  EXPECT_EQ(AwaitWelcome().session().window(), 1024);
}

// --- Bounds.

class BoundedSessionTest : public SessionProtocolTest {
 protected:
  BoundedSessionTest() : SessionProtocolTest(TightOptions()) {}
};

TEST_F(BoundedSessionTest, WhoSaysNoHelloIsSentAway) {
  EXPECT_THAT(AwaitGoodbye().message, HasSubstr("no hello"));
}

TEST_F(BoundedSessionTest, WhoTakesNoAnswersIsShedAndThenSentAway) {
  ASSERT_TRUE(NodeServerTest::Put("big", std::string(3000, 'x'), 1).ok());
  Connect();
  SendHello(0);
  AwaitWelcome();
  peer_->TakeNothing();
  kamino::v1::GetRequest get;
  get.set_key("big");
  const std::string body = get.SerializeAsString();
  for (uint32_t tag = 1; tag <= 20; ++tag) {
    SendFrame(Requests({{tag, Method::kGet, 0, 0, body}}));
  }
  peer_->AwaitClosed();
  // Two answers, then words of refusal.
  EXPECT_LT(peer_->untaken(), size_t{20000});
}

}  // namespace
}  // namespace kamino::node
