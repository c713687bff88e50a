// Decisions of a node's hub of links, on simulated transports: the choice of a
// transport, waits for credits, and the end of links.
#include "node/driver/link_hub.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replica/link/chain_frame.h"
#include "tests/simulation/timed_network.h"
#include "tests/simulation/world.h"

namespace kamino::node {
namespace {

using kamino::internal::v1::ChainMessage;
using replica::LinkId;
using simulation::TimedNetwork;
using simulation::World;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using transport::Capabilities;

constexpr absl::Duration kLong = absl::Seconds(10);
constexpr LinkId kFirstAccepted = 2;

constexpr Capabilities kTcp = {.name = "tcp"};
constexpr Capabilities kShm = {.name = "shm", .same_host_only = true};
constexpr Capabilities kVerbs = {
    .name = "verbs", .needs_rendezvous = true, .one_sided = true};

ChainMessage Numbered(uint64_t number) {
  ChainMessage message;
  message.set_view_id(number);
  return message;
}

size_t BytesOf(const ChainMessage& message) {
  return replica::EncodeFrameHead(message).size();
}

// A process with a hub, and what that tells.
class Peer final : public simulation::Process {
 public:
  Peer(World* world, TimedNetwork* network, const std::string& name)
      : Process(world, name), network_(network) {
    Begin();
  }

  absl::Status Listen(const std::vector<Capabilities>& transports) {
    for (const Capabilities& each : transports) {
      options.offers.push_back({network_->Transports(this, each), name()});
    }
    LinkHub::Events events;
    events.opened = [this](LinkId link) { opened.push_back(link); };
    events.closed = [this](LinkId link) { closed.push_back(link); };
    events.message = [this](LinkId, const ChainMessage& message,
                            absl::string_view payload, size_t bytes) {
      EXPECT_EQ(bytes, BytesOf(message) + payload.size());
      messages.push_back(message.view_id());
      payloads.emplace_back(payload);
    };
    auto made = LinkHub::Create(options, std::move(events));
    if (made.ok()) hub = *std::move(made);
    return made.status();
  }

  membership::Member AsMember() const {
    membership::Member member;
    member.node_id = name();
    member.link_addresses = hub->Addresses(/*service_address=*/name());
    return member;
  }

  LinkHub::Options options;
  std::vector<LinkId> opened;
  std::vector<LinkId> closed;
  std::vector<uint64_t> messages;  // by the number of their view
  std::vector<std::string> payloads;
  std::unique_ptr<LinkHub> hub;  // tells the above

 private:
  TimedNetwork* const network_;
};

TimedNetwork::Options WithCredits(size_t credits) {
  TimedNetwork::Options options = TimedNetwork::Instant();
  options.credits = credits;
  return options;
}

class LinkHubTest : public ::testing::Test {
 protected:
  explicit LinkHubTest(size_t credits = 1 << 20)
      : LinkHubTest(WithCredits(credits)) {}
  explicit LinkHubTest(const TimedNetwork::Options& options)
      : network_(&world_, options) {}

  void Listen(const std::vector<Capabilities>& transports) {
    ASSERT_TRUE(a_.Listen(transports).ok());
    ASSERT_TRUE(b_.Listen(transports).ok());
  }
  void Pass() { world_.RunUntil(world_.now() + kLong); }

  // The transport by which an attempt gets through; "": none.
  std::string Open() {
    const LinkId link = next_;
    next_ += 2;
    const size_t before = a_.opened.size();
    a_.hub->Open(link, b_.AsMember());
    Pass();
    return a_.opened.size() > before ? a_.hub->TransportOf(link) : "";
  }

