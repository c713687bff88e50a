// The HTTP listener with certificates: rights of each role.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "openssl/ssl.h"
#include "security/access.h"
#include "security/certificates.h"
#include "security/tls_context.h"
#include "tests/patience.h"
#include "tests/security/test_certificates.h"
#include "web/server.h"

namespace kamino::web {
namespace {

using security::Certificates;
using security::Identity;
using security::Role;
using ::testing::HasSubstr;
using ::testing::StartsWith;

int Connect(int port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  const timeval patience = {10, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(descriptor, reinterpret_cast<sockaddr*>(&address),
                    sizeof(address)),
            0);
  return descriptor;
}

class TlsServerTest : public testing::Test {
 protected:
  TlsServerTest() { signal(SIGPIPE, SIG_IGN); }

  void Start(ServerOptions options = {}) {
    options.listen = "127.0.0.1:0";
    options.certificates = own_;
    options.access = access_;
    auto server = Server::Start(
        options,
        {{"/metrics",
          [] {
            return Answer{200, "text/plain", std::string(1 << 20, 'm')};
          }},
         {"/other", [] { return Answer(); }},
         {"/livez",
          [] {
            return Answer{200, "text/plain", "ok\n"};
          },
          /*for_everybody=*/true}});
    ASSERT_EQ(server.status(), absl::OkStatus());
    server_ = *std::move(server);
  }

  // The answer; "": there was no handshake, or nothing came.
  std::string Ask(SSL_CTX* context, const std::string& path) {
    const int descriptor = Connect(server_->port());
    SSL* const connection = SSL_new(context);
    SSL_set_fd(connection, descriptor);
    std::string answer;
    if (SSL_connect(connection) == 1) {
      const std::string request =
          absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n");
      SSL_write(connection, request.data(), static_cast<int>(request.size()));
      char some[4096];
      for (int got; (got = SSL_read(connection, some, sizeof(some))) > 0;) {
        answer.append(some, static_cast<size_t>(got));
      }
    }
    SSL_free(connection);
    close(descriptor);
    return answer;
  }
  std::string GetAs(const Certificates& who, const std::string& path) {
    const auto context =
        security::NewClientContext(who, {.min_version = TLS1_2_VERSION});
    EXPECT_EQ(context.status(), absl::OkStatus());
    return Ask(context->get(), path);
  }
  std::string GetAs(Role role, const std::string& path) {
    return GetAs(*authority_.Load({"c", role, "x"}), path);
  }
  // Requests as a client that believes any server.
  std::string GetShowing(const security::TlsFiles& files,
                         const std::string& path) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
        SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
    EXPECT_EQ(SSL_CTX_use_certificate_chain_file(context.get(),
                                                 files.certificate.c_str()),
              1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(),
                                          SSL_FILETYPE_PEM),
              1);
    return Ask(context.get(), path);
  }
  std::string GetWithoutCertificate(const std::string& path, int version = 0) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
        SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
    if (version != 0) SSL_CTX_set_max_proto_version(context.get(), version);
    return Ask(context.get(), path);
  }

  const security::TestAuthority authority_;
  const std::shared_ptr<Certificates> own_ =
      authority_.Load({"c", Role::kNode, "n1"});
  const std::shared_ptr<security::Access> access_ =
      std::make_shared<security::Access>(security::RoleMap());
  std::unique_ptr<Server> server_;
};

TEST_F(TlsServerTest, MetricsNeedTheReaderRoleAndProbesDoNot) {
  Start();
  for (const Role role : {Role::kReader, Role::kOperator}) {
    const std::string answer = GetAs(role, "/metrics");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK"));
    EXPECT_GT(answer.size(), size_t{1} << 20);
  }
  for (const Role role : {Role::kWriter, Role::kNode, Role::kManager}) {
    EXPECT_THAT(GetAs(role, "/metrics"), StartsWith("HTTP/1.1 403"));
    EXPECT_THAT(GetAs(role, "/livez"), HasSubstr("ok\n"));
  }
  EXPECT_THAT(GetWithoutCertificate("/metrics"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(GetWithoutCertificate("/livez"), HasSubstr("ok\n"));
  EXPECT_THAT(GetWithoutCertificate("/none"), StartsWith("HTTP/1.1 404"));
  // A page without a rule is denied to every role.
  EXPECT_THAT(GetAs(Role::kReader, "/other"), StartsWith("HTTP/1.1 403"));
  EXPECT_GT(access_->counts().denied, 0u);
  EXPECT_GT(access_->counts().unauthenticated, 0u);
}

TEST_F(TlsServerTest, ABadCertificateIsRefused) {
  Start();
  const security::TestAuthority stranger("stranger");
  EXPECT_EQ(GetShowing(stranger.Write({"c", Role::kReader, "x"}), "/livez"),
            "");
  EXPECT_EQ(
      GetShowing(authority_.Write({"other", Role::kReader, "x"}), "/livez"),
      "");
  EXPECT_EQ(own_->counts().refused, 2u);
  EXPECT_THAT(GetShowing(authority_.Write({"c", Role::kReader, "x"}), "/livez"),
              HasSubstr("ok\n"));
}

TEST_F(TlsServerTest, RoleChangesApplyToTheNextRequest) {
  Start();
  const auto reader = authority_.Load({"c", Role::kReader, "x"});
  EXPECT_THAT(GetAs(*reader, "/metrics"), StartsWith("HTTP/1.1 200"));
  access_->Replace(security::RoleMap({}, /*only_rules=*/true));
  EXPECT_THAT(GetAs(*reader, "/metrics"), StartsWith("HTTP/1.1 403"));
}

TEST_F(TlsServerTest, RefusesOldTlsAndPlaintext) {
  ServerOptions options;
  options.max_time = Patience(absl::Seconds(1));
  Start(options);
  EXPECT_THAT(GetWithoutCertificate("/livez", TLS1_2_VERSION),
              HasSubstr("ok\n"));
  EXPECT_EQ(GetWithoutCertificate("/livez", TLS1_1_VERSION), "");
  const int clear = Connect(server_->port());
  const std::string request = "GET /livez HTTP/1.1\r\n\r\n";
  send(clear, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char some[4096];
  for (ssize_t got; (got = recv(clear, some, sizeof(some), 0)) > 0;) {
    answer.append(some, static_cast<size_t>(got));
  }
  EXPECT_EQ(answer.find("ok"), std::string::npos);
  close(clear);
  // The server drops a client that begins no handshake.
  const int silent = Connect(server_->port());
  EXPECT_EQ(recv(silent, some, sizeof(some), 0), 0);
  close(silent);
}

}  // namespace
}  // namespace kamino::web
