// A server without descriptors, of its process or of its own limit. Clients are
// in this process, and have two ends each.
#include "rpc/acceptor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/fault.h"
#include "tests/patience.h"

namespace kamino::rpc {
namespace {

const absl::Duration kPatience = Patience(absl::Seconds(20));

// Lines of the log that say something.
class Lines final : public google::LogSink {
 public:
  explicit Lines(std::string text) : text_(std::move(text)) {
    google::AddLogSink(this);
  }
  ~Lines() override { google::RemoveLogSink(this); }

  void send(google::LogSeverity, const char*, const char*, int, const tm*,
            const char* message, size_t size) override {
    absl::MutexLock lock(&mutex_);
    count_ += absl::StrContains(absl::string_view(message, size), text_);
  }
  bool Reach(int count) {
    absl::MutexLock lock(&mutex_);
    const auto there = [&] { return count_ >= count; };
    return mutex_.AwaitWithTimeout(absl::Condition(&there), kPatience);
  }

 private:
  const std::string text_;
  absl::Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// An acceptor, and the connections that it took.
class Taking {
 public:
  explicit Taking(int max_descriptors, int bounded_elsewhere = 0) {
    Acceptor::Options options;
    options.listen = "127.0.0.1:0";
    options.max_descriptors = max_descriptors;
    options.bounded_elsewhere = [bounded_elsewhere] {
      return bounded_elsewhere;
    };
    acceptor_ = *Acceptor::Listen(options);
    acceptor_->Start([this](int descriptor) {
      absl::MutexLock lock(&mutex_);
      taken_.push_back(descriptor);
    });
  }
  ~Taking() {
    acceptor_.reset();
    for (const int descriptor : taken_) close(descriptor);
  }

  int port() const { return acceptor_->port(); }
  bool Reach(size_t count, absl::Duration patience) {
    absl::MutexLock lock(&mutex_);
    const auto there = [&] { return taken_.size() >= count; };
    return mutex_.AwaitWithTimeout(absl::Condition(&there), patience);
  }

 private:
  absl::Mutex mutex_;
  std::vector<int> taken_;
  std::unique_ptr<Acceptor> acceptor_;
};

class Client {
 public:
  Client() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_GE(socket_, 0);
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Connect(int port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    EXPECT_EQ(
        connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address),
        0);
  }
  // Allows many in a row: no port is kept for a closed connection.
  void HangUpHard() {
    const linger at_once = {1, 0};
    EXPECT_EQ(
        setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once),
        0);
  }
  // Waits until the other side has hung up, or for as long.
  bool IsRefused(absl::Duration patience) {
    timeval time = absl::ToTimeval(patience);
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    char byte;
    return recv(socket_, &byte, 1, 0) == 0;
  }

