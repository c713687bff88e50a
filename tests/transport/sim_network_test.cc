#include "transport/sim/sim_network.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::transport {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::Span<const std::byte> Bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

struct Recorder : public LinkHandler {
  void OnConnected(const std::shared_ptr<Link>&) override { connected = true; }
  void OnMessage(absl::Span<const std::byte> message) override {
    messages.emplace_back(reinterpret_cast<const char*>(message.data()),
                          message.size());
  }
  void OnWritable() override { ++writable; }
  void OnClosed(const absl::Status& status) override { why = status; }

  bool connected = false;
  int writable = 0;
  std::vector<std::string> messages;
  absl::Status why;
};

class SimNetworkTest : public ::testing::Test {
 protected:
  explicit SimNetworkTest(SimNetwork::Options options = {})
      : network_(options),
        a_(network_.NewTransport("a")),
        b_(network_.NewTransport("b")),
        listener_(*b_->Listen("b:1", [this](std::shared_ptr<Link> link) {
          accepted_link_ = std::move(link);
          return accepted_;
        })) {
    link_ = *a_->Connect("b:1", connector_);
  }

  SimNetwork network_;
  std::shared_ptr<Recorder> accepted_ = std::make_shared<Recorder>();
  std::shared_ptr<Recorder> connector_ = std::make_shared<Recorder>();
  std::shared_ptr<Link> accepted_link_;
  std::shared_ptr<Link> link_;
  std::unique_ptr<Transport> a_;
  std::unique_ptr<Transport> b_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(SimNetworkTest, NothingHappensButInSteps) {
  EXPECT_FALSE(connector_->connected);
  network_.RunUntilIdle();
  EXPECT_TRUE(connector_->connected);
  ASSERT_TRUE(link_->Send(Bytes("1"), Bytes("2")).ok());
  ASSERT_TRUE(link_->Send(Bytes("3"), {}).ok());
  EXPECT_THAT(accepted_->messages, IsEmpty());
  network_.RunUntilIdle();
  EXPECT_THAT(accepted_->messages, ElementsAre("12", "3"));
  EXPECT_FALSE(network_.Step());
}

TEST_F(SimNetworkTest, ACutHoldsBackAndABreakLoses) {
  network_.RunUntilIdle();
  network_.Cut("a", "b");
  ASSERT_TRUE(link_->Send(Bytes("held"), {}).ok());
  network_.RunUntilIdle();
  EXPECT_THAT(accepted_->messages, IsEmpty());
  network_.Heal("a", "b");
  network_.RunUntilIdle();
  EXPECT_THAT(accepted_->messages, ElementsAre("held"));
  ASSERT_TRUE(link_->Send(Bytes("lost"), {}).ok());
  network_.Break("a", "b");
  network_.RunUntilIdle();
  EXPECT_THAT(accepted_->messages, ElementsAre("held"));
  EXPECT_FALSE(accepted_->why.ok());
  EXPECT_FALSE(connector_->why.ok());
}

TEST_F(SimNetworkTest, AProcessThatDiesClosesItsLinks) {
  network_.RunUntilIdle();
  b_.reset();
  network_.RunUntilIdle();
  EXPECT_FALSE(connector_->why.ok());
  auto again = std::make_shared<Recorder>();
  ASSERT_TRUE(a_->Connect("b:1", again).ok());
  network_.RunUntilIdle();
  EXPECT_TRUE(absl::IsUnavailable(again->why)) << again->why;
}

class SmallSimNetworkTest : public SimNetworkTest {
 protected:
  static SimNetwork::Options Small() {
    SimNetwork::Options options;
    options.max_message = 100;
    options.credits = 250;
    return options;
  }
  SmallSimNetworkTest() : SimNetworkTest(Small()) {}
};

TEST_F(SmallSimNetworkTest, CreditsRunOutAndComeBack) {
  network_.RunUntilIdle();
  const std::string message(100, 'x');
  ASSERT_TRUE(link_->Send(Bytes(message), {}).ok());
  ASSERT_TRUE(link_->Send(Bytes(message), {}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(link_->Send(Bytes(message), {})));
  EXPECT_TRUE(absl::IsInvalidArgument(link_->Send(Bytes(message), Bytes("x"))));
  network_.RunUntilIdle();
  EXPECT_EQ(connector_->writable, 1);
  EXPECT_TRUE(link_->Send(Bytes(message), {}).ok());
}

}  // namespace
}  // namespace kamino::transport
