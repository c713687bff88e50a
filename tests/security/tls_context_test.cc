// Two ends of a TLS connection that go by Certificates, in one thread.
#include "security/tls_context.h"

#include <functional>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "openssl/err.h"
#include "openssl/ssl.h"
#include "security/certificates.h"
#include "tests/security/test_certificates.h"

namespace kamino::security {
namespace {

const Identity kNode1 = {"c", Role::kNode, "n1"};
const Identity kNode2 = {"c", Role::kNode, "n2"};
const Identity kWriter = {"c", Role::kWriter, "app"};

struct Met {
  std::string client_error;  // "": it went well
  std::string server_error;
  std::string version;
  std::string server_saw;  // of the client
  std::string client_saw;
};

using Connection = std::unique_ptr<SSL, decltype(&SSL_free)>;

std::string Seen(const Connection& connection) {
  const auto peer = Certificate::OfPeer(*connection);
  return peer.ok() ? ToString(peer->identity()) : "";
}

// Until neither can go on.
Met Shake(SSL_CTX* client_context, SSL_CTX* server_context) {
  Connection client(SSL_new(client_context), &SSL_free);
  Connection server(SSL_new(server_context), &SSL_free);
  BIO* client_end = nullptr;
  BIO* server_end = nullptr;
  BIO_new_bio_pair(&client_end, 0, &server_end, 0);
  SSL_set_bio(client.get(), client_end, client_end);
  SSL_set_bio(server.get(), server_end, server_end);
  SSL_set_connect_state(client.get());
  SSL_set_accept_state(server.get());
  Met met;
  const auto step = [](const Connection& connection, std::string* error) {
    ERR_clear_error();
    char byte;
    const int done = SSL_is_init_finished(connection.get())
                         ? SSL_read(connection.get(), &byte, 1)
                         : SSL_do_handshake(connection.get());
    if (done <= 0 && SSL_get_error(connection.get(), done) == SSL_ERROR_SSL &&
        error->empty()) {
      *error = OpenSslError();
    }
  };
  for (int i = 0; i < 8; ++i) {
    step(client, &met.client_error);
    step(server, &met.server_error);
  }
  met.version = SSL_get_version(client.get());
  met.server_saw = Seen(server);
  met.client_saw = Seen(client);
  return met;
}

class TlsContextTest : public testing::Test {
 protected:
  Met Meet(const Certificates& client, const Certificates& server,
           const TlsContextOptions& options = {}) {
    const auto client_context = NewClientContext(client, options);
    const auto server_context = NewServerContext(server, options);
    return Shake(client_context->get(), server_context->get());
  }