 private:
  const int socket_;
};

// Takes all descriptors that this process may have, until it is destroyed.
class AllDescriptors {
 public:
  AllDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = 256;
    setrlimit(RLIMIT_NOFILE, &few);
    for (int copy; (copy = dup(0)) >= 0;) copies_.push_back(copy);
  }
  ~AllDescriptors() {
    for (const int copy : copies_) close(copy);
    setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_;
  std::vector<int> copies_;
};

// The descriptor that the next call to open would get.
int NextDescriptor() {
  const int next = dup(0);
  close(next);
  return next;
}

// Whether connections are taken after a moment in which none could be.
bool OutlivesAMoment(absl::Duration patience) {
  Lines lines("cannot take a connection to 127.0.0.1:0");
  Taking server(1000);
  Client early, late;
  {
    const AllDescriptors all;
    early.Connect(server.port());
    EXPECT_TRUE(lines.Reach(1));
  }
  late.Connect(server.port());
  return server.Reach(2, patience);
}

// Whether connections beyond a bound are refused.
bool KeepsItsBound(absl::Duration patience) {
  Lines lines("refused a connection to 127.0.0.1:0");
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(std::make_unique<Client>());
  Taking server(NextDescriptor() + 2 + 5);  // it has two itself
  for (const auto& client : clients) client->Connect(server.port());
  EXPECT_TRUE(server.Reach(5, kPatience));
  for (int i = 0; i < 3; ++i) {
    if (!clients[5 + i]->IsRefused(patience)) return false;
  }
  EXPECT_FALSE(clients[4]->IsRefused(absl::Milliseconds(1)));
  EXPECT_TRUE(lines.Reach(2));  // not of each
  return true;
}

TEST(AcceptorTest, SurvivesATemporaryLackOfDescriptors) {
  EXPECT_TRUE(OutlivesAMoment(kPatience));
}

TEST(AcceptorTest, ConnectionsBeyondTheBoundAreRefused) {
  EXPECT_TRUE(KeepsItsBound(kPatience));
}

// Those of others do not use up its bound, and are no room for more either.
TEST(AcceptorTest, DescriptorsOfOtherBoundsDoNotCount) {
  constexpr int kOthers = 20;
  Client first, second;
  std::vector<int> others;
  Taking server(NextDescriptor() + 2 + 1, kOthers);  // it has two itself
  for (int i = 0; i < kOthers; ++i) others.push_back(dup(0));
  first.Connect(server.port());
  EXPECT_TRUE(server.Reach(1, kPatience));
  second.Connect(server.port());
  EXPECT_TRUE(second.IsRefused(kPatience));
  for (const int other : others) close(other);
}

TEST(AcceptorTest, KeepsDescriptorsInReserve) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = (NextDescriptor() + 40) * 4 / 3;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  {
    Taking server(100000);
    std::vector<std::unique_ptr<Client>> clients;
    do {
      clients.push_back(std::make_unique<Client>());
      clients.back()->Connect(server.port());
      ASSERT_LT(clients.size(), 40u);
    } while (server.Reach(clients.size(), Patience(absl::Seconds(3))));
    EXPECT_TRUE(clients.back()->IsRefused(kPatience));
    const int some = static_cast<int>(few.rlim_cur) / 4;
    EXPECT_LE(NextDescriptor(), static_cast<int>(few.rlim_cur) - some + 1);
  }
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(AcceptorTest, NamesTheAddressThatItCannotListenOn) {
  const absl::Status elsewhere =
      Acceptor::Listen({.listen = "192.0.2.1:0"}).status();
  EXPECT_TRUE(absl::IsUnavailable(elsewhere));
  EXPECT_EQ(elsewhere.message(),
            "cannot listen on 192.0.2.1:0: no address of that host is this "
            "machine's");
  for (const std::string listen : {"nonsense", "127.0.0.1:", "127.0.0.1:http",
                                   "127.0.0.1:65536", "127.0.0.1:-1"}) {
    const absl::Status status = Acceptor::Listen({.listen = listen}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << listen;
    EXPECT_THAT(std::string(status.message()),
                ::testing::StartsWith("cannot listen on " + listen + ": \"" +
                                      listen + "\" is not host:port"));
  }
  const auto first = Acceptor::Listen({.listen = "127.0.0.1:0"});
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second =
      Acceptor::Listen({.listen = absl::StrCat("127.0.0.1:", (*first)->port())})
          .status();
  EXPECT_TRUE(absl::IsUnavailable(second));
  EXPECT_THAT(std::string(second.message()),
              ::testing::EndsWith(": Address already in use"));
}

// Each connection that is taken is followed by another. An acceptor that does
// not end before there is none would take all of them.
TEST(AcceptorTest, StopsWhileConnectionsKeepArriving) {
  auto acceptor = Acceptor::Listen({.listen = "127.0.0.1:0"});
  ASSERT_TRUE(acceptor.ok()) << acceptor.status();
  const int port = (*acceptor)->port();
  constexpr int kMany = 500000;  // tens of seconds of them
  int taken = 0;                 // its thread's, and then this one's
  absl::Notification begun;
  std::unique_ptr<Client> client;
  (*acceptor)->Start([&](int descriptor) {
    if (!begun.HasBeenNotified()) begun.Notify();
    close(descriptor);
    client.reset();
    if (++taken == kMany) return;
    client = std::make_unique<Client>();
    client->HangUpHard();
    client->Connect(port);
  });
  Client first;
  first.Connect(port);
  begun.WaitForNotification();
  acceptor->reset();
  EXPECT_LT(taken, kMany);
}

TEST(AcceptorTest, AHostOfSeveralAddressesHasOnePort) {
  auto acceptor = Acceptor::Listen({.listen = "localhost:0"});
  ASSERT_TRUE(acceptor.ok()) << acceptor.status();
  std::atomic<int> taken{0};
  (*acceptor)->Start([&](int descriptor) {
    ++taken;
    close(descriptor);
  });
  Client client;
  client.Connect((*acceptor)->port());
  EXPECT_TRUE(client.IsRefused(kPatience));
  EXPECT_EQ(taken, 1);
}

TEST(AcceptorTest, PlantedFaultsAreDetected) {
  const absl::Duration patience = absl::Seconds(2);
  faults::PlantFault("rpc-listens-no-more");
  EXPECT_FALSE(OutlivesAMoment(patience));
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("rpc-takes-every-connection");
  EXPECT_FALSE(KeepsItsBound(patience));
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

}  // namespace
}  // namespace kamino::rpc