  World world_{/*seed=*/1, /*trace=*/nullptr};
  TimedNetwork network_;
  Peer a_{&world_, &network_, "a"};
  Peer b_{&world_, &network_, "b"};
  Peer c_{&world_, &network_, "c"};
  LinkId next_ = 1;
};

TEST_F(LinkHubTest, CarriesMessagesBothWaysAndReportsTheEnd) {
  Listen({kTcp});
  EXPECT_EQ(Open(), "tcp");
  EXPECT_THAT(a_.opened, ElementsAre(1));
  EXPECT_THAT(b_.opened, IsEmpty());  // it is heard of with its first message
  a_.hub->Send(1, Numbered(1), "");
  a_.hub->Send(1, Numbered(2), "");
  b_.hub->Send(kFirstAccepted, Numbered(3), "");
  Pass();
  EXPECT_THAT(b_.messages, ElementsAre(1, 2));
  EXPECT_THAT(a_.messages, ElementsAre(3));
  EXPECT_EQ(a_.hub->TrafficOf(1).sent_messages, 2u);
  EXPECT_EQ(a_.hub->TrafficOf(1).sent_bytes,
            BytesOf(Numbered(1)) + BytesOf(Numbered(2)));
  EXPECT_EQ(b_.hub->TrafficOf(kFirstAccepted).sent_messages, 1u);
  EXPECT_EQ(b_.hub->TrafficOf(kFirstAccepted).received_messages, 2u);
  EXPECT_EQ(b_.hub->TrafficOf(kFirstAccepted).received_bytes,
            BytesOf(Numbered(1)) + BytesOf(Numbered(2)));
  EXPECT_EQ(a_.hub->TrafficOf(1).received_messages, 1u);
  a_.hub->Close(1);
  Pass();
  EXPECT_EQ(a_.hub->TrafficOf(1).sent_messages, 0u);
  EXPECT_THAT(a_.closed, ElementsAre(1));
  EXPECT_THAT(b_.closed, ElementsAre(kFirstAccepted));
  EXPECT_EQ(a_.hub->TransportOf(1), "");
  a_.hub->Send(1, Numbered(4), "");
  a_.hub->Close(1);
  Pass();
  EXPECT_THAT(b_.messages, ElementsAre(1, 2));
  EXPECT_THAT(a_.closed, ElementsAre(1));
}

TEST_F(LinkHubTest, APayloadFollowsItsMessage) {
  Listen({kTcp});
  ASSERT_EQ(Open(), "tcp");
  ChainMessage append = Numbered(1);
  append.mutable_append();
  std::string payload(1000, 'p');
  a_.hub->Send(1, append, payload);
  payload.assign(1000, 'q');  // it is the sender's again
  a_.hub->Send(1, Numbered(2), "");
  Pass();
  EXPECT_THAT(b_.messages, ElementsAre(1, 2));
  EXPECT_THAT(b_.payloads, ElementsAre(std::string(1000, 'p'), ""));
}

TEST_F(LinkHubTest, AnAddressInUseIsNamed) {
  Listen({kTcp});
  Peer other(&world_, &network_, "a");
  const absl::Status listening = other.Listen({kTcp});
  EXPECT_TRUE(absl::IsAlreadyExists(listening));
  EXPECT_THAT(std::string(listening.message()), HasSubstr("tcp a"));
}

// --- Which transport.

TEST_F(LinkHubTest, SharedMemoryIsForTheSameHost) {
  a_.options.host_id = b_.options.host_id = "host1";
  Listen({kShm, kVerbs, kTcp});
  EXPECT_EQ(b_.hub->Addresses("")["shm"], "b#host1");
  EXPECT_EQ(Open(), "shm");
}

// It is reached where its rendezvous is, not where it listens to that.
TEST_F(LinkHubTest, ARendezvousIsAtTheServiceAddress) {
  Listen({kVerbs, kTcp});
  EXPECT_THAT(b_.hub->Addresses("node:7"),
              ElementsAre(Pair("tcp", "b"), Pair("verbs", "node:7")));
}

// As behind a container's network.
TEST_F(LinkHubTest, AdvertisedAddressesAreAnnounced) {
  for (const auto& [advertise, told] :
       {std::pair("10.0.0.7:900", "10.0.0.7:900"),
        std::pair("[fd00::7]:0", "[fd00::7]:44"), std::pair("", "p:44")}) {
    Peer peer(&world_, &network_, "p:44");
    peer.options.offers.push_back(
        {network_.Transports(&peer, kTcp), "p:44", advertise});
    ASSERT_TRUE(peer.Listen({}).ok());
    EXPECT_THAT(peer.hub->Addresses("node:7"), ElementsAre(Pair("tcp", told)));
  }
}

TEST_F(LinkHubTest, BetweenHostsTheBestTransportComesFirst) {
  a_.options.host_id = "host1";
  b_.options.host_id = "host2";
  Listen({kShm, kVerbs, kTcp});
  EXPECT_EQ(Open(), "verbs");
}

TEST_F(LinkHubTest, UnknownHostsDoNotUseSharedMemory) {
  Listen({kShm, kTcp});
  EXPECT_EQ(Open(), "tcp");
}

TEST_F(LinkHubTest, BothSidesMustHaveTheTransport) {
  ASSERT_TRUE(a_.Listen({kVerbs, kTcp}).ok());
  ASSERT_TRUE(b_.Listen({kTcp}).ok());
  EXPECT_EQ(Open(), "tcp");
}

TEST_F(LinkHubTest, WithoutACommonTransportTheLinkCloses) {
  ASSERT_TRUE(a_.Listen({kVerbs}).ok());
  ASSERT_TRUE(b_.Listen({kTcp}).ok());
  EXPECT_EQ(Open(), "");
  EXPECT_THAT(a_.closed, ElementsAre(1));
}

// Each transport has two attempts; a success begins the count anew.
TEST_F(LinkHubTest, AFailingTransportGivesWayToTheNext) {
  Listen({kVerbs, kTcp});
  network_.Forbid("verbs", "b");
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Open(), "");
    EXPECT_EQ(Open(), "");
    EXPECT_EQ(Open(), "tcp");
  }
  EXPECT_THAT(a_.closed, ElementsAre(1, 3, 7, 9));
}

