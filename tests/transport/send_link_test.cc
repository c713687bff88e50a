// A verbs link without rings whose peers violate the protocol, on devices in
// memory; link_test.cc tests the behaviour of every link.
#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/patience.h"
#include "tests/transport/fake_verbs.h"
#include "tests/transport/link_rig.h"
#include "tests/transport/raw_sender.h"
#include "transport/verbs/send_format.h"
#include "transport/verbs/verbs_transport.h"
#include "transport/verbs/verbs_wire.h"

namespace kamino::transport {
namespace {

using ::testing::HasSubstr;

// Locked memory of one link: its receives and its sends.
constexpr size_t kLinkBytes = (kLinkReceives + kLinkSends) * kSendBuffer;

class SendLinkTest : public ::testing::Test {
 protected:
  SendLinkTest() { rig_.options.peer_timeout = absl::Seconds(1); }

  ~SendLinkTest() override {
    client_.reset();
    server_.reset();
    if (HasFatalFailure()) return;
    EXPECT_EQ(fabric().counts().pairs, 0) << "pairs are left";
    EXPECT_EQ(fabric().counts().registered, 0u) << "memory is left";
  }

  FakeFabric& fabric() { return *rig_.fabric(); }

  void Listen() {
    server_ = rig_.NewTransport();
    client_ = rig_.NewTransport();
    listener_ = std::make_unique<RecordingListener>(&rig_, server_.get());
  }

  size_t accepted() {
    absl::MutexLock lock(rig_.mutex());
    return listener_->accepted.size();
  }

  // A link as it should be: connector_ and acceptor_.
  void Connect() {
    if (listener_ == nullptr) Listen();
    const size_t before = accepted();
    connector_ = rig_.NewRecorder();
    auto link = client_->Connect(listener_->address(), connector_);
    ASSERT_TRUE(link.ok()) << link.status();
    link_ = *link;
    ASSERT_TRUE(rig_.Until([&] {
      return connector_->connected == 1 && listener_->accepted.size() > before;
    }));
    acceptor_ = listener_->accepted.back();
  }

  // Port of the fabric's only device.
  OpenedPort Port() { return *OpenPort(&fabric(), {}); }

  // A raw peer with an established link; `acceptor` is the link's other end.
  std::unique_ptr<RawSender> Intrude(std::shared_ptr<Recorder>* acceptor,
                                     int receives = RawSender::kReceives) {
    if (listener_ == nullptr) Listen();
    const size_t before = accepted();
    auto raw = std::make_unique<RawSender>(Port(), receives);
    EXPECT_TRUE(raw->Knock(rig_.rendezvous(), listener_->address()).ok());
    raw->SayHello();
    EXPECT_TRUE(
        rig_.Until([&] { return listener_->accepted.size() > before; }));
    *acceptor = listener_->accepted.back();
    return raw;
  }

  // Polls a state of the fabric, which does not signal changes.
  static bool UntilFabric(absl::FunctionRef<bool()> happened) {
    const absl::Time deadline = absl::Now() + Patience(absl::Seconds(30));
    while (!happened() && absl::Now() < deadline) std::this_thread::yield();
    return happened();
  }

  absl::Status UntilClosed(const Recorder& recorder) {
    EXPECT_TRUE(rig_.Until([&] { return recorder.closed == 1; }));
    absl::MutexLock lock(rig_.mutex());
    return recorder.why;
  }
  void ExpectCutOff(const Recorder& recorder, const std::string& why) {
    const absl::Status closed = UntilClosed(recorder);
    EXPECT_TRUE(absl::IsDataLoss(closed)) << closed;
    EXPECT_THAT(std::string(closed.message()), HasSubstr(why));
  }

  void ExpectService() {
    ASSERT_NO_FATAL_FAILURE(Connect());
    const std::string message(rig_.options.max_message, 's');
    ASSERT_TRUE(link_->Send(Bytes(message), {}).ok());
    ASSERT_TRUE(acceptor_->link->Send(Bytes("back"), {}).ok());
    ASSERT_TRUE(rig_.Until([&] {
      return acceptor_->messages.size() == 1 &&
             connector_->messages.size() == 1;
    }));
    EXPECT_TRUE(acceptor_->messages[0] == message);
    link_->Close();
    EXPECT_FALSE(UntilClosed(*connector_).ok());
    EXPECT_FALSE(UntilClosed(*acceptor_).ok());
  }

