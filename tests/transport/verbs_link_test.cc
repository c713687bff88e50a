// Faults below a verbs link, on devices in memory; link_test.cc tests the
// behaviour of every link.
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/patience.h"
#include "tests/transport/fake_verbs.h"
#include "tests/transport/link_rig.h"
#include "transport/loop/event_loop.h"
#include "transport/verbs/local_rendezvous.h"
#include "transport/verbs/verbs_format.h"
#include "transport/verbs/verbs_transport.h"
#include "transport/verbs/write_queue.h"

namespace kamino::transport {
namespace {

using ::testing::HasSubstr;

class VerbsLinkTest : public ::testing::Test {
 protected:
  VerbsLinkTest() { rig_.options.peer_timeout = absl::Seconds(1); }

  ~VerbsLinkTest() override {
    client_.reset();
    server_.reset();
    if (HasFatalFailure()) return;
    EXPECT_EQ(fabric().counts().pairs, 0) << "pairs are left";
    EXPECT_EQ(fabric().counts().registered, 0u) << "memory is left";
  }

  FakeFabric& fabric() { return *rig_.fabric(); }

  void Connect() {
    if (listener_ == nullptr) {
      server_ = rig_.NewTransport();
      client_ = rig_.NewTransport();
      listener_ = std::make_unique<RecordingListener>(&rig_, server_.get());
    }
    const size_t before = listener_->accepted.size();
    connector_ = rig_.NewRecorder();
    auto link = client_->Connect(listener_->address(), connector_);
    ASSERT_TRUE(link.ok()) << link.status();
    link_ = *link;
    ASSERT_TRUE(rig_.Until([&] {
      return connector_->connected == 1 && listener_->accepted.size() > before;
    }));
    acceptor_ = listener_->accepted.back();
    const std::vector<uint32_t> pairs = fabric().live_pairs();
    // Numbers count up, and the connector makes its pair first.
    connectors_pair_ = pairs[pairs.size() - 2];
    acceptors_pair_ = pairs.back();
  }

  absl::Status UntilClosed(const Recorder& recorder) {
    EXPECT_TRUE(rig_.Until([&] { return recorder.closed == 1; }));
    absl::MutexLock lock(rig_.mutex());
    return recorder.why;
  }

  void ExpectBothClosed(const std::string& connectors_reason) {
    const absl::Status why = UntilClosed(*connector_);
    EXPECT_TRUE(absl::IsUnavailable(why)) << why;
    EXPECT_THAT(std::string(why.message()), HasSubstr(connectors_reason));
    EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*acceptor_)));
    EXPECT_TRUE(absl::IsUnavailable(link_->Send(Bytes("x"), {})));
  }

  void ExpectService() {
    ASSERT_NO_FATAL_FAILURE(Connect());
    ASSERT_TRUE(link_->Send(Bytes("again"), {}).ok());
    ASSERT_TRUE(rig_.Until([&] { return acceptor_->messages.size() == 1; }));
  }

  LinkRig rig_{"verbs"};
  std::shared_ptr<Recorder> acceptor_;
  std::shared_ptr<Recorder> connector_;
  std::shared_ptr<Link> link_;
  uint32_t connectors_pair_ = 0;
  uint32_t acceptors_pair_ = 0;
  std::unique_ptr<RecordingListener> listener_;
  std::unique_ptr<Transport> server_;
  std::unique_ptr<Transport> client_;
};

// Each as a device would report it: retries spent, a key that is not valid any
// more, no receive in time.
TEST_F(VerbsLinkTest, AFailedWriteClosesOnlyItsLink) {
  for (const char* error :
       {"transport retry counter exceeded", "remote access error",
        "RNR retry counter exceeded", "work request flushed"}) {
    ASSERT_NO_FATAL_FAILURE(Connect());
    fabric().FailNextWrite(error);
    (void)link_->Send(Bytes("lost"), {});
    ExpectBothClosed(error);
    EXPECT_TRUE(acceptor_->messages.empty());
  }
  ExpectService();
}

TEST_F(VerbsLinkTest, ADeadPeerIsDetectedByProbes) {
  Connect();
  fabric().Kill(acceptors_pair_);
  EXPECT_THAT(std::string(UntilClosed(*connector_).message()),
              HasSubstr("retry counter exceeded"));
  ExpectService();
}

TEST_F(VerbsLinkTest, AFailedPairIsReportedWithoutACompletion) {
  Connect();
  fabric().FailPair(connectors_pair_);
  ExpectBothClosed("the pair has failed");
  ExpectService();
}