TEST_F(LinkHubTest, AfterTheLastTransportTheFirstHasItsTurn) {
  Listen({kVerbs, kTcp});
  network_.Cut("a", "b");
  for (int attempt = 0; attempt < 4; ++attempt) EXPECT_EQ(Open(), "");
  network_.HealAll();
  EXPECT_EQ(Open(), "verbs");
}

TEST_F(LinkHubTest, AConfiguredTransportIsKept) {
  a_.options.first_is_chosen = true;
  Listen({kVerbs, kTcp});
  network_.Forbid("verbs", "b");
  for (int attempt = 0; attempt < 5; ++attempt) EXPECT_EQ(Open(), "");
}

TEST_F(LinkHubTest, SharedMemoryIsUsedOnlyIfConfigured) {
  a_.options.host_id = b_.options.host_id = "host1";
  a_.options.first_is_chosen = true;
  Listen({kTcp, kShm, kVerbs});
  EXPECT_EQ(Open(), "tcp");
  ASSERT_TRUE(c_.Listen({kShm}).ok());
  a_.hub->Open(7, c_.AsMember());
  EXPECT_THAT(a_.closed, ElementsAre(7));
}

// Over the others its Hello gets an answer, which says more.
TEST_F(LinkHubTest, OnlyOneSidedTransportsRefuseAnOldEra) {
  a_.options.transport.era = [] { return uint64_t{3}; };
  b_.options.transport.era = [] { return uint64_t{4}; };
  Listen({kVerbs, kTcp});
  EXPECT_EQ(Open(), "");
  EXPECT_EQ(Open(), "");
  EXPECT_EQ(Open(), "tcp");
}

// --- What waits, and what ends a link.

class FewCreditsTest : public LinkHubTest {
 protected:
  FewCreditsTest() : LinkHubTest(/*credits=*/40) {
    a_.options.max_queued_bytes = 2000;
  }
};