  absl::Time now_ = absl::Now();
  TestAuthority authority_;
};

TEST_F(TlsContextTest, EachEndLearnsTheIdentityOfTheOther) {
  const Met met = Meet(*authority_.Load(kNode1), *authority_.Load(kNode2));
  EXPECT_EQ(met.client_error, "");
  EXPECT_EQ(met.server_error, "");
  EXPECT_EQ(met.version, "TLSv1.3");
  EXPECT_EQ(met.server_saw, "kamino://c/node/n1");
  EXPECT_EQ(met.client_saw, "kamino://c/node/n2");
}

TEST_F(TlsContextTest, RefusesPeersOfAnotherAuthority) {
  const TestAuthority other;
  const auto certificates = authority_.Load(kNode2);
  const Met met = Meet(*other.Load(kNode1), *certificates);
  EXPECT_NE(met.client_error, "");
  const Met back = Meet(*certificates, *other.Load(kNode1));
  EXPECT_NE(back.client_error, "");
  EXPECT_EQ(certificates->counts().refused, 1);
}

TEST_F(TlsContextTest, RefusesOtherClusters) {
  const auto server = authority_.Load(kNode2);
  const auto client = authority_.Load({"other", Role::kNode, "n1"});
  EXPECT_NE(Meet(*client, *server).client_error, "");
  EXPECT_EQ(client->counts().refused, 1);
}

TEST_F(TlsContextTest, RefusesARevokedPeerAndTellsIt) {
  const auto client = authority_.Load(kNode1);
  Certificates::Options options;
  options.files = authority_.Write(kNode2);
  options.look = absl::InfiniteDuration();
  authority_.Revoke(client->Current()->certificate_pem, options.files);
  const auto server = *Certificates::Load(options);
  EXPECT_THAT(Meet(*client, *server).client_error,
              testing::HasSubstr("certificate revoked"));
  EXPECT_EQ(server->counts().refused, 1);
}

TEST_F(TlsContextTest, RefusesAnExpiredPeer) {
  const auto late = [this] { return now_; };
  const auto client = authority_.Load(kNode1);
  const auto server = authority_.Load(kNode2, late);
  now_ = authority_.validity().until + absl::Seconds(1);
  EXPECT_THAT(Meet(*client, *server).client_error,
              testing::HasSubstr("certificate expired"));
}

// A server needs the certificate of a node or a manager.
TEST_F(TlsContextTest, AClientCertificateCannotServe) {
  const auto client = authority_.Load(kNode1);
  const Met met = Meet(*client, *authority_.Load(kWriter));
  EXPECT_NE(met.client_error, "");
  EXPECT_EQ(client->counts().refused, 1);
  EXPECT_EQ(Meet(*authority_.Load(kWriter), *client).client_error, "");
}

TEST_F(TlsContextTest, APeerWithoutACertificateIsAcceptedOnlyIfAllowed) {
  const auto server = authority_.Load(kNode2);
  TlsContextOptions options;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> uncertified(
      SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  EXPECT_NE(Shake(uncertified.get(), NewServerContext(*server, options)->get())
                .client_error,
            "");
  options.peer_must_be_known = false;
  const Met met =
      Shake(uncertified.get(), NewServerContext(*server, options)->get());
  EXPECT_EQ(met.client_error, "");
  EXPECT_EQ(met.server_saw, "");
}

TEST_F(TlsContextTest, OlderProtocolsAreRefused) {
  const auto server = authority_.Load(kNode2);
  const auto client = authority_.Load(kNode1);
  const auto at_most = [&](int version, int min_version) {
    TlsContextOptions options;
    options.min_version = min_version;
    const auto server_context = NewServerContext(*server, options);
    options.min_version = 0;
    const auto client_context = NewClientContext(*client, options);
    SSL_CTX_set_max_proto_version(client_context->get(), version);
    return Shake(client_context->get(), server_context->get()).client_error;
  };
  EXPECT_EQ(at_most(TLS1_2_VERSION, TLS1_2_VERSION), "");
  EXPECT_NE(at_most(TLS1_1_VERSION, TLS1_2_VERSION), "");
  EXPECT_NE(at_most(TLS1_2_VERSION, TLS1_3_VERSION), "");
}

TEST_F(TlsContextTest, AContextPresentsTheCurrentCertificate) {
  Certificates::Options options;
  options.files = authority_.Write(kNode1);
  options.look = absl::InfiniteDuration();
  const auto client = *Certificates::Load(options);
  const auto server = authority_.Load(kNode2);
  const auto client_context = NewClientContext(*client);
  const auto server_context = NewServerContext(*server);
  const Issued next = authority_.Issue(kNode1);
  authority_.Revoke(client->Current()->certificate_pem, options.files);
  WriteText(options.files.certificate, next.certificate_pem);
  WriteText(options.files.key, next.key_pem);
  client->Look();
  Connection connection(SSL_new(client_context->get()), &SSL_free);
  EXPECT_EQ(Shake(client_context->get(), server_context->get()).server_error,
            "");
  EXPECT_EQ(client->Current()->certificate_pem, next.certificate_pem);
}

}  // namespace
}  // namespace kamino::security
