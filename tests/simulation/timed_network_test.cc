// Faults of the simulator's links, in addition to the contract of all links
// (tests/transport/link_test.cc, "sim").
#include "tests/simulation/timed_network.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::simulation {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using transport::Link;
using transport::LinkHandler;

constexpr absl::Duration kLong = absl::Seconds(10);

absl::Span<const std::byte> Bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

struct Recorder final : public LinkHandler {
  void OnConnected(const std::shared_ptr<Link>&) override { connected = true; }
  void OnMessage(absl::Span<const std::byte> message) override {
    messages.emplace_back(reinterpret_cast<const char*>(message.data()),
                          message.size());
  }
  void OnClosed(const absl::Status& status) override { why = status; }

  bool connected = false;
  std::vector<std::string> messages;
  absl::Status why;
};

struct Endpoint final : public Process {
  Endpoint(World* world, std::string name) : Process(world, std::move(name)) {
    Begin();
  }
  using Process::End;
};

class TimedNetworkTest : public ::testing::Test {
 protected:
  TimedNetworkTest() {
    listener_ = *to_b_->Listen("b", [this](std::shared_ptr<Link> link) {
      back_ = std::move(link);
      return accepted_;
    });
    link_ = *to_a_->Connect("b", connector_);
  }

  void Pass(absl::Duration time = kLong) {
    world_.RunUntil(world_.now() + time);
  }

  World world_{/*seed=*/1, /*trace=*/nullptr};
  TimedNetwork network_{&world_};
  Endpoint a_{&world_, "a"};
  Endpoint b_{&world_, "b"};
  std::shared_ptr<Recorder> accepted_ = std::make_shared<Recorder>();
  std::shared_ptr<Recorder> connector_ = std::make_shared<Recorder>();
  std::unique_ptr<transport::Transport> to_a_ =
      *network_.Transports(&a_, {.name = "tcp"}).Make({});
  std::unique_ptr<transport::Transport> to_b_ =
      *network_.Transports(&b_, {.name = "tcp"}).Make({});
  std::unique_ptr<transport::Listener> listener_;
  std::shared_ptr<Link> link_;
  std::shared_ptr<Link> back_;
};

TEST_F(TimedNetworkTest, MessagesArriveOnlyInEvents) {
  EXPECT_FALSE(connector_->connected);
  Pass();
  EXPECT_TRUE(connector_->connected);
  ASSERT_TRUE(link_->Send(Bytes("1"), Bytes("2")).ok());
  ASSERT_TRUE(link_->Send(Bytes("3"), {}).ok());
  EXPECT_THAT(accepted_->messages, IsEmpty());
  Pass();
  EXPECT_THAT(accepted_->messages, ElementsAre("12", "3"));
}

TEST_F(TimedNetworkTest, ACutDelaysMessagesAndFinallyBreaksTheLink) {
  Pass();
  network_.Cut("a", "b");
  ASSERT_TRUE(link_->Send(Bytes("held"), {}).ok());
  ASSERT_TRUE(back_->Send(Bytes("the other way"), {}).ok());
  Pass(absl::Milliseconds(50));
  EXPECT_THAT(accepted_->messages, IsEmpty());
  EXPECT_THAT(connector_->messages, ElementsAre("the other way"));
  network_.Heal("a", "b");
  Pass();
  EXPECT_THAT(accepted_->messages, ElementsAre("held"));
  EXPECT_TRUE(connector_->why.ok());
  network_.Cut("a", "b");
  ASSERT_TRUE(link_->Send(Bytes("lost"), {}).ok());
  Pass();
  EXPECT_THAT(accepted_->messages, ElementsAre("held"));
  EXPECT_TRUE(absl::IsUnavailable(accepted_->why));
  EXPECT_TRUE(absl::IsUnavailable(connector_->why));
}

TEST_F(TimedNetworkTest, ABrokenLinkLosesMessagesInFlight) {
  Pass();
  ASSERT_TRUE(link_->Send(Bytes("lost"), {}).ok());
  network_.BreakLinks(100);
  Pass();
  EXPECT_THAT(accepted_->messages, IsEmpty());
  EXPECT_TRUE(absl::IsUnavailable(accepted_->why));
  EXPECT_TRUE(absl::IsUnavailable(connector_->why));
}

// Calls that it still makes, in the middle of some work, have no effect.
TEST_F(TimedNetworkTest, ADeadProcessSendsAndReceivesNothing) {
  Pass();
  network_.Died(&b_);
  b_.End();
  EXPECT_TRUE(absl::IsUnavailable(back_->Send(Bytes("late"), {})));
  back_->Close();
  EXPECT_FALSE(to_b_->Connect("b", accepted_).ok());
  (void)link_->Send(Bytes("to nobody"), {});
  Pass();
  EXPECT_THAT(connector_->messages, IsEmpty());
  EXPECT_TRUE(absl::IsUnavailable(connector_->why));
  EXPECT_THAT(accepted_->messages, IsEmpty());
  EXPECT_TRUE(accepted_->why.ok());
  auto again = std::make_shared<Recorder>();
  ASSERT_TRUE(to_a_->Connect("b", again).ok());
  Pass();
  EXPECT_TRUE(absl::IsUnavailable(again->why));
}

// The kernel accepts for it, and keeps the bytes that arrive.
TEST_F(TimedNetworkTest, APausedProcessReceivesEverythingWhenItResumes) {
  b_.Pause(kLong);
  Pass(kLong / 2);
  EXPECT_TRUE(connector_->connected);
  EXPECT_EQ(back_, nullptr);
  ASSERT_TRUE(link_->Send(Bytes("kept"), {}).ok());
  Pass();
  EXPECT_NE(back_, nullptr);
  EXPECT_THAT(accepted_->messages, ElementsAre("kept"));
}

TEST_F(TimedNetworkTest, AFilterChangesAndDropsMessages) {
  Pass();
  uint64_t link = 0;
  network_.SetFilter([&link](const TimedNetwork::Passing& passing) {
    link = passing.link;
    *passing.bytes += "!";
    return *passing.bytes != "lost!";
  });
  ASSERT_TRUE(link_->Send(Bytes("changed"), {}).ok());
  EXPECT_EQ(link, 2u);  // the first that b accepted
  ASSERT_TRUE(link_->Send(Bytes("lost"), {}).ok());
  ASSERT_TRUE(back_->Send(Bytes("back"), {}).ok());
  EXPECT_EQ(link, 1u);  // the first that a opened
  Pass();
  EXPECT_THAT(accepted_->messages, ElementsAre("changed!"));
}

TEST_F(TimedNetworkTest, AForbiddenTransportIsNeverEstablished) {
  network_.Forbid("tcp", "b");
  Pass();
  EXPECT_FALSE(connector_->connected);
  EXPECT_TRUE(absl::IsUnavailable(connector_->why));
}

}  // namespace
}  // namespace kamino::simulation
