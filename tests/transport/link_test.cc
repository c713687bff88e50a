// The contract of transport/link.h, on every transport.
#include "transport/link.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/transport/link_rig.h"

namespace kamino::transport {
namespace {

using ::testing::ElementsAre;

class LinkTest : public ::testing::TestWithParam<const char*> {
 protected:
  // One link, established: connector_ at `client_`, acceptor_ at `server_`.
  void Connect() {
    if (listener_ == nullptr) Listen();
    connector_ = rig_.NewRecorder();
    const size_t before = accepted_count();
    auto link = client_->Connect(listener_->address(), connector_);
    ASSERT_TRUE(link.ok()) << link.status();
    link_ = *link;
    ASSERT_TRUE(rig_.Until([&] {
      return connector_->connected == 1 && listener_->accepted.size() > before;
    }));
    acceptor_ = listener_->accepted.back();
    EXPECT_EQ(connector_->link, link_);
  }

  void Listen() {
    server_ = rig_.NewTransport();
    client_ = rig_.NewTransport();
    listener_ = std::make_unique<RecordingListener>(&rig_, server_.get());
  }

  size_t accepted_count() {
    absl::MutexLock lock(rig_.mutex());
    return listener_->accepted.size();
  }

  bool UntilMessages(const Recorder& recorder, size_t count) {
    return rig_.Until([&] { return recorder.messages.size() >= count; });
  }
  absl::Status UntilClosed(const Recorder& recorder) {
    EXPECT_TRUE(rig_.Until([&] { return recorder.closed == 1; }));
    absl::MutexLock lock(rig_.mutex());
    return recorder.why;
  }
  int Writable() {
    absl::MutexLock lock(rig_.mutex());
    return connector_->writable;
  }
  // Bytes of message number `i`; up to a large part of a ring.
  static size_t SizeOf(size_t i) {
    return i % 50 == 0 ? 900'000 : i * 7919 % 30'000;
  }
  // Sends until credits run out, which they do only when the receiver stands
  // still; returns how many were accepted.
  int Fill(Link& link, const std::string& message) {
    int sent = 0;
    absl::Status status;
    while ((status = link.Send(Bytes(message), {})).ok()) {
      if (++sent > 100000) break;
    }
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    return sent;
  }

