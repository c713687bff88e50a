// Links over TLS: attacks of a peer, or of an attacker between two peers.
#include <malloc.h>
#include <sys/socket.h>

#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "openssl/ssl.h"
#include "tests/transport/raw_tls.h"
#include "tests/transport/tls_link_fixture.h"

namespace kamino::transport {
namespace {

using ::testing::HasSubstr;

class RawPeer : public TlsLinkTest {
 protected:
  // A peer that has a link.
  std::unique_ptr<RawTls> Begin() {
    Serve();
    auto peer =
        std::make_unique<RawTls>(of_client_.get(), listener_->address());
    EXPECT_TRUE(peer->Handshake());
    peer->Say(Hello());
    EXPECT_EQ(peer->Hear().size(), kPrefaceBytes);
    peer->Say(Framed("good"));
    EXPECT_TRUE(rig_.Until([&] {
      return !listener_->accepted.empty() &&
             listener_->accepted.back()->messages.size() == 1;
    }));
    return peer;
  }
  absl::Status WhyEnded() { return WhyClosed(listener_->accepted.back()); }
};

TEST_F(RawPeer, AnOrderlyEndIsNoTruncation) {
  Begin()->End();
  EXPECT_EQ(WhyEnded(), absl::UnavailableError("closed by the peer"));
}

TEST_F(RawPeer, ATruncationIsNoOrderlyEnd) {
  Begin()->Cut();
  EXPECT_THAT(std::string(WhyEnded().message()), HasSubstr("cut:"));
}

TEST_F(RawPeer, HalfARecordIsNoMessage) {
  const auto peer = Begin();
  const std::string record = peer->Record(Framed("never"));
  const size_t half = record.size() / 2;
  ASSERT_EQ(send(peer->socket(), record.data(), half, MSG_NOSIGNAL),
            static_cast<ssize_t>(half));
  peer->Cut();
  EXPECT_THAT(std::string(WhyEnded().message()), HasSubstr("cut:"));
  EXPECT_EQ(listener_->accepted.back()->messages.size(), 1u);
}

TEST_F(RawPeer, AModifiedRecordClosesTheLink) {
  const auto peer = Begin();
  std::string record = peer->Record(Framed("changed"));
  record.back() = static_cast<char>(record.back() ^ 1);
  ASSERT_EQ(send(peer->socket(), record.data(), record.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(record.size()));
  EXPECT_TRUE(absl::IsDataLoss(WhyEnded())) << WhyEnded();
  EXPECT_EQ(listener_->accepted.back()->messages.size(), 1u);
}

TEST_F(RawPeer, PlaintextBytesCloseTheLink) {
  const auto peer = Begin();
  const std::string frame = Framed("clear");
  ASSERT_EQ(send(peer->socket(), frame.data(), frame.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(frame.size()));
  EXPECT_TRUE(absl::IsDataLoss(WhyEnded())) << WhyEnded();
  EXPECT_EQ(listener_->accepted.back()->messages.size(), 1u);
}

TEST_F(RawPeer, KeyUpdatesAreAccepted) {
  const auto peer = Begin();
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(SSL_key_update(peer->ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
    peer->Say(Framed("more"));
  }
  ASSERT_TRUE(rig_.Until(
      [&] { return listener_->accepted.back()->messages.size() == 11; }));
  ASSERT_TRUE(listener_->accepted.back()->link->Send(Bytes("back"), {}).ok());
  EXPECT_EQ(peer->Hear(), Framed("back"));
}

TEST_F(RawPeer, SessionsAreNeitherResumedNorRenegotiated) {
  const auto peer = Begin();
  EXPECT_EQ(SSL_session_reused(peer->ssl()), 0);
  EXPECT_EQ(SSL_SESSION_has_ticket(SSL_get0_session(peer->ssl())), 0);
  EXPECT_EQ(SSL_renegotiate(peer->ssl()), 0);
}

// --- What passes.

struct Way {
  std::vector<std::string> to_send;
  size_t next = 0;
};

// Sends all, as credits come.
void SendOn(const std::shared_ptr<Recorder>& from, Way* way) {
  while (way->next < way->to_send.size()) {
    const std::string& message = way->to_send[way->next];
    const size_t cut = message.size() / 3;
    if (!from->link
             ->Send(Bytes(message).subspan(0, cut), Bytes(message).subspan(cut))
             .ok()) {
      return;
    }
    ++way->next;
  }
}

// Through sockets that take next to nothing at a time.
TEST_F(TlsLinkTest, MessagesOfAllSizesPassBothWaysInPieces) {
  Serve();
  Relay relay(listener_->address(), 777);
  const auto client = Connect(relay.address());
  ASSERT_TRUE(Established(client)) << client->why;
  const auto server = listener_->accepted.back();
  std::mt19937 random(7);
  Way forth, back;
  for (Way* way : {&forth, &back}) {
    for (int i = 0; i < 60; ++i) {
      const size_t size = i % 10 == 0 ? random() % 300000 : random() % 40000;
      std::string message(size, '\0');
      for (char& c : message) c = static_cast<char>(random());
      way->to_send.push_back(std::move(message));
    }
  }
  forth.to_send.push_back("");
  while (true) {
    SendOn(client, &forth);
    SendOn(server, &back);
    if (forth.next == forth.to_send.size() &&
        back.next == back.to_send.size()) {
      break;
    }
    int forth_writable, back_writable;
    {
      absl::MutexLock lock(rig_.mutex());
      forth_writable = client->writable;
      back_writable = server->writable;
    }
    ASSERT_TRUE(rig_.Until([&] {
      return client->writable + server->writable >
                 forth_writable + back_writable ||
             client->closed + server->closed > 0 ||
             server->messages.size() >= forth.next ||
             client->messages.size() >= back.next;
    }));
    ASSERT_EQ(client->closed + server->closed, 0) << client->why;
  }
  ASSERT_TRUE(rig_.Until([&] {
    return server->messages.size() == forth.to_send.size() &&
           client->messages.size() == back.to_send.size();
  }));
  EXPECT_EQ(server->messages, forth.to_send);
  EXPECT_EQ(client->messages, back.to_send);
}

TEST_F(TlsLinkTest, APeerThatTakesNothingIsSentOnlyItsCredits) {
  // A sender that does not wait has it in memory, and says so.
  const auto at_peer = std::make_shared<absl::Notification>();
  Serve();
  Relay relay(listener_->address(), 4096,
              [at_peer](bool forth, std::string* piece) {
                static thread_local size_t passed = 0;
                passed += piece->size();
                if (forth && passed > 100000) at_peer->WaitForNotification();
                return true;
              });
  const auto client = Connect(relay.address());
  ASSERT_TRUE(Established(client)) << client->why;
  const std::string message(50000, 'm');
  size_t accepted = 0;
  absl::Status sent;
  while ((sent = client->link->Send(Bytes(message), {})).ok()) {
    accepted += message.size();
    ASSERT_LT(accepted, 64u << 20);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(sent)) << sent;
  at_peer->Notify();
  ASSERT_TRUE(rig_.Until([&] { return client->writable > 0; }));
  ASSERT_TRUE(rig_.Until([&] {
    return listener_->accepted.back()->messages.size() ==
           accepted / message.size();
  }));
}

TEST_F(TlsLinkTest, AnAttackerInTheMiddleCanOnlyEndTheLink) {
  Serve();
  // Behind the handshake: of what the client sends, one bit is another.
  size_t passed = 0;
  Relay relay(listener_->address(), 4096,
              [&passed](bool forth, std::string* piece) {
                if (!forth) return true;
                passed += piece->size();
                if (passed > 20000) piece->back() ^= 4;
                return true;
              });
  const auto client = Connect(relay.address());
  ASSERT_TRUE(Established(client)) << client->why;
  const auto server = listener_->accepted.back();
  const std::string message(1000, 'm');
  for (int i = 0; i < 100; ++i) {
    if (!client->link->Send(Bytes(message), {}).ok()) break;
  }
  EXPECT_TRUE(absl::IsDataLoss(WhyClosed(server)));
  absl::MutexLock lock(rig_.mutex());
  EXPECT_LT(server->messages.size(), 30u);
  for (const std::string& each : server->messages) EXPECT_EQ(each, message);
}

// --- What it takes.

size_t Allocated() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST_F(TlsLinkTest, AnIdleLinkUsesLittleMemory) {
  constexpr int kLinks = 100;
  constexpr size_t kMostOfAnEnd = size_t{48} << 10;
  rig_.options.max_accepted = 2 * kLinks;
  rig_.options.send_buffer = size_t{4} << 20;
  Serve();
  auto transport = rig_.NewTransport();
  const std::string much(100000, 'x');
  std::vector<std::shared_ptr<Recorder>> ends;
  const auto add = [&] {
    ends.push_back(rig_.NewRecorder());
    auto link = transport->Connect(listener_->address(), ends.back());
    ASSERT_TRUE(link.ok()) << link.status();
    ASSERT_TRUE(rig_.Until([&] {
      return ends.back()->connected == 1 &&
             listener_->accepted.size() == ends.size();
    }));
    for (const auto& end : {ends.back(), listener_->accepted.back()}) {
      ASSERT_TRUE(end->link->Send(Bytes("hello"), {}).ok());
    }
    ASSERT_TRUE(rig_.Until([&] {
      return ends.back()->messages.size() == 1 &&
             listener_->accepted.back()->messages.size() == 1;
    }));
  };
  add();  // what there is once
  const size_t before = Allocated();
  for (int i = 0; i < kLinks; ++i) add();
  const size_t each = (Allocated() - before) / (2 * kLinks);
  RecordProperty("bytes_of_an_end", static_cast<int>(each));
  std::cout << "an end takes " << each << " bytes\n";
  EXPECT_LT(each, kMostOfAnEnd);
  transport = nullptr;
}

}  // namespace
}  // namespace kamino::transport
