// Links over TLS: accepted and refused peers.
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "openssl/ssl.h"
#include "tests/patience.h"
#include "tests/transport/raw_tls.h"
#include "tests/transport/tls_link_fixture.h"

namespace kamino::transport {
namespace {

using security::Certificates;
using security::Identity;
using security::Role;
using security::TestAuthority;
using ::testing::HasSubstr;

// A connector that checks the identity of the other end.
class Expecting final : public LinkHandler {
 public:
  Expecting(std::shared_ptr<Recorder> recorder, absl::Mutex* mutex)
      : recorder_(std::move(recorder)), mutex_(mutex) {}

  absl::Status OnPeerKnown(const std::string& identity) override {
    absl::MutexLock lock(mutex_);
    EXPECT_EQ(recorder_->connected, 0);
    known.push_back(identity);
    return answer;
  }
  void OnConnected(const std::shared_ptr<Link>& link) override {
    recorder_->OnConnected(link);
  }
  void OnMessage(absl::Span<const std::byte> message) override {
    recorder_->OnMessage(message);
  }
  void OnClosed(const absl::Status& why) override { recorder_->OnClosed(why); }

  absl::Status answer;
  std::vector<std::string> known;  // guarded by the rig's mutex

 private:
  const std::shared_ptr<Recorder> recorder_;
  absl::Mutex* const mutex_;
};

TEST_F(TlsLinkTest, EachEndKnowsThePeersIdentity) {
  Serve();
  const auto client = Connect();
  ASSERT_TRUE(Established(client)) << client->why;
  const auto server = listener_->accepted.back();
  EXPECT_EQ(client->link->peer_identity(), ToString(kNode));
  EXPECT_EQ(server->link->peer_identity(), ToString(kWriter));
  ASSERT_TRUE(client->link->Send(Bytes("hello"), {}).ok());
  ASSERT_TRUE(server->link->Send(Bytes("welcome"), {}).ok());
  ASSERT_TRUE(rig_.Until([&] {
    return server->messages.size() == 1 && client->messages.size() == 1;
  }));
  EXPECT_EQ(server->messages[0], "hello");
  EXPECT_EQ(client->messages[0], "welcome");
  EXPECT_EQ(events_->established, 1);
  EXPECT_EQ(events_->half_open, 0);
  client->link->Close();
  EXPECT_EQ(WhyClosed(server).message(), "closed by the peer");
  EXPECT_EQ(client->link->peer_identity(), ToString(kNode));
}

// --- Refused peers. The client's own side believes what it shows: it has
// another clock, other lists, another authority, or is of another cluster.

class Stranger : public TlsLinkTest,
                 public ::testing::WithParamInterface<std::string> {
 protected:
  // Loads certificates of `who` that the other side does not believe.
  std::shared_ptr<Certificates> Of(const Identity& who,
                                   const Certificates& judge) {
    Certificates::Options options;
    options.look = absl::InfiniteDuration();
    if (GetParam() == "foreign") {
      // It believes the others, and they do not believe it.
      options.files = foreign_.Write(who);
      security::WriteText(
          options.files.authorities,
          absl::StrCat(foreign_.authority().certificate_pem(),
                       authority_.authority().certificate_pem()));
    } else if (GetParam() == "expired") {
      const absl::Time then = absl::Now() - absl::Minutes(30);
      options.files = authority_.Write(authority_.Issue(
          who,
          {absl::Now() - absl::Hours(1), absl::Now() - absl::Minutes(10)}));
      options.now = [then] { return then; };
    } else if (GetParam() == "cluster") {
      options.files = authority_.Write(Identity{"another", who.role, who.name});
      options.cluster = "another";
    } else {
      const security::Issued issued = authority_.Issue(who);
      options.files = authority_.Write(issued);
      authority_.Revoke(issued.certificate_pem, judge_files_);
      (void)judge;
    }
    auto made = Certificates::Load(options);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }

  // The test adds to this side's list of revoked certificates.
  std::shared_ptr<Certificates> Judge(const Identity& who) {
    Certificates::Options options;
    options.files = judge_files_ = authority_.Write(who);
    options.look = absl::InfiniteDuration();
    auto made = Certificates::Load(options);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }

  TestAuthority foreign_{"foreign"};
  security::TlsFiles judge_files_;
};

TEST_P(Stranger, IsRefusedAsConnector) {
  of_server_ = Judge(kNode);
  of_client_ = Of(kWriter, *of_server_);
  of_server_->Look();
  Serve();
  // With another cluster, each side refuses the other, and the client is first.
  const bool both = GetParam() == "cluster";
  const absl::Status why = WhyClosed(Connect());
  EXPECT_TRUE(absl::IsUnauthenticated(why)) << why;
  if (!both) {
    EXPECT_THAT(std::string(why.message()),
                HasSubstr("rejects this side's certificate"));
    EXPECT_TRUE(Refused(LinkRefusal::kCertificate));
    EXPECT_EQ(of_server_->counts().refused, 1u);
  } else {
    EXPECT_TRUE(Refused(LinkRefusal::kHandshake));
  }
  ExpectNoLink();
  of_client_ = authority_.Load(kWriter);
  rig_.options.certificates = of_client_;
  ExpectService();
}

TEST_P(Stranger, IsRefusedAsListener) {
  of_client_ = Judge(kWriter);
  of_server_ = Of(kNode, *of_client_);
  of_client_->Look();
  Serve();
  const auto client = Connect();
  const absl::Status why = WhyClosed(client);
  EXPECT_TRUE(absl::IsUnauthenticated(why)) << why;
  EXPECT_THAT(std::string(why.message()), HasSubstr("not believed"));
  EXPECT_EQ(client->connected, 0);
  EXPECT_EQ(of_client_->counts().refused, 1u);
  EXPECT_TRUE(Refused(LinkRefusal::kHandshake));
  ExpectNoLink();
}

INSTANTIATE_TEST_SUITE_P(Certificates, Stranger,
                         ::testing::Values("foreign", "expired", "cluster",
                                           "revoked"),
                         [](const auto& info) { return info.param; });

TEST_F(TlsLinkTest, APeerWithoutACertificateIsRefused) {
  Serve();
  RawTls stranger(of_client_.get(), listener_->address());
  SSL_set_cert_cb(stranger.ssl(), nullptr, nullptr);
  stranger.Handshake();  // its own part may be done before it is refused
  EXPECT_EQ(stranger.Hear(), "");
  EXPECT_FALSE(stranger.ended());
  EXPECT_TRUE(Refused(LinkRefusal::kCertificate));
  ExpectNoLink();
}

TEST_F(TlsLinkTest, APeerThatIsNotAdmittedIsRefusedWithAReason) {
  rig_.options.admit = [](const std::string& identity) -> absl::Status {
    if (identity == ToString(kNode)) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat(identity, " is no node"));
  };
  Serve();
  const absl::Status why = WhyClosed(Connect());
  EXPECT_TRUE(absl::IsPermissionDenied(why)) << why;
  EXPECT_TRUE(Refused(LinkRefusal::kNotAdmitted));
  ExpectNoLink();
  of_client_ = authority_.Load({"kamino", Role::kNode, "n1"});
  rig_.options.certificates = of_client_;
  ExpectService();
}

TEST_F(TlsLinkTest, AConnectorThatReachesAnotherPeerSendsNothing) {
  Serve();
  clients_.push_back(rig_.NewTransport());
  const auto recorder = rig_.NewRecorder();
  const auto expecting = std::make_shared<Expecting>(recorder, rig_.mutex());
  expecting->answer = absl::PermissionDeniedError("it is not n2");
  ASSERT_TRUE(clients_.back()->Connect(listener_->address(), expecting).ok());
  EXPECT_EQ(WhyClosed(recorder), expecting->answer);
  EXPECT_EQ(recorder->connected, 0);
  EXPECT_EQ(expecting->known, std::vector<std::string>{ToString(kNode)});
  ASSERT_TRUE(rig_.Until([&] { return events_->half_open == 0; }));
  ExpectNoLink();
}

TEST_F(TlsLinkTest, TlsForAnotherProtocolIsRefused) {
  Serve();
  for (const std::string protocol : {"h2", ""}) {
    RawTls stranger(of_client_.get(), listener_->address(), protocol);
    stranger.Handshake();
    EXPECT_EQ(stranger.Hear(), "");
  }
  EXPECT_TRUE(Refused(LinkRefusal::kHandshake, 2));
  ExpectNoLink();
}

TEST_F(TlsLinkTest, OlderTlsIsRefused) {
  Serve();
  RawTls stranger(of_client_.get(), listener_->address());
  SSL_set_min_proto_version(stranger.ssl(), TLS1_2_VERSION);
  SSL_set_max_proto_version(stranger.ssl(), TLS1_2_VERSION);
  EXPECT_FALSE(stranger.Handshake());
  EXPECT_TRUE(Refused(LinkRefusal::kHandshake));
  ExpectNoLink();
}

// --- In the clear.

TEST_F(TlsLinkTest, APlaintextConnectorLearnsThatTlsIsRequired) {
  Serve();
  rig_.options.certificates = nullptr;
  const absl::Status why = WhyClosed(Connect());
  EXPECT_TRUE(absl::IsFailedPrecondition(why)) << why;
  EXPECT_THAT(std::string(why.message()), HasSubstr("by TLS only"));
  EXPECT_TRUE(Refused(LinkRefusal::kPlaintext));
  ExpectNoLink();
}

TEST_F(TlsLinkTest, ATlsConnectorLearnsThatTheListenerHasNoTls) {
  of_server_ = nullptr;
  Serve();
  const absl::Status why = WhyClosed(Connect());
  EXPECT_TRUE(absl::IsFailedPrecondition(why)) << why;
  EXPECT_THAT(std::string(why.message()),
              HasSubstr("refuses the handshake of TLS"));
  EXPECT_TRUE(Refused(LinkRefusal::kHandshake));
  ExpectNoLink();
}

// --- Later.

TEST_F(TlsLinkTest, ALinkEndsWhenItsPeerIsRevoked) {
  const security::TlsFiles files = authority_.Write(kNode);
  Certificates::Options options;
  options.files = files;
  options.look = absl::InfiniteDuration();
  of_server_ = *Certificates::Load(options);
  const security::Issued issued = authority_.Issue(kWriter);
  options.files = authority_.Write(issued);
  of_client_ = *Certificates::Load(options);
  Serve();
  const auto client = Connect();
  ASSERT_TRUE(Established(client)) << client->why;
  of_server_->Look();
  ASSERT_TRUE(client->link->Send(Bytes("still"), {}).ok());
  ASSERT_TRUE(rig_.Until(
      [&] { return listener_->accepted.back()->messages.size() == 1; }));

  authority_.Revoke(issued.certificate_pem, files);
  of_server_->Look();
  const absl::Status why = WhyClosed(listener_->accepted.back());
  EXPECT_TRUE(absl::IsUnauthenticated(why)) << why;
  EXPECT_TRUE(absl::IsUnavailable(WhyClosed(client)));
  EXPECT_EQ(of_server_->counts().ended, 1u);
}

TEST_F(TlsLinkTest, ALinkEndsWhenItsPeersCertificateExpires) {
  Serve();
  const auto client = Connect();
  ASSERT_TRUE(Established(client)) << client->why;
  now_ += absl::Hours(48);
  of_server_->Look();
  const absl::Status why = WhyClosed(listener_->accepted.back());
  EXPECT_TRUE(absl::IsUnauthenticated(why)) << why;
  (void)WhyClosed(client);
}

// --- What a peer does, or leaves.

TEST_F(TlsLinkTest, AStalledHandshakeIsClosed) {
  rig_.options.connect_timeout = absl::Milliseconds(200);
  Serve();
  const int silent = KnockAtPort(listener_->address());
  const int halting = KnockAtPort(listener_->address());
  // A record of a handshake, and less than it says.
  const std::string begun("\x16\x03\x01\x01\x00\x01\x00", 7);
  ASSERT_EQ(send(halting, begun.data(), begun.size(), MSG_NOSIGNAL), 7);
  ReadAll(silent);
  ReadAll(halting);
  EXPECT_TRUE(Refused(LinkRefusal::kTimeout, 2));
  close(silent);
  close(halting);
  ASSERT_TRUE(rig_.Until([&] { return events_->half_open == 0; }));
  ExpectNoLink();
}

TEST_F(TlsLinkTest, ASilentPeerIsClosedAfterTheHandshake) {
  rig_.options.connect_timeout = Patience(absl::Seconds(1));
  Serve();
  RawTls silent(of_client_.get(), listener_->address());
  ASSERT_TRUE(silent.Handshake());
  EXPECT_EQ(silent.Hear(), "");
  EXPECT_TRUE(Refused(LinkRefusal::kTimeout));
  ExpectNoLink();
}

TEST_F(TlsLinkTest, HandshakesPerAddressAreBounded) {
  rig_.options.max_half_open_of_address = 2;
  Serve();
  std::vector<int> strangers;
  for (int i = 0; i < 3; ++i) {
    strangers.push_back(KnockAtPort(listener_->address()));
  }
  EXPECT_EQ(ReadAll(strangers.back()), "");
  EXPECT_TRUE(Refused(LinkRefusal::kHalfOpen));
  for (const int stranger : strangers) close(stranger);
  ASSERT_TRUE(rig_.Until([&] { return events_->half_open == 0; }));
  ExpectService();
}

// However soon each of them is gone: its handshake takes the loop's time.
TEST_F(TlsLinkTest, TheConnectionRatePerAddressIsLimited) {
  rig_.options.come_of_address = {1e-6, 3};
  Serve();
  for (int i = 0; i < 2; ++i) {
    const int stranger = KnockAtPort(listener_->address());
    ASSERT_TRUE(rig_.Until([&] { return events_->half_open == 1; }));
    close(stranger);
    ASSERT_TRUE(rig_.Until([&] { return events_->half_open == 0; }));
  }
  ExpectService();
  const int stranger = KnockAtPort(listener_->address());
  EXPECT_EQ(ReadAll(stranger), "");
  close(stranger);
  EXPECT_TRUE(Refused(LinkRefusal::kTooOften));
}

TEST_F(TlsLinkTest, SilentConnectionsMakeRoomForANewOne) {
  rig_.options.max_half_open = 2;
  Serve();
  std::vector<int> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.push_back(KnockAtPort(listener_->address()));
  }
  ExpectService();
  for (const int stranger : strangers) close(stranger);
}

TEST_F(TlsLinkTest, LinksPerIdentityAreBounded) {
  rig_.options.max_of_identity = 2;
  Serve();
  EXPECT_TRUE(Established(Connect()));
  EXPECT_TRUE(Established(Connect()));
  (void)WhyClosed(Connect());
  EXPECT_TRUE(Refused(LinkRefusal::kTooManyOfIdentity));
  of_client_ = authority_.Load({"kamino", Role::kWriter, "other"});
  rig_.options.certificates = of_client_;
  EXPECT_TRUE(Established(Connect()));
}

}  // namespace
}  // namespace kamino::transport