  LinkRig rig_{"verbsSends"};
  std::shared_ptr<Recorder> acceptor_;
  std::shared_ptr<Recorder> connector_;
  std::shared_ptr<Link> link_;
  std::unique_ptr<RecordingListener> listener_;
  std::unique_ptr<Transport> server_;
  std::unique_ptr<Transport> client_;
};

// By counting: a peer that keeps to the window never meets a queue without a
// receive, whatever the mix.
TEST_F(SendLinkTest, AnObedientPeerNeverWaitsForAReceive) {
  Listen();
  constexpr int kLinks = 8;
  constexpr int kMessages = 400;
  std::vector<std::shared_ptr<Link>> links;
  std::vector<std::shared_ptr<Recorder>> ends;
  for (int i = 0; i < kLinks; ++i) {
    ASSERT_NO_FATAL_FAILURE(Connect());
    links.push_back(link_);
    links.push_back(acceptor_->link);
    ends.push_back(acceptor_);
    ends.push_back(connector_);
  }
  for (int i = 0; i < kMessages; ++i) {
    const std::string message(static_cast<size_t>(i * 37 % 20'000), 'm');
    for (const auto& link : links) {
      absl::Status sent;
      do {
        sent = link->Send(Bytes(message), {});
      } while (absl::IsResourceExhausted(sent));
      ASSERT_TRUE(sent.ok()) << sent;
    }
  }
  for (const auto& end : ends) {
    EXPECT_TRUE(
        rig_.Until([&] { return end->messages.size() == size_t{kMessages}; }));
  }
  EXPECT_EQ(fabric().counts().waits, 0u);
}

TEST_F(SendLinkTest, ALinkReusesTheBuffersOfAClosedOne) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_NO_FATAL_FAILURE(Connect());
    link_->Close();
    EXPECT_FALSE(UntilClosed(*connector_).ok());
    EXPECT_FALSE(UntilClosed(*acceptor_).ok());
    // The acceptor's pair may still be leaving.
    ASSERT_TRUE(UntilFabric([&] { return fabric().counts().pairs == 0; }));
  }
  EXPECT_EQ(fabric().counts().registered, 2 * kLinkBytes);
}

// --- Strangers at the door.

TEST_F(SendLinkTest, AbandonedConnectionsUseBoundedMemory) {
  rig_.options.connect_timeout = Patience(absl::Seconds(2));
  Listen();
  const auto silent = std::make_shared<RawSender>(Port());
  const size_t own = fabric().counts().registered;
  size_t most = 0;
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    if (!silent->Knock(rig_.rendezvous(), listener_->address()).ok()) ++refused;
    most = std::max(most, fabric().counts().registered - own);
  }
  EXPECT_GT(refused, 2000);
  EXPECT_LE(most, 64 * kLinkBytes);
  EXPECT_EQ(accepted(), 0u);
  // The transport gives up the peers that it waited for, and there is room
  // again.
  RawSender later(Port());
  while (!later.Knock(rig_.rendezvous(), listener_->address()).ok()) {
  }
  later.SayHello();
  EXPECT_TRUE(rig_.Until([&] { return listener_->accepted.size() == 1; }));
}

TEST_F(SendLinkTest, AHelloWithoutTheTokenIsRefused) {
  Listen();
  RawSender raw(Port());
  ASSERT_TRUE(raw.Knock(rig_.rendezvous(), listener_->address()).ok());
  auto wrong = raw.peer().token;
  ++wrong[1];
  raw.Send(SendKind::kHello, 0,
           {reinterpret_cast<const char*>(&wrong), sizeof(wrong)});
  // Its pair at the listener's goes; the raw one is left.
  EXPECT_TRUE(UntilFabric([&] { return fabric().counts().pairs == 1; }));
  EXPECT_EQ(accepted(), 0u);
  ExpectService();
}

TEST_F(SendLinkTest, AnInvalidOfferIsRefusedWithTheReason) {
  Listen();
  RawSender raw(Port());
  const auto answer = [&](const VerbsEndpoint& offer) {
    auto answered = std::make_shared<absl::Notification>();
    auto status = std::make_shared<absl::Status>();
    rig_.rendezvous().Exchange(listener_->address(), offer,
                               Patience(absl::Seconds(5)),
                               [=](const absl::StatusOr<VerbsEndpoint>& found) {
                                 *status = found.status();
                                 answered->Notify();
                               });
    answered->WaitForNotification();
    EXPECT_TRUE(absl::IsFailedPrecondition(*status)) << *status;
    return std::string(status->message());
  };
  VerbsEndpoint offer = raw.Offer();
  offer.version = 77;
  EXPECT_THAT(answer(offer), HasSubstr("version 77"));
  offer = raw.Offer();
  offer.buffer_bytes = 1;
  EXPECT_THAT(answer(offer), HasSubstr("SENDs of 1 bytes"));
  offer = raw.Offer();
  offer.window = 0;
  EXPECT_THAT(answer(offer), HasSubstr("takes 0 SENDs"));
  offer = raw.Offer();
  offer.address.kind = GidKind::kRoceV1;
  EXPECT_THAT(answer(offer), HasSubstr("another kind"));
}

// --- Peers that break the rules. Each is cut off, and others are served.

TEST_F(SendLinkTest, APeerThatExceedsItsCreditIsClosed) {
  std::shared_ptr<Recorder> end;
  auto raw = Intrude(&end);
  // The thread is kept busy, so that no credits return meanwhile.
  end->WithEachMessage([&] {
    end->WithEachMessage(nullptr);
    for (uint32_t i = 0; i < kSendWindow; ++i) {
      raw->Send(SendKind::kFirst, 1, "x");
    }
  });
  raw->Send(SendKind::kFirst, 1, "x");
  ExpectCutOff(*end, "more than its credit");
  EXPECT_EQ(end->messages.size(), size_t{kSendWindow});
  ExpectService();
}

// All receives of all links are gone for a moment: the others wait it out.
TEST_F(SendLinkTest, AFloodDoesNotBreakOtherLinks) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  std::shared_ptr<Recorder> end;
  auto raw = Intrude(&end);
  end->WithEachMessage([&] {
    end->WithEachMessage(nullptr);
    for (int i = 0; i < RawSender::kSends - 10; ++i) {
      raw->Send(SendKind::kFirst, 1, "x");
    }
    EXPECT_TRUE(link_->Send(Bytes("waits"), {}).ok());
  });
  raw->Send(SendKind::kFirst, 1, "x");
  ExpectCutOff(*end, "more than its credit");
  ASSERT_TRUE(rig_.Until([&] { return acceptor_->messages.size() == 1; }));
  EXPECT_GT(fabric().counts().waits, 0u);
  EXPECT_EQ(acceptor_->messages[0], "waits");
  ExpectService();
}

