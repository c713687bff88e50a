// Factories made from options, and transports made for addresses.
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/transport/fake_verbs.h"
#include "tests/transport/link_rig.h"
#include "transport/shm/shm_transport.h"
#include "transport/tcp/tcp_transport.h"
#include "transport/verbs/local_rendezvous.h"
#include "transport/verbs/send_transport.h"
#include "transport/verbs/verbs_transport.h"

namespace kamino::transport {
namespace {

std::shared_ptr<LinkHandler> Refuse(const std::shared_ptr<Link>&) {
  return nullptr;
}

TEST(TransportFactoryTest, ReportsTheCapabilitiesOfItsTransports) {
  const Capabilities tcp = TcpTransports().capabilities();
  EXPECT_EQ(tcp.name, "tcp");
  EXPECT_EQ(tcp.max_message, size_t{1} << 30);
  EXPECT_FALSE(tcp.same_host_only || tcp.needs_rendezvous || tcp.one_sided);
  const Capabilities shm = ShmTransports().capabilities();
  EXPECT_EQ(shm.name, "shm");
  EXPECT_TRUE(shm.same_host_only);
  EXPECT_FALSE(shm.needs_rendezvous || shm.one_sided);
  const Capabilities verbs =
      VerbsTransports({{},
                       std::make_shared<LocalRendezvous>(),
                       std::make_shared<FakeFabric>()})
          .capabilities();
  EXPECT_EQ(verbs.name, "verbs");
  EXPECT_TRUE(verbs.needs_rendezvous && verbs.one_sided);
  EXPECT_FALSE(verbs.same_host_only);
  const Capabilities sends =
      VerbsSendTransports({{},
                           std::make_shared<LocalRendezvous>(),
                           std::make_shared<FakeFabric>()})
          .capabilities();
  EXPECT_EQ(sends.name, "verbs");
  EXPECT_TRUE(sends.needs_rendezvous);
  EXPECT_FALSE(sends.same_host_only || sends.one_sided);
}

TEST(TransportFactoryTest, RefusesContradictoryOptions) {
  const std::vector<std::function<void(TransportOptions*)>> mistakes = {
      [](auto* o) { o->max_message = 0; },
      [](auto* o) { o->max_message = size_t{2} << 30; },
      [](auto* o) { o->send_buffer = o->max_message + 63; },
      [](auto* o) { o->ring_bytes = o->max_message; },
      [](auto* o) { o->ring_bytes = size_t{3} << 30; },
      [](auto* o) { o->peer_timeout = absl::Milliseconds(999); },
      [](auto* o) { o->peer_timeout = absl::InfiniteDuration(); },
      [](auto* o) { o->connect_timeout = absl::ZeroDuration(); },
      [](auto* o) { o->connect_timeout = absl::InfiniteDuration(); },
      [](auto* o) { o->spin = absl::Microseconds(-1); },
      [](auto* o) { o->max_accepted = 0; },
  };
  EXPECT_TRUE(TcpTransports().Make({}).ok());
  for (size_t i = 0; i < mistakes.size(); ++i) {
    TransportOptions options;
    mistakes[i](&options);
    for (const auto& factory : {TcpTransports(), ShmTransports()}) {
      EXPECT_TRUE(absl::IsInvalidArgument(factory.Make(options).status()))
          << "mistake " << i;
    }
  }
}

TEST(TcpAddressTest, IsHostAndPort) {
  LinkRig rig("tcp");
  auto transport = rig.NewTransport();
  for (const char* bad : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
                          "127.0.0.1:-1", "127.0.0.1:99999", "[::1:0"}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(transport->Listen(bad, Refuse).status()))
        << bad;
    EXPECT_TRUE(absl::IsInvalidArgument(
        transport->Connect(bad, rig.NewRecorder()).status()))
        << bad;
  }
  auto listener = transport->Listen("127.0.0.1:0", Refuse);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ((*listener)->address().rfind("127.0.0.1:", 0), 0u);
  EXPECT_NE((*listener)->address(), "127.0.0.1:0");
}

TEST(ShmAddressTest, IsThePathOfASocket) {
  LinkRig rig("shm");
  auto transport = rig.NewTransport();
  for (const std::string& bad :
       {std::string(), std::string("/tmp/"), std::string(200, 'a')}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(transport->Listen(bad, Refuse).status()))
        << bad;
    EXPECT_TRUE(absl::IsInvalidArgument(
        transport->Connect(bad, rig.NewRecorder()).status()))
        << bad;
  }
  auto nowhere = transport->Listen(rig.folder() + "/no/such/folder", Refuse);
  EXPECT_TRUE(absl::IsInvalidArgument(nowhere.status())) << nowhere.status();
}

// A file of the user's is not taken away.
TEST(ShmAddressTest, AFileIsRefusedAndKept) {
  LinkRig rig("shm");
  const std::string path = rig.folder() + "/precious";
  std::ofstream(path) << "data";
  auto transport = rig.NewTransport();
  EXPECT_TRUE(absl::IsAlreadyExists(transport->Listen(path, Refuse).status()));
  std::string content;
  std::ifstream(path) >> content;
  EXPECT_EQ(content, "data");
}

// Rings of the connector's size serve an acceptor that allows larger messages.
TEST(MaxMessageTest, IsTheSmallerOfBothSides) {
  for (const char* kind : {"tcp", "shm"}) {
    LinkRig rig(kind);
    auto server = rig.NewTransport();
    RecordingListener listener(&rig, server.get());
    rig.options.max_message = 1000;
    rig.options.send_buffer = 2000;
    rig.options.ring_bytes = 5000;
    auto client = rig.NewTransport();
    auto connector = rig.NewRecorder();
    auto link = client->Connect(listener.address(), connector);
    ASSERT_TRUE(link.ok());
    ASSERT_TRUE(rig.Until([&] {
      return connector->connected == 1 && listener.accepted.size() == 1;
    }));
    const auto acceptor = listener.accepted[0];
    EXPECT_EQ((*link)->capabilities().max_message, 1000u);
    EXPECT_EQ(acceptor->link->capabilities().max_message, 1000u);
    const std::string message(1001, 'x');
    EXPECT_TRUE(
        absl::IsInvalidArgument(acceptor->link->Send(Bytes(message), {})));
    EXPECT_TRUE(acceptor->link->Send(Bytes(message.substr(1)), {}).ok());
    EXPECT_TRUE(rig.Until([&] { return connector->messages.size() == 1; }));
    client.reset();
    server.reset();
  }
}

}  // namespace
}  // namespace kamino::transport
