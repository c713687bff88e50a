#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/harness/clock.h"
#include "bench/transport/subject.h"

namespace kamino::bench {
namespace {

// One end: a socket that does not block, and an epoll that waits for it alone.
class Socket {
 public:
  Socket() = default;
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
    if (epoll_ >= 0) ::close(epoll_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Takes `fd`.
  absl::Status Adopt(int fd) {
    fd_ = fd;
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    const int on = 1;
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLET;
    if (fd_ < 0 || epoll_ < 0 ||
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
        ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd_, &event) != 0) {
      return absl::ErrnoToStatus(errno, "bare epoll");
    }
    return absl::OkStatus();
  }

  bool Send(const std::vector<char>& message) {
    size_t sent = 0;
    while (sent < message.size()) {
      const ssize_t count =
          ::send(fd_, message.data() + sent, message.size() - sent,
                 MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) {
        sent += static_cast<size_t>(count);
      } else if (errno != EAGAIN && errno != EINTR) {
        return false;
      }
    }
    return true;
  }

  // False at the end of the connection.
  bool Receive(std::vector<char>* message) {
    size_t received = 0;
    while (received < message->size()) {
      const ssize_t count = ::recv(fd_, message->data() + received,
                                   message->size() - received, MSG_DONTWAIT);
      if (count > 0) {
        received += static_cast<size_t>(count);
      } else if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        epoll_event event;
        ::epoll_wait(epoll_, &event, 1, -1);
      } else {
        return false;
      }
    }
    return true;
  }

  void HangUp() { ::shutdown(fd_, SHUT_RDWR); }

 private:
  int fd_ = -1;
  int epoll_ = -1;
};

absl::Status ConnectPair(Socket* client, Socket* server) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* name = reinterpret_cast<sockaddr*>(&address);
  absl::Status status;
  if (::bind(listener, name, length) != 0 || ::listen(listener, 1) != 0 ||
      ::getsockname(listener, name, &length) != 0) {
    status = absl::ErrnoToStatus(errno, "bare epoll");
  }
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (status.ok() && ::connect(fd, name, length) != 0) {
    status = absl::ErrnoToStatus(errno, "bare epoll");
  }
  absl::Status adopted = client->Adopt(fd);
  if (status.ok()) status = adopted;
  if (status.ok()) {
    status = server->Adopt(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  }
  ::close(listener);
  return status;
}

class BareEpoll final : public Subject {
 public:
  const std::string& name() const override { return name_; }

  absl::Status PingPong(size_t bytes, absl::Duration duration,
                        Latencies* latencies) override {
    Socket client, server;
    absl::Status status = ConnectPair(&client, &server);
    if (!status.ok()) return status;
    std::thread echo([&] {
      PinTo(1);
      std::vector<char> message(bytes);
      while (server.Receive(&message)) {
        uint64_t stamp;
        const uint64_t now = Ticks();
        std::memcpy(&stamp, message.data(), sizeof(stamp));
        if (!server.Send(message)) break;
        latencies->one_way.Add(now - stamp);
      }
    });
    std::thread ping([&] {
      PinTo(0);
      std::vector<char> message(bytes);
      const auto until =
          Ticks() + static_cast<uint64_t>(absl::ToDoubleNanoseconds(duration) /
                                          NanosPerTick());
      uint64_t now = Ticks();
      while (now < until) {
        const uint64_t sent = now;
        std::memcpy(message.data(), &sent, sizeof(sent));
        if (!client.Send(message) || !client.Receive(&message)) {
          status = absl::UnavailableError("the bare connection broke");
          break;
        }
        now = Ticks();
        latencies->round_trip.Add(now - sent);
      }
      client.HangUp();
    });
    ping.join();
    echo.join();
    return status;
  }

  absl::StatusOr<double> Stream(size_t, absl::Duration) override {
    return absl::UnimplementedError("only round trips are compared");
  }

 private:
  const std::string name_ = "bare-epoll";
};

}  // namespace

void PinTo(int number) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  const int count = CPU_COUNT(&allowed);
  int skip = count == 0 ? 0 : number % count;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || skip-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::pthread_setaffinity_np(::pthread_self(), sizeof(one), &one);
    return;
  }
}

absl::StatusOr<std::unique_ptr<Subject>> MakeBareEpoll() {
  return std::make_unique<BareEpoll>();
}

}  // namespace kamino::bench
