// Links over rings with peers that write arbitrarily into shared memory, also
// between two reads of it; the rest is in link_test.cc.
#include "transport/ring/ring_link.h"

#include <cstddef>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "transport/ring/ring.h"

namespace kamino::transport {
namespace {

constexpr size_t kRing = 1024;

struct Silent final : LinkHandler {
  void OnMessage(absl::Span<const std::byte>) override { ++messages; }
  void OnClosed(const absl::Status&) override {}
  int messages = 0;
};

// The part of the link below that a RingLink needs: no thread, no socket.
class Setup {
 public:
  Setup() { options_.max_message = 100; }
  virtual ~Setup() = default;
  virtual absl::Status Send(absl::Span<const std::byte> header,
                            absl::Span<const std::byte> payload) = 0;
  std::string peer() const { return "peer"; }
  void Fail(const absl::Status& status) {
    why = status;
    closing_ = true;
  }

  absl::Status why;
  Silent user;

 protected:
  const TransportOptions& options() const { return options_; }
  LinkHandler& handler() { return user; }
  bool closing() const { return closing_; }
  absl::Status CheckSendLocked(size_t) const { return absl::OkStatus(); }
  void BeginCloseLocked(const absl::Status& status) { Fail(status); }

  mutable absl::Mutex mu_;

 private:
  TransportOptions options_;
  bool closing_ = false;
};

class TestLink final : public RingLink<Setup> {
 public:
  TestLink() { StartRings(absl::MakeConstSpan(ring), 100); }
  using RingLink::PeerLeft;
  using RingLink::Poll;

  // The peer's input.
  std::vector<std::byte> ring = std::vector<std::byte>(kRing);
  uint64_t tail = 0;

 private:
  absl::Status Move(uint64_t, absl::Span<const std::byte>,
                    absl::Span<const std::byte>) override {
    return absl::OkStatus();
  }
  uint64_t Acknowledged() override { return 0; }
  absl::Status RequestCredits() override { return absl::OkStatus(); }
  uint64_t Published() override { return tail; }
  void Acknowledge(uint64_t, bool) override {}
  bool Arm() override { return Drained(); }
  void Disarm() override {}
};

class RingLinkTest : public ::testing::Test {
 protected:
  // Messages of no bytes.
  void Publish(int count) {
    for (int i = 0; i < count; ++i) {
      FillRecord(absl::MakeSpan(link_.ring), link_.tail, {}, {});
      link_.tail += RecordBytes(0);
    }
  }

  TestLink link_;
};

TEST_F(RingLinkTest, MessagesFromBeforeThePeerLeftAreDelivered) {
  Publish(3);
  link_.PeerLeft();
  EXPECT_TRUE(link_.Poll());
  EXPECT_EQ(link_.user.messages, 3);
  EXPECT_TRUE(absl::IsUnavailable(link_.why)) << link_.why;
}

// It would never have handed out what the peer once said there was.
TEST_F(RingLinkTest, APeerThatLeavesAndWithdrawsMessagesIsClosed) {
  Publish(2);
  EXPECT_TRUE(link_.Poll());
  const uint64_t seen = link_.tail;
  Publish(1);
  link_.PeerLeft();
  link_.tail = seen;
  EXPECT_TRUE(link_.Poll());
  EXPECT_EQ(link_.user.messages, 2);
  EXPECT_TRUE(absl::IsUnavailable(link_.why)) << link_.why;
}

// A turn hands out only so much: 64 messages.
TEST_F(RingLinkTest, MessagesOfAPeerThatLeftMayTakeSeveralPolls) {
  Publish(100);
  link_.PeerLeft();
  EXPECT_TRUE(link_.Poll());
  EXPECT_TRUE(link_.why.ok()) << link_.why;
  EXPECT_TRUE(link_.Poll());
  EXPECT_EQ(link_.user.messages, 100);
  EXPECT_TRUE(absl::IsUnavailable(link_.why)) << link_.why;
}

}  // namespace
}  // namespace kamino::transport
