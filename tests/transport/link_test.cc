// The contract of transport/link.h, on every transport that crosses processes.
#include "transport/link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/make_transport.h"

namespace kamino::transport {
namespace {

absl::Span<const std::byte> Bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Records what happens on a link.
class Recorder : public LinkHandler {
 public:
  void OnConnected(const std::shared_ptr<Link>& link) override {
    absl::MutexLock lock(&mutex_);
    link_ = link;
    connected_ = true;
  }
  void OnMessage(absl::Span<const std::byte> message) override {
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(why_.ok()) << "a message after OnClosed";
    messages_.emplace_back(reinterpret_cast<const char*>(message.data()),
                           message.size());
  }
  void OnWritable() override {
    absl::MutexLock lock(&mutex_);
    ++writable_;
  }
  void OnClosed(const absl::Status& why) override {
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(why_.ok()) << "closed twice";
    EXPECT_FALSE(why.ok());
    why_ = why;
  }

  void AwaitConnected() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&connected_));
  }
  absl::Status AwaitClosed() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](Recorder* self) { return !self->why_.ok(); }, this));
    return why_;
  }
  std::string AwaitMessage() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](Recorder* self) { return !self->messages_.empty(); }, this));
    std::string message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }
  void AwaitWritable(int count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [this, count] {
      mutex_.AssertReaderHeld();
      return writable_ >= count;
    };
    mutex_.Await(absl::Condition(&enough));
  }
  int writable() {
    absl::MutexLock lock(&mutex_);
    return writable_;
  }

 private:
  absl::Mutex mutex_;
  std::shared_ptr<Link> link_;
  bool connected_ = false;
  std::deque<std::string> messages_;
  int writable_ = 0;
  absl::Status why_;
};

class LinkTest : public ::testing::TestWithParam<std::string> {
 protected:
  LinkTest() {
    // A socket's path is short; the test's own folder need not be.
    char folder[] = "/tmp/kamino-link-XXXXXX";
    options_.shm_directory = mkdtemp(folder);
    options_.max_message = 1 << 20;
    options_.send_buffer = 2 << 20;
    options_.ring_bytes = 2 << 20;
    Listen();
  }

  ~LinkTest() override { std::filesystem::remove_all(options_.shm_directory); }

  std::string AnyAddress() {
    static std::atomic<int> next{0};
    return GetParam() == "tcp" ? "127.0.0.1:0"
                               : absl::StrCat("link-", getpid(), "-", ++next);
  }

  void Listen() {
    server_ = *MakeTransport(GetParam(), options_);
    client_ = *MakeTransport(GetParam(), options_);
    auto listener =
        server_->Listen(AnyAddress(), [this](std::shared_ptr<Link> link) {
          absl::MutexLock lock(&mutex_);
          if (refuse_) return std::shared_ptr<Recorder>();
          accepted_link_ = std::move(link);
          accepted_ = std::make_shared<Recorder>();
          return accepted_;
        });
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = std::move(*listener);
  }

  void Connect() {
    auto link = client_->Connect(listener_->address(), connector_);
    ASSERT_TRUE(link.ok()) << link.status();
    link_ = *link;
    connector_->AwaitConnected();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](LinkTest* self) { return self->accepted_ != nullptr; }, this));
  }

  TransportOptions options_;
  absl::Mutex mutex_;
  bool refuse_ = false;
  std::shared_ptr<Link> accepted_link_;
  std::shared_ptr<Recorder> accepted_;
  std::shared_ptr<Recorder> connector_ = std::make_shared<Recorder>();
  std::shared_ptr<Link> link_;
  std::unique_ptr<Transport> server_;
  std::unique_ptr<Transport> client_;
  std::unique_ptr<Listener> listener_;
};

TEST_P(LinkTest, CarriesMessagesWholeAndInOrderBothWays) {
  Connect();
  EXPECT_EQ(link_->capabilities().name, GetParam());
  for (int i = 0; i < 2000; ++i) {
    const std::string head = absl::StrCat(i, ":");
    const std::string tail(i % 300, 'x');
    ASSERT_TRUE(link_->Send(Bytes(head), Bytes(tail)).ok()) << i;
    ASSERT_TRUE(accepted_link_->Send(Bytes(tail), Bytes(head)).ok()) << i;
    if (i % 100 != 99) continue;
    for (int k = i - 99; k <= i; ++k) {
      const std::string text(k % 300, 'x');
      ASSERT_EQ(accepted_->AwaitMessage(), absl::StrCat(k, ":", text));
      ASSERT_EQ(connector_->AwaitMessage(), absl::StrCat(text, k, ":"));
    }
  }
}

TEST_P(LinkTest, EmptyAndLargestMessages) {
  Connect();
  ASSERT_TRUE(link_->Send({}, {}).ok());
  EXPECT_EQ(accepted_->AwaitMessage(), "");
  std::string large(options_.max_message, 'a');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7);
  ASSERT_TRUE(link_->Send(Bytes(large), {}).ok());
  EXPECT_EQ(accepted_->AwaitMessage(), large);
  EXPECT_TRUE(absl::IsInvalidArgument(link_->Send(Bytes(large), Bytes("x"))));
  ASSERT_TRUE(link_->Send(Bytes("still works"), {}).ok());
  EXPECT_EQ(accepted_->AwaitMessage(), "still works");
}

