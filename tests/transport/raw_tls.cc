#include "tests/transport/raw_tls.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "openssl/bio.h"
#include "openssl/err.h"
#include "openssl/ssl.h"

namespace kamino::transport {
namespace {

constexpr int kSmall = 1;  // the kernel makes it the least there is

void MakeSmall(int socket) {
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &kSmall, sizeof(kSmall));
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kSmall, sizeof(kSmall));
}

sockaddr_in LocalPort(const std::string& address) {
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(
      std::atoi(address.substr(address.rfind(':') + 1).c_str())));
  return to;
}

int ConnectTo(const std::string& address, bool small) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (small) MakeSmall(socket);
  const sockaddr_in to = LocalPort(address);
  EXPECT_EQ(connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof(to)),
            0);
  return socket;
}

}  // namespace

int KnockAtPort(const std::string& address) {
  return ConnectTo(address, /*small=*/false);
}

std::string ReadAll(int socket) {
  std::string all;
  char bytes[4096];
  ssize_t count;
  while ((count = recv(socket, bytes, sizeof(bytes), 0)) > 0) {
    all.append(bytes, static_cast<size_t>(count));
  }
  return all;
}

RawTls::RawTls(const security::Certificates* certificates,
               const std::string& address, const std::string& protocol)
    : socket_(KnockAtPort(address)) {
  auto context = security::NewClientContext(*certificates);
  EXPECT_TRUE(context.ok()) << context.status();
  context_ = *std::move(context);
  ssl_ = SSL_new(context_.get());
  SSL_set_fd(ssl_, socket_);
  if (protocol.empty()) return;
  const std::string wire = absl::StrCat(
      std::string(1, static_cast<char>(protocol.size())), protocol);
  SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(wire.data()),
                      static_cast<unsigned>(wire.size()));
}

RawTls::~RawTls() {
  Cut();
  SSL_free(ssl_);
}

bool RawTls::Handshake() {
  ERR_clear_error();
  return SSL_connect(ssl_) == 1;
}

void RawTls::Say(absl::string_view bytes) {
  ERR_clear_error();
  EXPECT_EQ(SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())),
            static_cast<int>(bytes.size()));
}

std::string RawTls::Hear() {
  char bytes[16384];
  ERR_clear_error();
  const int count = SSL_read(ssl_, bytes, sizeof(bytes));
  if (count > 0) return std::string(bytes, static_cast<size_t>(count));
  ended_ = SSL_get_error(ssl_, count) == SSL_ERROR_ZERO_RETURN;
  ERR_clear_error();
  return "";
}

void RawTls::End() {
  ERR_clear_error();
  SSL_shutdown(ssl_);
  Cut();
}

void RawTls::Cut() {
  if (socket_ >= 0) close(std::exchange(socket_, -1));
}

std::string RawTls::Record(absl::string_view bytes) {
  BIO* const memory = BIO_new(BIO_s_mem());
  SSL_set0_wbio(ssl_, memory);
  Say(bytes);
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  std::string record(data, static_cast<size_t>(size));
  SSL_set0_wbio(ssl_, BIO_new_socket(socket_, BIO_NOCLOSE));
  return record;
}

Relay::Relay(std::string to, size_t piece, Change change)
    : to_(std::move(to)), piece_(piece), change_(std::move(change)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  MakeSmall(listener_);
  sockaddr_in at = LocalPort(":0");
  socklen_t length = sizeof(at);
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&at), length), 0);
  EXPECT_EQ(listen(listener_, 1), 0);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &length);
  address_ = absl::StrCat("127.0.0.1:", ntohs(at.sin_port));
  wake_ = eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this] { Run(); });
}

Relay::~Relay() {
  const uint64_t one = 1;
  EXPECT_EQ(write(wake_, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
  thread_.join();
  close(listener_);
  close(wake_);
}

bool Relay::Pump(int from, int to, bool forth) {
  std::string piece(piece_, '\0');
  const ssize_t count = recv(from, piece.data(), piece.size(), 0);
  if (count <= 0) return false;
  piece.resize(static_cast<size_t>(count));
  if (change_ != nullptr && !change_(forth, &piece)) return false;
  size_t sent = 0;
  while (sent < piece.size()) {
    // The other end may be full, and its own pieces be what it waits for.
    const ssize_t one =
        send(to, piece.data() + sent, piece.size() - sent, MSG_NOSIGNAL);
    if (one <= 0) return false;
    sent += static_cast<size_t>(one);
  }
  return true;
}

// Each way has a thread, so that one that is full does not stop the other.
void Relay::Run() {
  pollfd awaited[] = {{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
  poll(awaited, 2, -1);
  if (awaited[0].revents != 0) return;
  const int here = accept(listener_, nullptr, nullptr);
  const int there = ConnectTo(to_, /*small=*/true);
  const auto end_both = [&] {
    shutdown(here, SHUT_RDWR);
    shutdown(there, SHUT_RDWR);
  };
  std::thread forth([&] {
    while (Pump(here, there, true)) {
    }
    end_both();
  });
  std::thread back([&] {
    while (Pump(there, here, false)) {
    }
    end_both();
  });
  poll(awaited, 1, -1);
  end_both();
  forth.join();
  back.join();
  close(here);
  close(there);
}

}  // namespace kamino::transport