TEST_F(SendLinkTest, AnInvalidMessageClosesTheLink) {
  const std::string full(kSendPayload, 'f');
  struct Case {
    const char* why;
    SendKind kind;
    uint32_t length;
    std::string payload;
    uint64_t taken;
  };
  for (const Case& each : std::vector<Case>{
           {"acknowledges too often", SendKind::kCredit, 0, "", 0},
           {"messages that were not sent", SendKind::kProbe, 0, "", 1},
           {"an unexpected kind", SendKind::kHello, 0, "12345678", 0},
           {"an unexpected kind", static_cast<SendKind>(0), 0, "", 0},
           {"an unexpected kind", static_cast<SendKind>(99), 0, "", 0},
           {"out of order", SendKind::kMore, 0, full, 0},
           {"of a wrong size", SendKind::kFirst, 2, "x", 0},
           {"of a wrong size", SendKind::kFirst, 1, "xx", 0},
           {"of a wrong size", SendKind::kFirst, 5000, "x", 0},
           {"a message of 4294967295 bytes", SendKind::kFirst, ~uint32_t{0},
            full, 0},
           {"with a payload", SendKind::kProbe, 0, "x", 0}}) {
    std::shared_ptr<Recorder> end;
    auto raw = Intrude(&end);
    raw->Send(each.kind, each.length, each.payload, each.taken);
    ExpectCutOff(*end, each.why);
    EXPECT_THAT(end->messages, ::testing::IsEmpty());
  }
  std::shared_ptr<Recorder> end;
  auto raw = Intrude(&end);
  raw->Send(SendKind::kFirst, 5000, full);
  raw->Send(SendKind::kFirst, 5000, full);
  ExpectCutOff(*end, "out of order");
  ExpectService();
}