TEST_F(FewCreditsTest, MessagesWaitForCreditsInOrder) {
  Listen({kTcp});
  ASSERT_EQ(Open(), "tcp");
  std::vector<uint64_t> sent;
  for (uint64_t number = 1; number <= 200; ++number) {
    a_.hub->Send(1, Numbered(number), "");
    sent.push_back(number);
  }
  // Sent while some of the others still wait.
  world_.Step();
  world_.Step();
  ChainMessage append = Numbered(201);
  append.mutable_append();
  std::string payload(30, 'p');
  a_.hub->Send(1, append, payload);
  payload.assign(30, 'q');
  sent.push_back(201);
  EXPECT_LT(b_.messages.size(), 10u);
  Pass();
  EXPECT_EQ(b_.messages, sent);
  EXPECT_EQ(b_.payloads.back(), std::string(30, 'p'));
  EXPECT_THAT(a_.closed, IsEmpty());
}

TEST_F(FewCreditsTest, AQueueThatGrowsTooLongEndsTheLink) {
  Listen({kTcp});
  ASSERT_EQ(Open(), "tcp");
  b_.Pause(2 * kLong);  // it takes nothing
  const size_t bytes = BytesOf(Numbered(100));
  const uint64_t bound = a_.options.max_queued_bytes / bytes + 40 / bytes;
  for (uint64_t number = 0; number < bound; ++number) {
    a_.hub->Send(1, Numbered(100), "");
  }
  world_.RunUntil(world_.now() + absl::Seconds(1));
  EXPECT_THAT(a_.closed, IsEmpty());
  a_.hub->Send(1, Numbered(100), "");
  world_.RunUntil(world_.now() + absl::Seconds(1));
  EXPECT_THAT(a_.closed, ElementsAre(1));
  world_.RunUntil(world_.now() + 3 * kLong);
  EXPECT_THAT(b_.closed, ElementsAre(kFirstAccepted));
}

TEST_F(FewCreditsTest, QueuedMessagesAreDroppedWithTheirLink) {
  Listen({kTcp});
  ASSERT_EQ(Open(), "tcp");
  for (uint64_t number = 1; number <= 100; ++number) {
    a_.hub->Send(1, Numbered(number), "");
  }
  a_.hub->Close(1);
  Pass();
  EXPECT_THAT(a_.closed, ElementsAre(1));
  EXPECT_LT(b_.messages.size(), 30u);
}

class Stranger final : public transport::LinkHandler {
 public:
  void OnConnected(const std::shared_ptr<transport::Link>& link) override {
    const char bytes[] = "\xff\xff\xff\xff no message";
    EXPECT_TRUE(
        link->Send({reinterpret_cast<const std::byte*>(bytes), sizeof(bytes)},
                   {})
            .ok());
  }
  void OnMessage(absl::Span<const std::byte>) override {}
  void OnClosed(const absl::Status& status) override { why = status; }

  absl::Status why;
};

TEST_F(LinkHubTest, UnusedLinksOfPeersEnd) {
  Listen({kTcp});
  ASSERT_EQ(Open(), "tcp");
  ASSERT_EQ(Open(), "tcp");
  constexpr LinkId kUsed = kFirstAccepted;
  const auto used = [](LinkId link) { return link == kUsed; };
  const absl::Duration timeout = b_.options.unused_timeout;
  const absl::Time begin = world_.now();
  const auto look = [&](absl::Duration since) {
    a_.hub->CloseUnused(begin + since, used);
    b_.hub->CloseUnused(begin + since, used);
    Pass();
  };
  look(absl::ZeroDuration());
  look(timeout - absl::Milliseconds(1));
  EXPECT_THAT(b_.closed, IsEmpty());
  look(timeout);
  EXPECT_THAT(b_.closed, ElementsAre(kFirstAccepted + 2));
  EXPECT_THAT(a_.closed, ElementsAre(3));
  // Those that this side opened are for its core to close.
  look(10 * timeout);
  EXPECT_THAT(b_.closed, ElementsAre(kFirstAccepted + 2));
  // It counts from when it was last used.
  const auto none = [](LinkId) { return false; };
  b_.hub->CloseUnused(begin + 11 * timeout, none);
  Pass();
  EXPECT_THAT(b_.closed, ElementsAre(kFirstAccepted + 2));
  b_.hub->CloseUnused(begin + 12 * timeout, none);
  Pass();
  EXPECT_THAT(b_.closed, ElementsAre(kFirstAccepted + 2, kFirstAccepted));
}