  LinkRig rig_{GetParam()};
  std::shared_ptr<Recorder> acceptor_;
  std::shared_ptr<Recorder> connector_;
  std::shared_ptr<Link> link_;
  // The listener is the server's; each transport's end calls into the above.
  std::unique_ptr<RecordingListener> listener_;
  std::unique_ptr<Transport> server_;
  std::unique_ptr<Transport> client_;
};

TEST_P(LinkTest, ReportsItsCapabilitiesAndPeer) {
  Connect();
  EXPECT_EQ(link_->capabilities().name, rig_.kind());
  EXPECT_EQ(link_->capabilities().max_message, rig_.options.max_message);
  EXPECT_FALSE(link_->peer().empty());
  EXPECT_FALSE(acceptor_->link->peer().empty());
}

TEST_P(LinkTest, CarriesMessagesInOrderBothWays) {
  Connect();
  std::vector<std::string> there, back;
  for (int i = 0; i < 2000; ++i) {
    const std::string head = absl::StrCat(i, ":");
    const std::string tail(i % 300, 'x');
    ASSERT_TRUE(link_->Send(Bytes(head), Bytes(tail)).ok()) << i;
    ASSERT_TRUE(acceptor_->link->Send(Bytes(tail), Bytes(head)).ok()) << i;
    there.push_back(head + tail);
    back.push_back(tail + head);
  }
  ASSERT_TRUE(UntilMessages(*acceptor_, there.size()));
  ASSERT_TRUE(UntilMessages(*connector_, back.size()));
  EXPECT_EQ(acceptor_->messages, there);
  EXPECT_EQ(connector_->messages, back);
}

TEST_P(LinkTest, JoinsHeaderAndPayload) {
  Connect();
  ASSERT_TRUE(link_->Send(Bytes("header,"), Bytes("payload")).ok());
  ASSERT_TRUE(link_->Send(Bytes("header"), {}).ok());
  ASSERT_TRUE(link_->Send({}, Bytes("payload")).ok());
  ASSERT_TRUE(link_->Send({}, {}).ok());
  ASSERT_TRUE(link_->Send(Bytes("end"), {}).ok());
  ASSERT_TRUE(UntilMessages(*acceptor_, 5));
  EXPECT_THAT(acceptor_->messages,
              ElementsAre("header,payload", "header", "payload", "", "end"));
}

TEST_P(LinkTest, CarriesTheLargestMessageAndRefusesALargerOne) {
  Connect();
  std::string largest(link_->capabilities().max_message, '\0');
  for (size_t i = 0; i < largest.size(); ++i) {
    largest[i] = static_cast<char>(i * 7 + i / 256);
  }
  const std::string start = largest.substr(0, 100);
  const std::string rest = largest.substr(100);
  ASSERT_TRUE(link_->Send(Bytes(start), Bytes(rest)).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(link_->Send(Bytes(largest), Bytes("x"))));
  ASSERT_TRUE(link_->Send(Bytes("goes on"), {}).ok());
  ASSERT_TRUE(UntilMessages(*acceptor_, 2));
  EXPECT_TRUE(acceptor_->messages[0] == largest);
  EXPECT_EQ(acceptor_->messages[1], "goes on");
}

// The bytes are the caller's again when Send returns, even if none of them has
// left yet.
TEST_P(LinkTest, BothPiecesMayBeReusedAfterSend) {
  Connect();
  std::string buffer(1000, ' ');
  for (int i = 0; i < 1000; ++i) {
    buffer.assign(1000, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(link_->Send(Bytes(buffer), {}).ok()) << i;
  }
  buffer.assign(1000, '!');
  ASSERT_TRUE(UntilMessages(*acceptor_, 1000));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(acceptor_->messages[i],
              std::string(1000, static_cast<char>('a' + i % 26)));
  }
}

TEST_P(LinkTest, SendBeforeTheLinkIsEstablishedIsUnavailable) {
  Listen();
  bool open = false;
  connector_ = rig_.NewRecorder();
  // In either order: before OnConnected Send must refuse, within it it must
  // work.
  connector_->on_connected = [&](const std::shared_ptr<Link>& link) {
    EXPECT_TRUE(link->Send(Bytes("first"), {}).ok());
    absl::MutexLock lock(rig_.mutex());
    open = true;
  };
  auto link = client_->Connect(listener_->address(), connector_);
  ASSERT_TRUE(link.ok());
  if (rig_.simulated()) {
    EXPECT_TRUE(absl::IsUnavailable((*link)->Send(Bytes("early"), {})));
  }
  ASSERT_TRUE(
      rig_.Until([&] { return open && listener_->accepted.size() == 1; }));
  acceptor_ = listener_->accepted.back();
  ASSERT_TRUE(UntilMessages(*acceptor_, 1));
  EXPECT_THAT(acceptor_->messages, ElementsAre("first"));
}

// A receiver that stops reading: in the simulation nothing moves by itself.
class Gate {
 public:
  explicit Gate(LinkRig* rig) : rig_(rig) {}
  ~Gate() { Open(); }
  void Pass() {
    absl::MutexLock lock(rig_->mutex());
    rig_->mutex()->Await(absl::Condition(&open_));
  }
  void Open() { Set(true); }
  void Shut() { Set(rig_->simulated()); }

 private:
  void Set(bool open) {
    absl::MutexLock lock(rig_->mutex());
    open_ = open;
  }