// A receiver that is slow: its handler blocks.
class Slow : public LinkHandler {
 public:
  void OnMessage(absl::Span<const std::byte>) override {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&go_));
    ++received_;
  }
  void OnClosed(const absl::Status&) override {}
  void Go() {
    absl::MutexLock lock(&mutex_);
    go_ = true;
  }
  void Await(int count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [this, count] {
      mutex_.AssertReaderHeld();
      return received_ == count;
    };
    mutex_.Await(absl::Condition(&enough));
  }

 private:
  absl::Mutex mutex_;
  bool go_ = false;
  int received_ = 0;
};

TEST_P(LinkTest, CreditsRunOutAndComeBack) {
  auto slow = std::make_shared<Slow>();
  auto listener = server_->Listen(
      AnyAddress(), [slow](std::shared_ptr<Link>) { return slow; });
  ASSERT_TRUE(listener.ok());
  auto link = client_->Connect((*listener)->address(), connector_);
  ASSERT_TRUE(link.ok());
  connector_->AwaitConnected();
  const std::string message(100000, 'm');
  int sent = 0;
  absl::Status status;
  while ((status = (*link)->Send(Bytes(message), {})).ok()) {
    ASSERT_LT(++sent, 100000);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(connector_->writable(), 0);
  slow->Go();
  connector_->AwaitWritable(1);
  ASSERT_TRUE((*link)->Send(Bytes(message), {}).ok());
  slow->Await(sent + 1);
}

TEST_P(LinkTest, ClosingEitherSideTellsBoth) {
  Connect();
  link_->Close();
  EXPECT_TRUE(absl::IsCancelled(connector_->AwaitClosed()));
  EXPECT_TRUE(absl::IsUnavailable(accepted_->AwaitClosed()));
  EXPECT_TRUE(absl::IsUnavailable(link_->Send(Bytes("x"), {})));
  EXPECT_TRUE(absl::IsUnavailable(accepted_link_->Send(Bytes("x"), {})));
  link_->Close();  // nothing more happens

  connector_ = std::make_shared<Recorder>();
  {
    absl::MutexLock lock(&mutex_);
    accepted_ = nullptr;
  }
  Connect();
  accepted_link_->Close();
  EXPECT_TRUE(absl::IsCancelled(accepted_->AwaitClosed()));
  EXPECT_TRUE(absl::IsUnavailable(connector_->AwaitClosed()));
}

TEST_P(LinkTest, ATransportThatEndsClosesItsLinks) {
  Connect();
  client_.reset();
  EXPECT_TRUE(absl::IsCancelled(connector_->AwaitClosed()));
  EXPECT_TRUE(absl::IsUnavailable(accepted_->AwaitClosed()));
  EXPECT_FALSE(link_->Send(Bytes("x"), {}).ok());
}

TEST_P(LinkTest, NobodyThereOrRefused) {
  const std::string address = listener_->address();
  {
    absl::MutexLock lock(&mutex_);
    refuse_ = true;
  }
  ASSERT_TRUE(client_->Connect(address, connector_).ok());
  EXPECT_FALSE(connector_->AwaitClosed().ok());
  listener_.reset();
  auto gone = std::make_shared<Recorder>();
  ASSERT_TRUE(client_->Connect(address, gone).ok());
  EXPECT_TRUE(absl::IsUnavailable(gone->AwaitClosed()));
}

TEST_P(LinkTest, AnAddressIsOnePortsOnly) {
  const auto accept = [](std::shared_ptr<Link>) {
    return std::make_shared<Recorder>();
  };
  EXPECT_TRUE(absl::IsAlreadyExists(
      client_->Listen(listener_->address(), accept).status()));
  if (GetParam() == "tcp") {
    for (const char* bad :
         {"", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999"}) {
      EXPECT_TRUE(
          absl::IsInvalidArgument(client_->Listen(bad, accept).status()))
          << bad;
    }
  }
}

// Strangers that connect and send rubbish do not disturb anyone.
TEST_P(LinkTest, RubbishIsTurnedAway) {
  std::vector<int> strangers;
  for (int i = 0; i < 20; ++i) {
    int fd;
    if (GetParam() == "tcp") {
      const std::string& address = listener_->address();
      fd = socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port =
          htons(std::atoi(address.substr(address.rfind(':') + 1).c_str()));
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    } else {
      fd = socket(AF_UNIX, SOCK_STREAM, 0);
      sockaddr_un to{};
      to.sun_family = AF_UNIX;
      std::string path = listener_->address();
      if (path[0] != '/') path = options_.shm_directory + "/" + path;
      std::strncpy(to.sun_path, path.c_str(), sizeof(to.sun_path) - 1);
      if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) {
        close(fd);  // not a stream socket: nothing to send rubbish over
        continue;
      }
    }
    const std::string rubbish(1 + i * 97, static_cast<char>(i * 13));
    (void)!send(fd, rubbish.data(), rubbish.size(), MSG_NOSIGNAL);
    strangers.push_back(fd);
  }
  Connect();
  ASSERT_TRUE(link_->Send(Bytes("hello"), {}).ok());
  EXPECT_EQ(accepted_->AwaitMessage(), "hello");
  for (int fd : strangers) close(fd);
}

INSTANTIATE_TEST_SUITE_P(Transports, LinkTest, ::testing::Values("tcp", "shm"),
                         [](const auto& info) { return info.param; });

TEST(MakeTransportTest, RefusesWhatItDoesNotKnow) {
  EXPECT_TRUE(absl::IsInvalidArgument(MakeTransport("udp", {}).status()));
  TransportOptions options;
  options.send_buffer = 100;
  EXPECT_TRUE(absl::IsInvalidArgument(MakeTransport("tcp", options).status()));
}

}  // namespace
}  // namespace kamino::transport