TEST_F(VerbsLinkTest, APortThatGoesDownClosesItsLinks) {
  Connect();
  fabric().PortDown("fake0");
  ExpectBothClosed("port 1 is down");
  auto refused = client_->Connect(listener_->address(), rig_.NewRecorder());
  EXPECT_TRUE(absl::IsUnavailable(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("fake0 port 1 (not active)"));
  fabric().PortUp("fake0");
  ExpectService();
}

TEST_F(VerbsLinkTest, AnotherDeviceReplacesARemovedOne) {
  Connect();
  fabric().AddDevice("fake1");
  fabric().Unplug("fake0");
  ExpectBothClosed("");
  ExpectService();
}

// As soft-RoCE does it: the removal waits, and is not signalled.
TEST_F(VerbsLinkTest, ADeviceThatIsBeingRemovedIsReleased) {
  Connect();
  ASSERT_GT(fabric().times_open("fake0"), 0);
  fabric().AddDevice("fake1");
  fabric().Remove("fake0");
  // Whichever side hears of it first closes the other's.
  const absl::Status connectors = UntilClosed(*connector_);
  const absl::Status acceptors = UntilClosed(*acceptor_);
  EXPECT_TRUE(absl::IsUnavailable(connectors)) << connectors;
  EXPECT_TRUE(absl::IsUnavailable(acceptors)) << acceptors;
  EXPECT_THAT(absl::StrCat(connectors.message(), "; ", acceptors.message()),
              HasSubstr("being removed"));
  link_ = nullptr;
  // The release of the device is not signalled.
  const absl::Time deadline = absl::Now() + Patience(absl::Seconds(30));
  while (fabric().times_open("fake0") != 0 && absl::Now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(fabric().times_open("fake0"), 0);
  ExpectService();
}

TEST_F(VerbsLinkTest, ConnectFailsWithoutADevice) {
  fabric().Unplug("fake0");
  client_ = rig_.NewTransport();
  auto refused = client_->Connect("somewhere", rig_.NewRecorder());
  EXPECT_TRUE(absl::IsUnavailable(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("none"));
}

TEST_F(VerbsLinkTest, UnregistrableMemoryIsARecoverableError) {
  fabric().LimitMemory(size_t{5} << 20);  // one side's two rings, not two
  server_ = rig_.NewTransport();
  client_ = rig_.NewTransport();
  listener_ = std::make_unique<RecordingListener>(&rig_, server_.get());
  auto recorder = rig_.NewRecorder();
  ASSERT_TRUE(client_->Connect(listener_->address(), recorder).ok());
  EXPECT_THAT(std::string(UntilClosed(*recorder).message()),
              HasSubstr("locked memory"));
  fabric().LimitMemory(size_t{1} << 20);
  EXPECT_TRUE(absl::IsResourceExhausted(
      client_->Connect(listener_->address(), rig_.NewRecorder()).status()));
  fabric().LimitMemory(~size_t{0});
  ExpectService();
}

// Bounded memory: two rings for each end, and nothing is left afterwards.
TEST_F(VerbsLinkTest, ALinkRegistersOnlyItsRings) {
  Connect();
  EXPECT_EQ(fabric().counts().registered, 4 * rig_.options.ring_bytes);
  link_->Close();
  EXPECT_FALSE(UntilClosed(*connector_).ok());
  EXPECT_FALSE(UntilClosed(*acceptor_).ok());
}

TEST_F(VerbsLinkTest, SmallMessagesAreInlinedAndFewAreSignaled) {
  Connect();
  const FakeFabric::Counts before = fabric().counts();
  for (int i = 0; i < 1000; ++i) {
    while (!link_->Send(Bytes("small"), {}).ok()) {
    }
    ASSERT_TRUE(rig_.Until(
        [&] { return acceptor_->messages.size() == size_t(i) + 1; }));
  }
  const FakeFabric::Counts after = fabric().counts();
  // One write each, an acknowledgement for every kTailsPerHead, some probes.
  EXPECT_GE(after.inlined - before.inlined, 1000u);
  EXPECT_LE(after.writes - before.writes, 1000 + 1000 / kTailsPerHead + 50);
  EXPECT_LE(after.signaled - before.signaled,
            1000 / WriteQueue::kSignalEvery + 50);
}

// While writes do not get through, what follows is gathered.
TEST_F(VerbsLinkTest, ADelayGathersRecordsAndLosesNone) {
  Connect();
  fabric().Hold();
  constexpr int kMessages = 5000;
  const uint64_t before = fabric().counts().writes;
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(link_->Send(Bytes(absl::StrCat("message ", i)), {}).ok()) << i;
  }
  EXPECT_LE(fabric().counts().writes - before, kTailSlots + 10);
  fabric().Release();
  ASSERT_TRUE(rig_.Until(
      [&] { return acceptor_->messages.size() == size_t{kMessages}; }));
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_EQ(acceptor_->messages[i], absl::StrCat("message ", i));
  }
}

TEST_F(VerbsLinkTest, ADeviceOfSmallOperationsGetsMessagesInPieces) {
  fabric().LimitMessage(size_t{300} << 10);
  Connect();
  const std::string most(link_->capabilities().max_message, 'M');
  ASSERT_TRUE(link_->Send(Bytes(most), {}).ok());
  ASSERT_TRUE(rig_.Until([&] {
    return !acceptor_->messages.empty() && acceptor_->messages.back() == most;
  }));
  EXPECT_GE(fabric().counts().in_pieces, 3u);
}

// A ring that the device allows is smaller than the options do.
TEST_F(VerbsLinkTest, AMessageIsNoLargerThanTheRing) {
  fabric().LimitMessage(size_t{16} << 10);
  Connect();
  const size_t most = link_->capabilities().max_message;
  EXPECT_EQ(most, (size_t{128} << 10) - 8);
  ASSERT_LT(most, rig_.options.max_message);
  EXPECT_TRUE(absl::IsInvalidArgument(
      link_->Send(Bytes(std::string(most + 1, 'x')), {})));
  ASSERT_TRUE(link_->Send(Bytes(std::string(most, 'x')), {}).ok());
  ASSERT_TRUE(rig_.Until([&] { return acceptor_->messages.size() == 1; }));
}

// The peer that closed has taken its key back: what it is still sent does not
// land anywhere.
TEST_F(VerbsLinkTest, WritesAfterTheCloseAreRejected) {
  Connect();
  fabric().Hold();
  ASSERT_TRUE(link_->Send(Bytes("late"), {}).ok());
  acceptor_->link->Close();
  EXPECT_TRUE(absl::IsCancelled(UntilClosed(*acceptor_)));
  fabric().Release();
  EXPECT_TRUE(absl::IsUnavailable(UntilClosed(*connector_)));
  EXPECT_TRUE(acceptor_->messages.empty());
}

TEST_F(VerbsLinkTest, AnUnknownVersionIsRefusedByName) {
  Connect();
  VerbsEndpoint offer;
  offer.version = 77;
  offer.max_message = 1000;
  absl::Notification answered;
  absl::Status status;
  rig_.rendezvous().Exchange(listener_->address(), offer,
                             Patience(absl::Seconds(5)),
                             [&](const absl::StatusOr<VerbsEndpoint>& answer) {
                               status = answer.status();
                               answered.Notify();
                             });
  answered.WaitForNotification();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 77"));
}

// A connector that gets an answer and never speaks is not waited for for ever.
TEST_F(VerbsLinkTest, ASilentConnectorTimesOut) {
  rig_.options.connect_timeout = Patience(absl::Seconds(1));
  rig_.options.max_accepted = 1;
  server_ = rig_.NewTransport();
  client_ = rig_.NewTransport();
  listener_ = std::make_unique<RecordingListener>(&rig_, server_.get());
  VerbsEndpoint offer;
  offer.version = kVerbsVersion;
  offer.max_message = 1000;
  offer.ring_bytes = 4096;
  offer.address.kind = GidKind::kRoceV2;
  offer.address.mtu = 1024;
  const auto knock = [&] {
    auto answered = std::make_shared<absl::Notification>();
    auto status = std::make_shared<absl::Status>();
    rig_.rendezvous().Exchange(
        listener_->address(), offer, Patience(absl::Seconds(5)),
        [=](const absl::StatusOr<VerbsEndpoint>& answer) {
          *status = answer.status();
          answered->Notify();
        });
    answered->WaitForNotification();
    return *status;
  };
  ASSERT_TRUE(knock().ok());
  EXPECT_THAT(std::string(knock().message()), HasSubstr("too many links"));
  // Until its time is over and its place is free.
  while (!knock().ok()) {
  }
}

// Devices that stay open after a transport is done with them.
class KeptOpen final : public VerbsApi {
 public:
  explicit KeptOpen(std::shared_ptr<VerbsApi> api) : api_(std::move(api)) {}
  absl::StatusOr<std::vector<std::string>> DeviceNames() override {
    return api_->DeviceNames();
  }
  absl::StatusOr<std::shared_ptr<VerbsDevice>> Open(
      const std::string& name) override {
    auto device = api_->Open(name);
    if (device.ok()) opened = *device;
    return device;
  }

  std::shared_ptr<VerbsDevice> opened;

 private:
  const std::shared_ptr<VerbsApi> api_;
};

TEST(VerbsGuestTest, ASharedLoopForgetsADestroyedTransport) {
  const auto fabric = std::make_shared<FakeFabric>();
  const auto api = std::make_shared<KeptOpen>(fabric);
  TransportOptions options;
  options.peer_timeout = absl::Seconds(1);
  options.loop = *EventLoop::Start(absl::ZeroDuration());
  EventLoop& loop = *options.loop;
  auto transport =
      VerbsTransports({{}, std::make_shared<LocalRendezvous>(), api})
          .Make(options);
  ASSERT_TRUE(transport.ok());
  absl::Mutex mutex;
  ASSERT_TRUE(
      (*transport)->Connect("nobody", std::make_shared<Recorder>(&mutex)).ok());
  loop.RunSync([] {});
  transport->reset();
  ASSERT_NE(api->opened, nullptr);
  fabric->PortDown("fake0");
  for (int i = 0; i < 2; ++i) loop.RunSync([] {});
  EXPECT_TRUE(api->opened->NextEvent().has_value()) << "somebody took it";
  // The transport no longer checks whether the device is there.
  fabric->Remove("fake0");
  absl::Notification later;
  loop.RunSync([&] {
    loop.StartTimer(options.peer_timeout / 2, [&] { later.Notify(); });
  });
  later.WaitForNotification();
  loop.Stop();
}

}  // namespace
}  // namespace kamino::transport
