// A name whose address changes: the channels' queries to a name server, which
// is the test's own.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "grpc/grpc.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "tests/faults/fault.h"
#include "tests/patience.h"

namespace kamino::rpc {
namespace {

const absl::Duration kPatience = Patience(absl::Seconds(20));

// Binds the socket to a free port, and returns that.
int BindToLoopback(int socket) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(socket, any, size), 0);
  EXPECT_EQ(getsockname(socket, any, &size), 0);
  return ntohs(address.sin_port);
}

// Answers every question for an address with 127.0.0.1, and counts those.
class NameServer {
 public:
  NameServer() : socket_(socket(AF_INET, SOCK_DGRAM, 0)) {
    port_ = BindToLoopback(socket_);
    thread_ = std::thread([this] { Serve(); });
  }
  ~NameServer() {
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
  }

  int port() const { return port_; }
  bool IsAsked(int times, absl::Duration patience) {
    absl::MutexLock lock(&mutex_);
    const auto there = [&] { return asked_ >= times; };
    return mutex_.AwaitWithTimeout(absl::Condition(&there), patience);
  }

 private:
  void Serve() {
    char message[512];
    sockaddr_in from = {};
    for (;;) {
      socklen_t size = sizeof from;
      auto* const peer = reinterpret_cast<sockaddr*>(&from);
      // The header's 12 bytes and 16 for the answer.
      const ssize_t read =
          recvfrom(socket_, message, sizeof message - 16, 0, peer, &size);
      if (read < 12) return;
      const size_t length = Answer(message, static_cast<size_t>(read));
      sendto(socket_, message, length, 0, peer, size);
    }
  }
  // Makes an answer of the question, and returns its length.
  size_t Answer(char* message, size_t length) {
    size_t type = 12;  // behind the name
    while (type < length && message[type] != 0) {
      type += 1 + static_cast<unsigned char>(message[type]);
    }
    const bool for_address = type + 2 < length && message[type + 2] == 1;
    message[2] = static_cast<char>(0x81);  // an answer
    message[3] = static_cast<char>(0x80);
    message[7] = for_address ? 1 : 0;
    std::memset(message + 8, 0, 4);
    if (!for_address) return type + 5;
    // The question's name, type A, class IN, for no time, 4 bytes.
    constexpr char kAnswer[] = "\xc0\x0c\0\1\0\1\0\0\0\0\0\4\x7f\0\0\1";
    std::memcpy(message + type + 5, kAnswer, 16);
    absl::MutexLock lock(&mutex_);
    ++asked_;
    return type + 5 + 16;
  }

  const int socket_;
  int port_ = 0;
  std::thread thread_;
  absl::Mutex mutex_;
  int asked_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Nothing listens there: a socket that does not listen keeps the port.
class DeadPort {
 public:
  DeadPort() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    port_ = BindToLoopback(socket_);
  }
  ~DeadPort() { close(socket_); }
  int port() const { return port_; }

 private:
  const int socket_;
  int port_ = 0;
};

// Whether the name of a process that is not there is looked up three times.
bool LooksUpAgain(absl::Duration patience) {
  NameServer names;
  const DeadPort dead;
  const auto channel = MakeChannel(absl::StrCat(
      "dns://127.0.0.1:", names.port(), "/manager.test:", dead.port()));
  // As calls that wait for a connection do.
  const absl::Duration step = absl::Milliseconds(20);
  absl::Duration waited;
  while (!names.IsAsked(3, step) && waited < patience) {
    channel->GetState(/*try_to_connect=*/true);
    waited += step;
  }
  return names.IsAsked(3, absl::ZeroDuration());
}

TEST(NameLookupsTest, AnUnreachableNameIsLookedUpAgain) {
  EXPECT_TRUE(LooksUpAgain(kPatience));
}

// By default gRPC asks once in half a minute.
TEST(NameLookupsTest, RareLookupsAreDetected) {
  faults::PlantFault("rpc-looks-names-up-seldom");
  EXPECT_FALSE(LooksUpAgain(absl::Seconds(4)));
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

}  // namespace
}  // namespace kamino::rpc