TEST_F(LinkHubTest, MalformedBytesEndTheLink) {
  Listen({kTcp});
  const auto transport = *network_.Transports(&a_, kTcp).Make({});
  const auto stranger = std::make_shared<Stranger>();
  ASSERT_TRUE(transport->Connect("b", stranger).ok());
  Pass();
  EXPECT_TRUE(absl::IsUnavailable(stranger->why)) << stranger->why;
  EXPECT_THAT(b_.messages, IsEmpty());
  EXPECT_THAT(b_.closed, ElementsAre(kFirstAccepted));
}

TEST_F(LinkHubTest, AnOversizedMessageEndsTheLink) {
  a_.options.transport.max_message = 1000;
  Listen({kTcp});
  ASSERT_EQ(Open(), "tcp");
  ChainMessage large;
  large.mutable_state_chunk()->set_snapshot(std::string(1000, 'x'));
  a_.hub->Send(1, Numbered(1), "");
  Pass();
  a_.hub->Send(1, large, "");
  a_.hub->Send(1, Numbered(2), "");  // after what would be a gap
  Pass();
  EXPECT_THAT(b_.messages, ElementsAre(1));
  EXPECT_THAT(a_.closed, ElementsAre(1));
  EXPECT_THAT(b_.closed, ElementsAre(kFirstAccepted));
}

// A transport whose links get messages before Connect has returned.
class HastyTransport final : public transport::Transport {
 public:
  class HastyLink final : public transport::Link {
   public:
    explicit HastyLink(int* closes) : closes_(closes) {}
    absl::Status Send(absl::Span<const std::byte>,
                      absl::Span<const std::byte>) override {
      return absl::OkStatus();
    }
    void Close() override { ++*closes_; }
    Capabilities capabilities() const override { return kTcp; }
    std::string peer() const override { return "hasty"; }

   private:
    int* const closes_;
  };
  class Nowhere final : public transport::Listener {
   public:
    const std::string& address() const override { return address_; }

   private:
    const std::string address_ = "nowhere";
  };

  HastyTransport(std::vector<std::string> messages, int* closes)
      : messages_(std::move(messages)), closes_(closes) {}

  absl::StatusOr<std::unique_ptr<transport::Listener>> Listen(
      const std::string&, transport::AcceptCallback) override {
    return std::make_unique<Nowhere>();
  }
  absl::StatusOr<std::shared_ptr<transport::Link>> Connect(
      const std::string&,
      std::shared_ptr<transport::LinkHandler> handler) override {
    auto link = std::make_shared<HastyLink>(closes_);
    handler->OnConnected(link);
    for (const std::string& message : messages_) {
      handler->OnMessage(
          {reinterpret_cast<const std::byte*>(message.data()), message.size()});
    }
    return link;
  }

 private:
  const std::vector<std::string> messages_;
  int* const closes_;
};

// There is no link to close yet when they come.
TEST_F(LinkHubTest, MalformedBytesEndAnOpeningLink) {
  const std::vector<std::string> messages = {
      replica::EncodeFrameHead(Numbered(1)), "\xff\xff\xff\xff no message",
      replica::EncodeFrameHead(Numbered(2))};
  int closes = 0;
  a_.options.offers.push_back(
      {transport::TransportFactory(kTcp,
                                   [&](const transport::TransportOptions&) {
                                     return std::make_unique<HastyTransport>(
                                         messages, &closes);
                                   }),
       "a"});
  ASSERT_TRUE(a_.Listen({}).ok());
  a_.hub->Open(1, a_.AsMember());
  EXPECT_EQ(closes, 1);
  EXPECT_THAT(a_.messages, ElementsAre(1));  // none that follows a gap
}

