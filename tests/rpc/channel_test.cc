// Channels below calls, seen by a peer that speaks just enough HTTP/2.
#include "rpc/channel.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"
#include "rpc/detail.h"
#include "rpc/status.h"
#include "tests/faults/fault.h"
#include "tests/patience.h"

namespace kamino::rpc {
namespace {

const absl::Duration kPatience = Patience(absl::Seconds(20));

// A number that a test waits for.
class Count {
 public:
  void Add() {
    absl::MutexLock lock(&mutex_);
    ++count_;
  }
  bool Reaches(int count, absl::Duration patience) {
    absl::MutexLock lock(&mutex_);
    const auto there = [&] { return count_ >= count; };
    return mutex_.AwaitWithTimeout(absl::Condition(&there), patience);
  }

 private:
  absl::Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Takes connections, one at a time. Calls that come by them are never answered.
class Peer {
 public:
  // `hangs_up`: at once, each time.
  explicit Peer(bool hangs_up) : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_, any, size), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    EXPECT_EQ(getsockname(listener_, any, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, hangs_up] {
      for (int link; (link = accept(listener_, nullptr, nullptr)) >= 0;) {
        SetLink(link);
        connections_.Add();
        if (!hangs_up) Serve(link);
        SetLink(-1);
        close(link);
      }
    });
  }
  // Ends the connection that is open. gRPC may leave one open: it closes a
  // connection that it made as the last call ended only if a thread still
  // polls.
  ~Peer() {
    shutdown(listener_, SHUT_RDWR);
    {
      absl::MutexLock lock(&mutex_);
      ended_ = true;
      if (link_ >= 0) shutdown(link_, SHUT_RDWR);
    }
    thread_.join();
    close(listener_);
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  Count& connections() { return connections_; }
  Count& pings() { return pings_; }

 private:
  using Bytes = std::string;

  // -1: no connection is open.
  void SetLink(int link) {
    absl::MutexLock lock(&mutex_);
    link_ = link;
    if (ended_ && link >= 0) shutdown(link, SHUT_RDWR);
  }

  static bool Read(int link, size_t size, Bytes* bytes) {
    bytes->resize(size);
    return size == 0 || recv(link, bytes->data(), size, MSG_WAITALL) ==
                            static_cast<ssize_t>(size);
  }
  static bool Write(int link, const Bytes& bytes) {
    return send(link, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  static Bytes Frame(const Bytes& payload, char type, char flags) {
    return Bytes(2, '\0') + static_cast<char>(payload.size()) + type + flags +
           Bytes(4, '\0') + payload;
  }

  // RFC 7540: settings and pings are taken note of, nothing else is.
  void Serve(int link) {
    constexpr char kSettings = 4;
    constexpr char kPing = 6;
    constexpr char kAck = 1;
    Bytes preface, header, payload;
    bool good =
        Read(link, 24, &preface) && Write(link, Frame("", kSettings, 0));
    while (good && Read(link, 9, &header)) {
      const auto byte = [&](int i) {
        return static_cast<size_t>(static_cast<unsigned char>(header[i]));
      };
      good = Read(link, byte(0) << 16 | byte(1) << 8 | byte(2), &payload);
      if ((header[4] & kAck) != 0) continue;
      if (header[3] == kSettings) Write(link, Frame("", kSettings, kAck));
      if (header[3] != kPing) continue;
      Write(link, Frame(payload, kPing, kAck));
      pings_.Add();
    }
  }

  const int listener_;
  int port_ = 0;
  Count connections_;
  Count pings_;
  absl::Mutex mutex_;
  int link_ ABSL_GUARDED_BY(mutex_) = -1;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// A call that waits for an answer until it is destroyed.
class Waiting {
 public:
  Waiting(const std::string& address, const ChannelOptions& options)
      : stub_(MakeChannel(address, options)) {
    SetTimeout(2 * kPatience, &context_);
    context_.set_wait_for_ready(true);
    call_ = stub_.PrepareUnaryCall(&context_, "/kamino.test/Wait",
                                   grpc::ByteBuffer(), &queue_);
    call_->StartCall();
    call_->Finish(&response_, &status_, this);
    // gRPC looks after connections on threads that wait for something.
    thread_ = std::thread([this] {
      void* tag;
      bool ok;
      while (queue_.Next(&tag, &ok)) {
      }
    });
  }
  ~Waiting() {
    context_.TryCancel();
    queue_.Shutdown();
    thread_.join();
  }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::ByteBuffer response_;
  grpc::Status status_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> call_;
  std::thread thread_;
};

// gRPC by itself stops after two pings.
bool GoesOnPinging(absl::Duration patience) {
  Peer peer(/*hangs_up=*/false);
  ChannelOptions options;
  options.ping_after = absl::Seconds(1);
  Waiting call(peer.address(), options);
  return peer.pings().Reaches(4, patience);
}

// gRPC by itself would take three quarters of a minute for so many.
bool ReconnectsOften(absl::Duration patience) {
  Peer peer(/*hangs_up=*/true);
  Waiting call(peer.address(), ChannelOptions());
  return peer.connections().Reaches(8, patience);
}

// The environment names `proxy` by `variable` while this lives.
class ProxySet {
 public:
  ProxySet(const char* variable, const Peer& proxy) : variable_(variable) {
    setenv(variable, absl::StrCat("http://", proxy.address()).c_str(), 1);
  }
  ~ProxySet() { unsetenv(variable_); }

 private:
  const char* const variable_;
};

// Whether the deadline of its method ends a call that gets no answer. The
// call's own deadline is `own`.
bool EndsByItsMethods(absl::Duration own) {
  Peer peer(/*hangs_up=*/false);
  constexpr Timeout kDeadline = {"/kamino.test/Wait", absl::Milliseconds(50)};
  ChannelOptions options;
  options.timeouts = absl::MakeConstSpan(&kDeadline, 1);
  grpc::GenericStub stub(MakeChannel(peer.address(), options));
  grpc::ClientContext context;
  const absl::Time begin = absl::Now();
  SetTimeout(own, &context);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(
      &context, std::string(kDeadline.method), grpc::ByteBuffer(), &queue);
  grpc::ByteBuffer response;
  grpc::Status status;
  call->StartCall();
  call->Finish(&response, &status, &queue);
  void* tag;
  bool ok;
  EXPECT_TRUE(queue.Next(&tag, &ok));
  queue.Shutdown();
  EXPECT_FALSE(queue.Next(&tag, &ok));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED)
      << status.error_message();
  return absl::Now() - begin < own / 2;
}

TEST(ChannelTest, ACallEndsByItsMethodsTimeout) {
  EXPECT_TRUE(EndsByItsMethods(absl::Hours(1)));
  EXPECT_TRUE(EndsByItsMethods(absl::InfiniteDuration()));
}

// The error of a call to `address`, which fails.
absl::Status FailsAt(const std::string& address) {
  grpc::GenericStub stub(MakeChannel(address));
  grpc::ClientContext context;
  SetTimeout(Patience(absl::Seconds(2)), &context);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, "/kamino.test/Wait",
                                          grpc::ByteBuffer(), &queue);
  grpc::ByteBuffer response;
  grpc::Status status;
  call->StartCall();
  call->Finish(&response, &status, &queue);
  void* tag;
  bool ok;
  EXPECT_TRUE(queue.Next(&tag, &ok));
  queue.Shutdown();
  EXPECT_FALSE(queue.Next(&tag, &ok));
  EXPECT_FALSE(status.ok());
  return FromGrpc(status);
}

bool MayBeSentTo(const std::string& address) {
  return MayHaveBeenSent(FailsAt(address));
}

// gRPC takes targets with percent-encoding, in which "%12" is one character.
TEST(ChannelTest, ANumericZoneIsNotPercentDecoded) {
  const absl::Status failed = FailsAt("[fe80::1%12]:1");
  EXPECT_FALSE(absl::StrContains(failed.message(), "is not known")) << failed;
  EXPECT_FALSE(absl::StrContains(failed.message(), "\x12")) << failed;
}

TEST(ChannelTest, ACallThatGotNoConnectionWasNotSent) {
  std::string unreachable;
  {
    Peer quiet(/*hangs_up=*/false);
    EXPECT_TRUE(MayBeSentTo(quiet.address()));
    unreachable = quiet.address();
  }
  EXPECT_FALSE(MayBeSentTo(unreachable));
  Peer refuses(/*hangs_up=*/true);
  EXPECT_FALSE(MayBeSentTo(refuses.address()));
  // It has heard the call, and ends without an answer.
  EXPECT_TRUE(MayHaveBeenSent(absl::UnavailableError("Socket closed")));
  EXPECT_TRUE(MayHaveBeenSent(absl::DeadlineExceededError("")));
}

TEST(ChannelTest, AServersOwnConnectionErrorIsNotOurs) {
  absl::Status status =
      absl::UnavailableError("failed to connect to all addresses; last error");
  EXPECT_FALSE(MayHaveBeenSent(FromGrpc(ToGrpc(status))));
  SetDetail(kamino::v1::ErrorDetail(), &status);
  EXPECT_TRUE(MayHaveBeenSent(FromGrpc(ToGrpc(status))));
}

TEST(ChannelTest, AQuietPeerIsPingedWhileACallWaits) {
  EXPECT_TRUE(GoesOnPinging(kPatience));
}

TEST(ChannelTest, ARestartedPeerIsReachedSoon) {
  EXPECT_TRUE(ReconnectsOften(kPatience));
}

TEST(ChannelTest, ProxiesOfTheEnvironmentAreNotUsed) {
  for (const char* variable :
       {"http_proxy", "https_proxy", "grpc_proxy", "all_proxy", "HTTP_PROXY",
        "HTTPS_PROXY", "GRPC_PROXY", "ALL_PROXY"}) {
    Peer proxy(/*hangs_up=*/true);
    Peer peer(/*hangs_up=*/false);
    const ProxySet set(variable, proxy);
    Waiting call(peer.address(), ChannelOptions());
    EXPECT_TRUE(peer.connections().Reaches(1, kPatience)) << variable;
    EXPECT_FALSE(proxy.connections().Reaches(1, absl::ZeroDuration()))
        << variable;
  }
}

TEST(ChannelTest, APlantedProxyIsDetected) {
  faults::PlantFault("rpc-goes-through-a-proxy");
  Peer proxy(/*hangs_up=*/true);
  Peer peer(/*hangs_up=*/false);
  const ProxySet set("http_proxy", proxy);
  {
    Waiting call(peer.address(), ChannelOptions());
    EXPECT_TRUE(proxy.connections().Reaches(1, kPatience));
  }
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
  EXPECT_FALSE(peer.connections().Reaches(1, absl::ZeroDuration()));
}

TEST(ChannelTest, PlantedFaultsAreDetected) {
  const absl::Duration patience = absl::Seconds(6);
  faults::PlantFault("rpc-pings-end");
  EXPECT_FALSE(GoesOnPinging(patience));
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("rpc-reconnects-seldom");
  EXPECT_FALSE(ReconnectsOften(patience));
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("rpc-calls-last-for-ever");
  EXPECT_FALSE(EndsByItsMethods(absl::Seconds(2)));
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

TEST(ChannelTest, DeadlinesAreFromNowOn) {
  grpc::ClientContext context;
  const absl::Time before = absl::Now();
  SetTimeout(absl::Seconds(3), &context);
  const absl::Time deadline = absl::FromChrono(context.deadline());
  EXPECT_GE(deadline, before + absl::Seconds(3) - absl::Milliseconds(1));
  const absl::Time after = absl::Now();
  EXPECT_LE(deadline, after + absl::Seconds(3));
  SetTimeout(absl::InfiniteDuration(), &context);
  EXPECT_EQ(context.deadline(), std::chrono::system_clock::time_point::max());
}

}  // namespace
}  // namespace kamino::rpc