// A SEND larger than a buffer fails only the sender's own pair.
TEST_F(SendLinkTest, ASendLargerThanABufferFailsItsOwnPair) {
  std::shared_ptr<Recorder> end;
  auto raw = Intrude(&end);
  raw->Send(SendKind::kFirst, 5000, std::string(kSendPayload + 1, 'x'));
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*end)));
  ExpectService();
}

// --- Peers that do nothing.

TEST_F(SendLinkTest, APeerThatAcknowledgesNothingIsClosed) {
  std::shared_ptr<Recorder> end;
  auto raw = Intrude(&end);
  const std::string message(900, 'm');
  absl::Status sent;
  size_t accepted_bytes = 0;
  while ((sent = end->link->Send(Bytes(message), {})).ok()) {
    accepted_bytes += message.size();
    ASSERT_LT(accepted_bytes, 2 * rig_.options.send_buffer);
  }
  // The memory of waiting messages is bounded, and the peer got no more than a
  // window.
  EXPECT_TRUE(absl::IsResourceExhausted(sent)) << sent;
  const absl::Status why = UntilClosed(*end);
  EXPECT_TRUE(absl::IsUnavailable(why));
  EXPECT_THAT(std::string(why.message()), HasSubstr("has taken nothing"));
  uint32_t got = 0;
  while (const auto one = raw->Next()) {
    got += one->received && raw->HeadOf(*one).kind == SendKind::kFirst;
  }
  EXPECT_EQ(got, kSendWindow);
  ExpectService();
}

TEST_F(SendLinkTest, ASilentPeerIsDetectedByProbes) {
  std::shared_ptr<Recorder> end;
  auto raw = Intrude(&end);
  EXPECT_THAT(std::string(UntilClosed(*end).message()),
              HasSubstr("has taken nothing"));
  const auto hello = raw->Next();
  ASSERT_TRUE(hello.has_value());
  const auto probe = raw->Next();
  ASSERT_TRUE(probe.has_value() && probe->received);
  EXPECT_EQ(raw->HeadOf(*probe).kind, SendKind::kProbe);
}

TEST_F(SendLinkTest, ADeadPeerIsDetectedByProbes) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  fabric().Kill(fabric().live_pairs().front());
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*connector_)));
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*acceptor_)));
  ExpectService();
}

// An idle link stays.
TEST_F(SendLinkTest, ProbesAreAnswered) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  const uint64_t before = fabric().counts().sends;
  // Two ends, four probes a second and as many answers: more than a timeout.
  ASSERT_TRUE(
      UntilFabric([&] { return fabric().counts().sends >= before + 24; }));
  EXPECT_EQ(connector_->closed + acceptor_->closed, 0);
}

// Each begins a message that it never ends.
TEST_F(SendLinkTest, MemoryOfUnfinishedMessagesIsBounded) {
  rig_.options.max_message = kSendPayload * (kSendWindow - 1);
  Listen();
  const std::string full(kSendPayload, 'f');
  std::vector<std::unique_ptr<RawSender>> raws;
  std::vector<std::shared_ptr<Recorder>> ends;
  // All but a piece of the largest message: sixteen of these have room.
  constexpr int kPeers = 20;
  for (int i = 0; i < kPeers; ++i) {
    raws.push_back(Intrude(&ends.emplace_back()));
    for (uint32_t piece = 0; piece + 2 < kSendWindow; ++piece) {
      raws[i]->Send(
          piece == 0 ? SendKind::kFirst : SendKind::kMore,
          piece == 0 ? static_cast<uint32_t>(rig_.options.max_message) : 0,
          full);
    }
  }
  // The oldest had to go, in their order.
  for (int i = 0; i < kPeers - 17; ++i) ExpectCutOff(*ends[i], "unfinished");
  // A peer with one more piece to send has all its time for it.
  const auto& last = raws.back();
  last->Send(SendKind::kMore, 0, full);
  EXPECT_TRUE(rig_.Until([&] { return ends.back()->messages.size() == 1; }));
  ExpectService();
}

// --- What was torn down.

