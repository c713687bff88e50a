#include "web/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A connection to the server; reads give up after a while.
class Connection {
 public:
  explicit Connection(int port) : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience = {10, 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience,
               sizeof(patience));
    setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &patience,
               sizeof(patience));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(descriptor_, reinterpret_cast<sockaddr*>(&address),
                      sizeof(address)),
              0);
  }
  ~Connection() { close(descriptor_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool Send(const std::string& text) {
    return send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  // Reads until the server closes the connection.
  std::string ReadAll() {
    std::string all;
    char some[4096];
    for (;;) {
      const ssize_t got = recv(descriptor_, some, sizeof(some), 0);
      if (got <= 0) return all;
      all.append(some, static_cast<size_t>(got));
    }
  }

 private:
  const int descriptor_;
};

class ServerTest : public ::testing::Test {
 protected:
  void Start(ServerOptions options = {}) {
    options.listen = "127.0.0.1:0";
    auto server = Server::Start(
        options,
        {{"/hello",
          [] {
            return Answer{200, "text/plain", "hi\n"};
          }},
         {"/ill",
          [] {
            return Answer{503, "text/plain", "ill\n"};
          }},
         {"/large", [] {
            return Answer{200, "text/plain", std::string(1 << 20, 'x')};
          }}});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = std::move(*server);
  }
  std::string Ask(const std::string& request) {
    Connection connection(server_->port());
    connection.Send(request);
    return connection.ReadAll();
  }
  std::string Get(const std::string& path, const std::string& headers = "") {
    return Ask(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\n", headers,
                            "\r\n"));
  }

  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, AnswersOneRequestPerConnection) {
  Start();
  const std::string answer = Get("/hello");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\nhi\n"));
  EXPECT_THAT(answer, HasSubstr("Connection: close"));
  EXPECT_THAT(answer, HasSubstr("Cache-Control: no-store"));
  EXPECT_THAT(Get("/ill"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(Get("/large"), HasSubstr("Content-Length: 1048576"));
}

TEST_F(ServerTest, RefusesOtherPathsAndMethods) {
  Start();
  EXPECT_THAT(Get("/"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Get("/hello/"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Get("/hello/../ill"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Ask("POST /hello HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"),
              StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(Ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
}

TEST_F(ServerTest, IgnoresRangeHeaders) {
  Start();
  std::string ranges = "Range: bytes=0-";
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&ranges, ",0-");
  const std::string answer = Get("/large", absl::StrCat(ranges, "\r\n"));
  EXPECT_LT(answer.size(), (1 << 20) + 1000);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, BoundsTheSizeOfRequests) {
  Start();
  std::string headers;
  for (int i = 0; i < 1000; ++i) {
    absl::StrAppend(&headers, "X-", i, ": ", std::string(1000, 'y'), "\r\n");
  }
  EXPECT_THAT(Get("/hello", headers), Not(HasSubstr("200 OK")));
  EXPECT_THAT(Get(absl::StrCat("/", std::string(20000, 'a'))),
              Not(HasSubstr("200 OK")));
  EXPECT_THAT(Get("/hello"), HasSubstr("200 OK"));
}

TEST_F(ServerTest, ClosesSlowConnections) {
  ServerOptions options;
  options.max_time = absl::Milliseconds(200);
  Start(options);
  const absl::Time began = MonotonicNow();
  Connection silent(server_->port());
  EXPECT_EQ(silent.ReadAll(), "");
  // One that takes nothing: the answer is larger than what buffers take.
  Connection begun(server_->port());
  EXPECT_TRUE(begun.Send("GET /hello HTTP/1.1\r\nX-A: "));
  EXPECT_THAT(begun.ReadAll(), Not(HasSubstr("200 OK")));
  EXPECT_GE(MonotonicNow() - began, absl::Milliseconds(300));
}

TEST_F(ServerTest, ServesAClientAmongManySilentOnes) {
  ServerOptions options;
  options.threads = 2;
  options.max_waiting = 2;
  options.max_time = absl::Minutes(10);
  Start(options);
  std::vector<std::unique_ptr<Connection>> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(std::make_unique<Connection>(server_->port()));
    if (i % 5 != 0) continue;
    EXPECT_THAT(Get("/hello"), HasSubstr("200 OK")) << i;
  }
  EXPECT_EQ(silent.front()->ReadAll(), "");  // it was cut off
}

TEST_F(ServerTest, ServesAClientDuringAFloodOfSilentOnes) {
  ServerOptions options;
  options.max_time = absl::Minutes(10);
  Start(options);
  std::vector<std::unique_ptr<Connection>> silent;
  for (int i = 1; i <= 400; ++i) {
    silent.push_back(std::make_unique<Connection>(server_->port()));
    if (i % 40 != 0) continue;
    ASSERT_THAT(Get("/hello"), HasSubstr("200 OK")) << i;
  }
}

TEST_F(ServerTest, StopsDespiteSilentConnections) {
  ServerOptions options;
  options.threads = 1;
  options.max_waiting = 1;
  options.max_time = absl::Minutes(10);
  Start(options);
  Connection first(server_->port());
  Connection second(server_->port());
  Connection third(server_->port());
  server_.reset();
  EXPECT_EQ(first.ReadAll(), "");
}

TEST_F(ServerTest, ReportsWhyItCannotListen) {
  Start();
  ServerOptions options;
  options.listen = absl::StrCat("127.0.0.1:", server_->port());
  const auto second = Server::Start(options, {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(second.status().message(), HasSubstr("in use"));
}

}  // namespace
}  // namespace kamino::web