  LinkRig* const rig_;
  bool open_ = true;
};

TEST_P(LinkTest, CreditsRunOutAndReturn) {
  Connect();
  Gate gate(&rig_);
  acceptor_->WithEachMessage([&gate] { gate.Pass(); });
  const std::string message(100'000, 'm');
  int sent = 0;
  // Again and again: each refusal is followed by its OnWritable.
  for (int round = 1; round <= 5; ++round) {
    gate.Shut();
    const int more = Fill(*link_, message);
    EXPECT_GE(more, 5);
    sent += more;
    EXPECT_EQ(Writable(), round - 1);
    gate.Open();
    ASSERT_TRUE(rig_.Until([&] { return connector_->writable == round; }));
  }
  ASSERT_TRUE(UntilMessages(*acceptor_, sent));
  client_.reset();
  server_.reset();
  EXPECT_EQ(acceptor_->messages.size(), static_cast<size_t>(sent));
  EXPECT_EQ(connector_->writable, 5);
}

// A refused message is not sent in part: the stream stays whole.
TEST_P(LinkTest, MixedSizesSurviveBackpressure) {
  Connect();
  std::vector<std::string> sent;
  for (int i = 0; i < 400; ++i) {
    const size_t size = i % 7 == 0 ? 700'000 : i * 37 % 5000;
    std::string message(size, static_cast<char>(i));
    while (true) {
      const int seen = Writable();
      const absl::Status status = link_->Send({}, Bytes(message));
      if (status.ok()) break;
      ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
      ASSERT_TRUE(rig_.Until([&] { return connector_->writable > seen; }));
    }
    sent.push_back(std::move(message));
  }
  ASSERT_TRUE(UntilMessages(*acceptor_, sent.size()));
  EXPECT_TRUE(acceptor_->messages == sent);
}

TEST_P(LinkTest, AnswersFromWithinCallbacks) {
  Listen();
  connector_ = rig_.NewRecorder();
  constexpr int kRounds = 500;
  int rounds = 0;
  connector_->on_connected = [&](const std::shared_ptr<Link>& link) {
    connector_->WithEachMessage([&, raw = link.get()] {
      if (++rounds == kRounds) return;
      EXPECT_TRUE(raw->Send(Bytes("ping"), {}).ok());
    });
    EXPECT_TRUE(link->Send(Bytes("ping"), {}).ok());
  };
  auto echo = server_->Listen(
      rig_.NewAddress(), [&](const std::shared_ptr<Link>& link) {
        auto recorder = rig_.NewRecorder();
        recorder->WithEachMessage([raw = link.get()] {
          EXPECT_TRUE(raw->Send(Bytes("pong"), {}).ok());
        });
        recorder->link = link;
        return recorder;
      });
  ASSERT_TRUE(echo.ok()) << echo.status();
  ASSERT_TRUE(client_->Connect((*echo)->address(), connector_).ok());
  EXPECT_TRUE(UntilMessages(*connector_, kRounds));
  client_.reset();  // before what its callbacks use
}

TEST_P(LinkTest, CloseByTheConnector) {
  Connect();
  link_->Close();
  EXPECT_TRUE(absl::IsUnavailable(link_->Send(Bytes("x"), {})));
  EXPECT_TRUE(absl::IsCancelled(UntilClosed(*connector_)));
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*acceptor_)));
  EXPECT_TRUE(absl::IsUnavailable(acceptor_->link->Send(Bytes("x"), {})));
  link_->Close();  // nothing more happens
  acceptor_->link->Close();
}

TEST_P(LinkTest, CloseByTheAcceptor) {
  Connect();
  acceptor_->link->Close();
  EXPECT_TRUE(absl::IsCancelled(UntilClosed(*acceptor_)));
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*connector_)));
}

// The Recorder fails on anything that comes after OnClosed.
TEST_P(LinkTest, CloseInTheMiddleOfATrafficJam) {
  Connect();
  Gate gate(&rig_);
  gate.Shut();
  acceptor_->WithEachMessage([&gate] { gate.Pass(); });
  Fill(*link_, std::string(50'000, 'm'));
  link_->Close();
  gate.Open();
  EXPECT_TRUE(absl::IsCancelled(UntilClosed(*connector_)));
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*acceptor_)));
  client_.reset();
  server_.reset();
  EXPECT_EQ(connector_->writable, 0);
}

// More than the contract asks for: a close loses nothing that has got as far
// as the kernel, or the peer's ring. (The simulator loses it at times; over
// verbs an acknowledgement that finds the ring gone may end the link first.)
class OrderlyEndTest : public LinkTest {};

TEST_P(OrderlyEndTest, MessagesSentBeforeCloseAreDelivered) {
  Connect();
  Gate gate(&rig_);
  gate.Shut();
  acceptor_->WithEachMessage([&gate] { gate.Pass(); });
  constexpr int kMessages = 1000;  // more than one turn of the thread takes
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(link_->Send(Bytes(absl::StrCat(i)), {}).ok());
  }
  link_->Close();
  EXPECT_TRUE(absl::IsCancelled(UntilClosed(*connector_)));
  gate.Open();
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*acceptor_)));
  EXPECT_EQ(acceptor_->messages.size(), size_t{kMessages});
  client_.reset();  // before what its callbacks use
  server_.reset();
}

TEST_P(LinkTest, CloseFromWithinACallback) {
  Connect();
  acceptor_->WithEachMessage([this] {
    acceptor_->link->Close();
    EXPECT_EQ(acceptor_->closed, 0) << "OnClosed from inside Close";
  });
  for (int i = 0; i < 100; ++i) {
    // The later ones may find the link closed.
    if (!link_->Send(Bytes("x"), {}).ok()) break;
  }
  EXPECT_TRUE(absl::IsCancelled(UntilClosed(*acceptor_)));
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*connector_)));
  EXPECT_EQ(acceptor_->messages.size(), 1u);
}

TEST_P(LinkTest, CloseBeforeItIsEstablished) {
  Listen();
  connector_ = rig_.NewRecorder();
  auto link = client_->Connect(listener_->address(), connector_);
  ASSERT_TRUE(link.ok());
  (*link)->Close();
  EXPECT_TRUE(absl::IsCancelled(UntilClosed(*connector_)));
}