// A network of processes with certificates, of nodes but for "w".
class KnownPeersTest : public LinkHubTest {
 protected:
  KnownPeersTest() : LinkHubTest(WithIdentities()) {
    for (Peer* peer : {&a_, &b_, &c_}) {
      peer->options.knows_peers = true;
      peer->options.cluster_id = "c";
    }
  }

  static TimedNetwork::Options WithIdentities() {
    TimedNetwork::Options options = WithCredits(1 << 20);
    options.identity_of = [](const std::string& name) {
      return absl::StrCat("kamino://c/node/", name);
    };
    return options;
  }
};

TEST_F(KnownPeersTest, BothEndsKnowTheIdentityOfThePeer) {
  Listen({kTcp});
  EXPECT_EQ(Open(), "tcp");
  EXPECT_EQ(a_.hub->IdentityOf(1), "kamino://c/node/b");
  EXPECT_EQ(b_.hub->IdentityOf(kFirstAccepted), "kamino://c/node/a");
  EXPECT_EQ(b_.hub->IdentityOf(77), "");
}

TEST_F(KnownPeersTest, ALinkToAnotherNodeIsClosed) {
  Listen({kTcp});
  membership::Member member = b_.AsMember();
  member.node_id = "c";  // but b is there
  a_.hub->Open(1, member);
  Pass();
  EXPECT_THAT(a_.opened, IsEmpty());
  EXPECT_THAT(a_.closed, ElementsAre(1));
  EXPECT_EQ(a_.hub->ended().impostor, 1u);
  member.identity = "kamino://c/node/b";  // as the view has it
  a_.hub->Open(3, member);
  Pass();
  EXPECT_THAT(a_.opened, ElementsAre(3));
}

// The address is this node's own: each attempt takes a handshake.
TEST_F(KnownPeersTest, ANodeThatMeetsItselfDoesNotTryAgainAtOnce) {
  a_.options.node_id = "a";
  a_.options.self_dial_pause = absl::InfiniteDuration();
  Listen({kTcp});
  membership::Member member = a_.AsMember();
  member.node_id = "b";
  for (LinkId link = 1; link < 20; link += 2) {
    a_.hub->Open(link, member);
    Pass();
  }
  // Also the end that it accepted from itself.
  EXPECT_THAT(a_.closed, ::testing::SizeIs(10 + 1));
  EXPECT_EQ(a_.hub->ended().impostor, 1u);
}

TEST_F(KnownPeersTest, ADeniedPeerLosesItsLinks) {
  bool admits = true;
  b_.options.transport.admit = [&admits](const std::string& identity) {
    EXPECT_EQ(identity, "kamino://c/node/a");
    return admits ? absl::OkStatus() : absl::PermissionDeniedError("no node");
  };
  Listen({kTcp});
  EXPECT_EQ(Open(), "tcp");
  b_.hub->CloseDenied(world_.now());
  Pass();
  EXPECT_THAT(b_.closed, IsEmpty());
  admits = false;
  b_.hub->CloseDenied(world_.now());
  Pass();
  EXPECT_THAT(b_.closed, ElementsAre(kFirstAccepted));
  EXPECT_THAT(a_.closed, ElementsAre(1));
  EXPECT_EQ(b_.hub->ended().denied, 1u);
  EXPECT_EQ(Open(), "");  // nor has it another
}

TEST_F(LinkHubTest, AnUnknownPeerIsRefusedWherePeersAreKnown) {
  b_.options.knows_peers = true;
  Listen({kTcp});
  Open();
  a_.hub->Send(1, Numbered(1), "");
  Pass();
  EXPECT_THAT(b_.messages, IsEmpty());
  EXPECT_EQ(b_.hub->ended().impostor, 1u);
}

}  // namespace
}  // namespace kamino::node
