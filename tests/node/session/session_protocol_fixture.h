// A node and the peer of one of its connections: the test is the carrier.
#ifndef KAMINO_TESTS_NODE_SESSION_SESSION_PROTOCOL_FIXTURE_H_
#define KAMINO_TESTS_NODE_SESSION_SESSION_PROTOCOL_FIXTURE_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"
#include "kamino/v1/session.pb.h"
#include "node/session/session_server.h"
#include "proto/session_frame.h"
#include "tests/node/rpc/node_server_fixture.h"

namespace kamino::node {

// The peer's end of a connection. Any thread.
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
  void SetUntaken(size_t bytes) {
    absl::MutexLock lock(&mutex_);
    untaken_ = bytes;
  }
  // Bytes of a frame that is not complete.
  size_t unfinished() {
    absl::MutexLock lock(&mutex_);
    return unfinished_;
  }
  void SetUnfinished(size_t bytes) {
    absl::MutexLock lock(&mutex_);
    unfinished_ = bytes;
  }
  bool closed() {
    absl::MutexLock lock(&mutex_);
    return closed_;
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
  size_t unfinished_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

class TestCarrier final : public SessionCarrier {
 public:
  explicit TestCarrier(std::shared_ptr<Peer> peer, std::string identity = "")
      : peer_(std::move(peer)), identity_(std::move(identity)) {}
  void Send(std::string frame) override { peer_->Add(std::move(frame)); }
  size_t unsent() const override { return peer_->untaken(); }
  size_t unfinished() const override { return peer_->unfinished(); }
  void Close() override { peer_->Close(); }
  void Abort() override { peer_->Close(); }
  std::string peer() const override { return "test"; }
  std::string identity() const override { return identity_; }

 private:
  const std::shared_ptr<Peer> peer_;
  const std::string identity_;
};

// The body of an error, or of a goodbye.
struct Error {
  int code = 0;
  std::string message;
  kamino::v1::Reason reason = kamino::v1::REASON_UNSPECIFIED;
};

inline Error ErrorIn(absl::string_view body) {
  google::rpc::Status status;
  EXPECT_TRUE(
      status.ParseFromArray(body.data(), static_cast<int>(body.size())));
  kamino::v1::ErrorDetail detail;
  if (status.details_size() > 0) status.details(0).UnpackTo(&detail);
  return {status.code(), status.message(), detail.reason()};
}

class SessionProtocolTest : public NodeServerTest {
 protected:
  explicit SessionProtocolTest(const SessionServerOptions& options = {},
                               bool installs_view = true)
      : NodeServerTest({}, {}, options) {
    if (installs_view) views_.Install(1);
    Connect();
  }

  void Connect() {
    peer_ = std::make_shared<Peer>();
    id_ = sessions_->NewId();
    node_->Run([this, id = id_, peer = peer_](ChainNode&) {
      sessions_->Open(id, std::make_unique<TestCarrier>(peer, identity_));
    });
  }

  // Runs the task between two ticks of the node.
  void OnCore(const std::function<void()>& task) {
    absl::Notification done;
    node_->Run([&](ChainNode&) {
      task();
      done.Notify();
    });
    done.WaitForNotification();
  }
  // Gives every connection its turn at that time.
  void LookAtAll(absl::Duration later = absl::ZeroDuration()) {
    for (int i = 0; i < 20; ++i) sessions_->OnTick(node_->Now() + later);
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
    SendFrame(session::MakeFrame(session::FrameKind::kHello,
                                 hello.SerializeAsString()));
  }

  void SendHelloFor(const std::string& cluster_uuid) {
    kamino::v1::SessionHello hello;
    hello.set_min_version(1);
    hello.set_max_version(1);
    hello.set_cluster_uuid(cluster_uuid);
    hello.mutable_session()->set_id(7);
    hello.mutable_session()->set_window(4);
    hello.mutable_session()->set_lease_ms(60000);
    SendFrame(session::MakeFrame(session::FrameKind::kHello,
                                 hello.SerializeAsString()));
  }

  kamino::v1::SessionWelcome AwaitWelcome() {
    const std::string bytes = peer_->Next();
    const auto frame = session::ParseFrame(bytes);
    EXPECT_TRUE(frame.ok()) << frame.status();
    EXPECT_EQ(frame->kind, session::FrameKind::kWelcome);
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
    EXPECT_EQ(frame->kind, session::FrameKind::kGoodbye);
    peer_->AwaitClosed();
    return ErrorIn(frame->parts);
  }

  static std::string Requests(const std::vector<session::Request>& requests) {
    session::FrameWriter writer(session::FrameKind::kRequests);
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
      EXPECT_EQ(frame->kind, session::FrameKind::kResponses);
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
  Response Ask(session::Method method, uint64_t number,
               const std::string& body) {
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
    return Ask(session::Method::kPut, number, PutBody(key, value));
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
    const Response response =
        Ask(session::Method::kGet, 0, get.SerializeAsString());
    kamino::v1::GetResponse got;
    EXPECT_EQ(response.code, 0) << ErrorIn(response.body).message;
    EXPECT_TRUE(got.ParseFromString(response.body));
    return got.value();
  }

  std::string identity_;  // that connections come with
  std::shared_ptr<Peer> peer_;
  uint64_t id_ = 0;
  uint32_t tag_ = 0;
  std::deque<Response> responses_;
};

}  // namespace kamino::node

#endif  // KAMINO_TESTS_NODE_SESSION_SESSION_PROTOCOL_FIXTURE_H_