TEST_P(LinkTest, HandlerAndLinkAreReleasedAfterOnClosed) {
  Connect();
  std::weak_ptr<Recorder> handler = connector_;
  std::weak_ptr<Link> link = link_;
  link_->Close();
  EXPECT_TRUE(absl::IsCancelled(UntilClosed(*connector_)));
  connector_->link = nullptr;  // a handler may own its link
  connector_ = nullptr;
  link_ = nullptr;
  client_.reset();
  EXPECT_TRUE(handler.expired());
  EXPECT_TRUE(link.expired());
}

TEST_P(LinkTest, DestroyingATransportClosesItsLinks) {
  Connect();
  client_.reset();
  EXPECT_TRUE(absl::IsCancelled(UntilClosed(*connector_)));
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*acceptor_)));
  EXPECT_TRUE(absl::IsUnavailable(link_->Send(Bytes("x"), {})));
  link_->Close();
}

TEST_P(LinkTest, ConnectFailsWithoutAListener) {
  Connect();
  const std::string address = listener_->address();
  listener_->Close();
  auto gone = rig_.NewRecorder();
  ASSERT_TRUE(client_->Connect(address, gone).ok());
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*gone)));
  EXPECT_EQ(gone->connected, 0);
  // Links accepted before live on.
  ASSERT_TRUE(link_->Send(Bytes("still here"), {}).ok());
  EXPECT_TRUE(UntilMessages(*acceptor_, 1));
}

TEST_P(LinkTest, TheAcceptorMayRefuse) {
  Listen();
  listener_->refuse = true;
  connector_ = rig_.NewRecorder();
  ASSERT_TRUE(client_->Connect(listener_->address(), connector_).ok());
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*connector_)));
  EXPECT_EQ(accepted_count(), 0u);
}

TEST_P(LinkTest, AnAddressHasOneListener) {
  Listen();
  const auto refuse = [](const std::shared_ptr<Link>&) { return nullptr; };
  auto second = client_->Listen(listener_->address(), refuse);
  EXPECT_TRUE(absl::IsAlreadyExists(second.status())) << second.status();
  const std::string address = listener_->address();
  listener_->Close();
  EXPECT_TRUE(client_->Listen(address, refuse).ok());
}

TEST_P(LinkTest, TheAcceptorMayDestroyItsListener) {
  server_ = rig_.NewTransport();
  client_ = rig_.NewTransport();
  std::unique_ptr<Listener> listener;
  auto accepted = rig_.NewRecorder();
  auto made = server_->Listen(rig_.NewAddress(),
                              [&](const std::shared_ptr<Link>& link) {
                                listener.reset();
                                accepted->link = link;
                                return accepted;
                              });
  ASSERT_TRUE(made.ok()) << made.status();
  listener = *std::move(made);
  connector_ = rig_.NewRecorder();
  auto link = client_->Connect(listener->address(), connector_);
  ASSERT_TRUE(link.ok());
  ASSERT_TRUE(rig_.Until([&] { return connector_->connected == 1; }));
  ASSERT_TRUE((*link)->Send(Bytes("hello"), {}).ok());
  EXPECT_TRUE(UntilMessages(*accepted, 1));
  (*link)->Close();
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*accepted)));
}

TEST_P(LinkTest, ListenerMayOutliveItsTransport) {
  Listen();
  server_.reset();
  connector_ = rig_.NewRecorder();
  ASSERT_TRUE(client_->Connect(listener_->address(), connector_).ok());
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*connector_)));
}

TEST_P(LinkTest, ManyLinksAtOnce) {
  Listen();
  constexpr int kLinks = 20;
  std::vector<std::shared_ptr<Recorder>> recorders;
  std::vector<std::shared_ptr<Link>> links;
  for (int i = 0; i < kLinks; ++i) {
    Connect();
    recorders.push_back(acceptor_);
    links.push_back(link_);
  }
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < kLinks; ++i) {
      ASSERT_TRUE(links[i]->Send(Bytes(absl::StrCat(i)), {}).ok());
    }
  }
  for (int i = 0; i < kLinks; ++i) {
    ASSERT_TRUE(UntilMessages(*recorders[i], 50));
    EXPECT_EQ(recorders[i]->messages,
              std::vector<std::string>(50, absl::StrCat(i)));
  }
}

