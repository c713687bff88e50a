#include "transport/tcp/tls_stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "security/identity.h"
#include "tests/security/test_certificates.h"

namespace kamino::transport {
namespace {

class TlsStreamTest : public ::testing::Test {
 protected:
  TlsStreamTest() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_), 0);
  }
  ~TlsStreamTest() override {
    client_ = nullptr;
    server_ = nullptr;
    close(ends_[0]);
    close(ends_[1]);
  }

  void Connect(uint64_t bytes_of_key) {
    const security::TestAuthority authority;
    const auto make = [&](const std::string& name, bool connector, int socket) {
      auto setup = TlsSetup::Make(
          authority.Load({"c", security::Role::kNode, name}), bytes_of_key);
      EXPECT_TRUE(setup.ok()) << setup.status();
      return *TlsStream::Make(*setup, connector, socket);
    };
    client_ = make("client", true, ends_[0]);
    server_ = make("server", false, ends_[1]);
    for (bool done = false; !done;) {
      done = true;
      for (TlsStream* const end : {client_.get(), server_.get()}) {
        end->OnReadable(false);
        const auto greeted = end->Handshake();
        ASSERT_TRUE(greeted.ok()) << greeted.status();
        done = done && *greeted;
      }
    }
    EXPECT_EQ(client_->Peer()->identity().name, "server");
    EXPECT_EQ(server_->Peer()->identity().name, "client");
  }

  // All of `text`, in pieces, and what comes of it at the other end.
  static std::string Pass(const std::string& text, TlsStream* from,
                          TlsStream* to) {
    std::string got;
    size_t sent = 0;
    std::string room(5000, '\0');
    while (got.size() < text.size()) {
      const iovec pieces[] = {
          {const_cast<char*>(text.data()) + sent,
           std::min<size_t>(100, text.size() - sent)},
          {const_cast<char*>(text.data()) + sent +
               std::min<size_t>(100, text.size() - sent),
           text.size() - sent - std::min<size_t>(100, text.size() - sent)}};
      if (sent < text.size()) {
        const auto taken = from->Write(pieces, 2);
        EXPECT_TRUE(taken.ok()) << taken.status();
        if (!taken.ok()) return got;
        sent += *taken;
      } else {
        EXPECT_TRUE(from->Flush().ok());
      }
      to->OnReadable(false);
      const auto count = to->Receive(absl::MakeSpan(
          reinterpret_cast<std::byte*>(room.data()), room.size()));
      EXPECT_TRUE(count.ok()) << count.status();
      if (!count.ok()) return got;
      got.append(room, 0, *count);
    }
    return got;
  }

  static std::string Random(size_t bytes) {
    std::mt19937 random(3);
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>(random());
    return text;
  }

  int ends_[2];
  std::unique_ptr<TlsStream> client_;
  std::unique_ptr<TlsStream> server_;
};

TEST_F(TlsStreamTest, WrittenBytesAreRead) {
  Connect(TlsSetup::kBytesOfKey);
  const std::string text = Random(3000000);
  EXPECT_TRUE(Pass(text, client_.get(), server_.get()) == text);
  EXPECT_TRUE(Pass(text, server_.get(), client_.get()) == text);
  EXPECT_EQ(client_->keys_taken(), 0u);
  EXPECT_EQ(client_->waiting(), 0u);
  EXPECT_EQ(server_->unfinished(), 0u);
}

TEST_F(TlsStreamTest, ASenderUpdatesItsKeysInTime) {
  Connect(100000);
  const std::string text = Random(3000000);
  EXPECT_TRUE(Pass(text, client_.get(), server_.get()) == text);
  EXPECT_GE(client_->keys_taken(), 25u);
  EXPECT_EQ(server_->keys_taken(), 0u);
  EXPECT_TRUE(Pass(text, server_.get(), client_.get()) == text);
  EXPECT_GE(server_->keys_taken(), 25u);
}

}  // namespace
}  // namespace kamino::transport