TEST_F(SendLinkTest, ADestroyedPairReceivesNothing) {
  std::shared_ptr<Recorder> end;
  auto raw = Intrude(&end);
  raw->Send(SendKind::kFirst, 5, "alive");
  ASSERT_TRUE(rig_.Until([&] { return end->messages.size() == 1; }));
  end->link->Close();
  EXPECT_TRUE(absl::IsCancelled(UntilClosed(*end)));
  ASSERT_TRUE(UntilFabric([&] { return fabric().counts().pairs == 1; }));
  while (raw->Next().has_value()) {
  }
  const size_t registered = fabric().counts().registered;
  raw->Send(SendKind::kFirst, 5, "stale");
  const auto done = raw->Next();
  ASSERT_TRUE(done.has_value());
  EXPECT_STREQ(done->error, "transport retry counter exceeded");
  EXPECT_EQ(end->messages.size(), 1u);
  EXPECT_EQ(fabric().counts().registered, registered);
  ExpectService();
}

// Messages between the close and the end of the pair have no effect either.
TEST_F(SendLinkTest, MessagesAfterCloseAreDropped) {
  std::shared_ptr<Recorder> end;
  auto raw = Intrude(&end);
  fabric().Hold();
  raw->Send(SendKind::kFirst, 4, "late");
  end->link->Close();
  EXPECT_TRUE(absl::IsCancelled(UntilClosed(*end)));
  fabric().Release();
  ASSERT_TRUE(UntilFabric([&] { return fabric().counts().pairs == 1; }));
  EXPECT_THAT(end->messages, ::testing::IsEmpty());
  ExpectService();
}

// An RDMA WRITE, by a pair that a link of this kind has taken for its peer.
TEST_F(SendLinkTest, APeerHasNoWritableMemory) {
  Listen();
  const OpenedPort port = Port();
  auto wire = VerbsWire::Create(port, 4096);
  ASSERT_TRUE(wire.ok()) << wire.status();
  RawSender raw(port);
  VerbsEndpoint offer = raw.Offer();
  offer.address = (*wire)->Endpoint().address;
  absl::Notification answered;
  VerbsEndpoint answer;
  rig_.rendezvous().Exchange(listener_->address(), offer,
                             Patience(absl::Seconds(5)),
                             [&](const absl::StatusOr<VerbsEndpoint>& found) {
                               ASSERT_TRUE(found.ok()) << found.status();
                               answer = *found;
                               answered.Notify();
                             });
  answered.WaitForNotification();
  EXPECT_EQ(answer.ring_address, 0u);
  EXPECT_EQ(answer.ring_key, 0u);
  ASSERT_TRUE((*wire)
                  ->pair()
                  .Connect(port.choice.gid, (*wire)->Endpoint().address,
                           answer.address, {})
                  .ok());
  const std::string bytes = "overwritten";
  RdmaWrite write;
  write.id = 1;
  write.from = Bytes(bytes);
  // Keys count up: none that there is opens anything.
  write.remote_key = 7000;
  write.inlined = write.signaled = true;
  ASSERT_TRUE((*wire)->pair().PostWrites({&write, 1}).ok());
  Completion done;
  ASSERT_EQ(*(*wire)->pair().Poll(absl::MakeSpan(&done, 1)), 1u);
  EXPECT_STREQ(done.error, "remote access error");
  wire->reset();
  ExpectService();
}

// --- Devices.

TEST_F(SendLinkTest, AnotherDeviceReplacesARemovedOne) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  fabric().AddDevice("fake1");
  fabric().Unplug("fake0");
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*connector_)));
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*acceptor_)));
  ExpectService();
  link_ = nullptr;
  // The device is no longer held open.
  EXPECT_TRUE(UntilFabric([&] { return fabric().times_open("fake0") == 0; }));
}

TEST_F(SendLinkTest, UnregistrableMemoryIsARecoverableError) {
  fabric().LimitMemory(kLinkBytes + 1);  // one side's
  Listen();
  auto recorder = rig_.NewRecorder();
  ASSERT_TRUE(client_->Connect(listener_->address(), recorder).ok());
  const absl::Status why = UntilClosed(*recorder);
  EXPECT_TRUE(absl::IsUnavailable(why));
  EXPECT_THAT(std::string(why.message()), HasSubstr("locked memory"));
  fabric().LimitMemory(~size_t{0});
  ExpectService();
}

}  // namespace
}  // namespace kamino::transport