// Many rounds of the ring, with records that wrap at every offset.
TEST_P(LinkTest, WrapsAroundManyTimes) {
  Connect();
  std::atomic<size_t> received{0};
  std::atomic<bool> whole{true};
  acceptor_->WithEachMessage([&] {
    absl::MutexLock lock(rig_.mutex());
    const std::string& message = acceptor_->messages.back();
    const size_t expected = received++;
    whole = whole && message.size() == SizeOf(expected) &&
            message.find_first_not_of(static_cast<char>(expected)) ==
                std::string::npos;
    acceptor_->messages.clear();  // some ten megabytes
  });
  constexpr size_t kMessages = 600;
  for (size_t i = 0; i < kMessages; ++i) {
    const std::string message(SizeOf(i), static_cast<char>(i));
    while (true) {
      const int seen = Writable();
      const absl::Status status = link_->Send(Bytes(message), {});
      if (status.ok()) break;
      ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
      ASSERT_TRUE(rig_.Until([&] { return connector_->writable > seen; }));
    }
  }
  ASSERT_TRUE(rig_.Until([&] { return received == kMessages; }));
  EXPECT_TRUE(whole);
  client_.reset();
  server_.reset();  // before what its callbacks use
}

// A link is for once; the next one to the same address knows nothing of it.
TEST_P(LinkTest, ReconnectsAfterEveryKindOfEnd) {
  for (int round = 0; round < 6; ++round) {
    Connect();
    const std::string message = absl::StrCat("round ", round);
    ASSERT_TRUE(link_->Send(Bytes(message), {}).ok());
    ASSERT_TRUE(acceptor_->link->Send(Bytes(message), {}).ok());
    ASSERT_TRUE(UntilMessages(*acceptor_, 1));
    ASSERT_TRUE(UntilMessages(*connector_, 1));
    EXPECT_THAT(acceptor_->messages, ElementsAre(message));
    EXPECT_THAT(connector_->messages, ElementsAre(message));
    if (round % 3 == 0) link_->Close();
    if (round % 3 == 1) acceptor_->link->Close();
    if (round % 3 == 2) {
      client_.reset();
      client_ = rig_.NewTransport();
    }
    EXPECT_FALSE(UntilClosed(*connector_).ok());
    EXPECT_FALSE(UntilClosed(*acceptor_).ok());
  }
}

// Everything of the peer's goes at once, in the middle of traffic both ways.
TEST_P(LinkTest, ADeadPeerClosesTheLink) {
  Connect();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(link_->Send(Bytes(std::string(5000, 'x')), {}).ok());
    ASSERT_TRUE(acceptor_->link->Send(Bytes("y"), {}).ok());
  }
  server_.reset();
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*connector_)));
  EXPECT_TRUE(absl::IsUnavailable(link_->Send(Bytes("x"), {})));
  const size_t count = acceptor_->messages.size();
  EXPECT_EQ(acceptor_->messages,
            std::vector<std::string>(count, std::string(5000, 'x')));
}

// A client with an older era is refused; one with a newer era is accepted.
TEST_P(LinkTest, AStaleEraIsRefused) {
  std::atomic<uint64_t> server_era{3};
  std::atomic<uint64_t> client_era{2};
  rig_.options.era = [&] { return server_era.load(); };
  server_ = rig_.NewTransport();
  rig_.options.era = [&] { return client_era.load(); };
  client_ = rig_.NewTransport();
  listener_ = std::make_unique<RecordingListener>(&rig_, server_.get());
  auto stale = rig_.NewRecorder();
  ASSERT_TRUE(client_->Connect(listener_->address(), stale).ok());
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*stale)));
  EXPECT_EQ(stale->connected, 0);
  EXPECT_EQ(accepted_count(), 0u);
  for (uint64_t era : {3, 4}) {
    client_era = era;
    Connect();
    ASSERT_TRUE(link_->Send(Bytes("hello"), {}).ok());
    EXPECT_TRUE(UntilMessages(*acceptor_, 1)) << era;
  }
  client_.reset();
  server_.reset();  // before the eras
}

INSTANTIATE_TEST_SUITE_P(Transports, OrderlyEndTest,
                         ::testing::Values("tcp", "shm", "tcpKnown",
                                           "shmKnown"),
                         [](const auto& info) { return info.param; });

INSTANTIATE_TEST_SUITE_P(Transports, LinkTest,
                         ::testing::Values("tcp", "shm", "sim", "verbs",
                                           "verbsSends", "tcpGuest", "shmGuest",
                                           "verbsGuest", "verbsSendsGuest",
                                           "tcpKnown", "tcpKnownGuest",
                                           "shmKnown", "verbsKnown",
                                           "verbsSendsKnown"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kamino::transport
