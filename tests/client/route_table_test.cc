// Which connection a call takes, and when a node is dialed.
#include "client/session/route_table.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "client/lane_pool.h"
#include "client/session/connection.h"
#include "client/session/session.h"
#include "client/session/wire.h"
#include "gtest/gtest.h"
#include "kamino/v1/session.pb.h"
#include "proto/session_frame.h"

namespace kamino::client {
namespace {

// A wire without a node, which ends when it is closed.
class LooseWire final : public Wire {
 public:
  explicit LooseWire(std::shared_ptr<WireHandler> handler)
      : handler_(std::move(handler)) {}
  void Send(std::string) override {}
  void Close() override {
    if (auto handler = std::exchange(handler_, nullptr); handler != nullptr) {
      handler->OnWireClosed(absl::CancelledError("closed"));
    }
  }

 private:
  std::shared_ptr<WireHandler> handler_;
};

class RouteTableTest : public ::testing::Test {
 protected:
  ~RouteTableTest() override {
    for (const auto& connection : opened_) connection->Close();
  }

  // An open connection of the session `id`; 0: of none.
  std::shared_ptr<Connection> Open(uint64_t id) {
    std::shared_ptr<WireHandler> node;
    auto connection = Connection::Open(
        {},
        [&node](std::shared_ptr<WireHandler> handler) {
          node = handler;
          return std::make_shared<LooseWire>(std::move(handler));
        },
        MonotonicNow, [](const auto&, const auto&) {});
    kamino::v1::SessionWelcome welcome;
    if (id != 0) welcome.mutable_session()->set_id(id);
    node->OnFrame(session::MakeFrame(session::FrameKind::kWelcome,
                                     welcome.SerializeAsString()));
    opened_.push_back(connection);
    return connection;
  }
  std::shared_ptr<Connection> OpenOfSession() {
    return Open(session_.name().id());
  }
  void Connect(const RouteTable::Key& key,
               std::shared_ptr<Connection> connection) {
    routes_.BeginDial(key);
    routes_.EndDial(key, std::move(connection), now_);
  }

  static constexpr int kWorth = 3;
  const RouteTable::Key read_{"a:1", /*mutates=*/false};
  const RouteTable::Key write_{"a:1", /*mutates=*/true};
  absl::Time now_ = absl::UnixEpoch();
  LanePool lanes_;
  Session session_{{}, &lanes_};
  RouteTable routes_{kWorth, &session_};
  std::vector<std::shared_ptr<Connection>> opened_;
};

TEST_F(RouteTableTest, ABusyNodeIsDialedOnce) {
  for (int i = 1; i < kWorth; ++i) {
    routes_.CountCall(read_);
    EXPECT_FALSE(routes_.WantsDial(read_, now_));
  }
  routes_.CountCall(read_);
  EXPECT_TRUE(routes_.WantsDial(read_, now_));
  EXPECT_FALSE(routes_.WantsDial(write_, now_)) << "that is another route";
  routes_.BeginDial(read_);
  EXPECT_FALSE(routes_.WantsDial(read_, now_));
}

TEST_F(RouteTableTest, AMutationOfTheSessionNeedsAConnectionAtOnce) {
  routes_.CountSession(write_);
  EXPECT_TRUE(routes_.WantsDial(write_, now_));
}

TEST_F(RouteTableTest, AFailureDelaysTheNextAttempt) {
  routes_.CountSession(read_);
  Connect(read_, nullptr);
  EXPECT_EQ(routes_.Find(read_), nullptr);
  EXPECT_FALSE(routes_.WantsDial(read_, now_));
  EXPECT_TRUE(routes_.WantsDial(read_, now_ + absl::Seconds(2)));
}

TEST_F(RouteTableTest, CallsUseTheConnectionUntilItEnds) {
  const auto connection = Open(0);
  Connect(read_, connection);
  EXPECT_EQ(routes_.Find(read_), connection);
  EXPECT_EQ(routes_.Find(write_), nullptr);
  connection->Close();
  EXPECT_EQ(routes_.Find(read_), nullptr);
  EXPECT_EQ(routes_.All().size(), 1u) << "it is retired";
  routes_.Sweep();
  EXPECT_TRUE(routes_.All().empty());
}

TEST_F(RouteTableTest, MutationsUseTheCurrentSessionsConnectionOnly) {
  const auto connection = OpenOfSession();
  Connect(write_, connection);
  EXPECT_EQ(routes_.Find(write_), connection);
  session_.OnExpired(session_.name().id());
  EXPECT_EQ(routes_.Find(write_), nullptr);
  EXPECT_FALSE(connection->ended()) << "its requests are still answered";
}

TEST_F(RouteTableTest, ALateConnectionOfAnEndedSessionIsRetired) {
  const auto connection = OpenOfSession();
  session_.OnExpired(session_.name().id());
  Connect(write_, connection);
  EXPECT_EQ(routes_.Find(write_), nullptr);
  routes_.Sweep();
  EXPECT_TRUE(connection->ended()) << "it is idle";
}

TEST_F(RouteTableTest, AnEndedSessionKeepsTheConnectionsForReads) {
  const auto of_reads = Open(0);
  const auto of_session = OpenOfSession();
  Connect(read_, of_reads);
  Connect(write_, of_session);
  routes_.RetireForMutations();
  EXPECT_EQ(routes_.Find(read_), of_reads);
  EXPECT_EQ(routes_.Find(write_), nullptr);
}

TEST_F(RouteTableTest, TheHeadsConnectionIsPreferredForMutations) {
  const RouteTable::Key other{"b:1", /*mutates=*/true};
  EXPECT_EQ(routes_.FindForMutations("b:1"), nullptr);
  const auto to_a = OpenOfSession();
  const auto to_b = OpenOfSession();
  Connect(read_, Open(0));
  Connect(write_, to_a);
  Connect(other, to_b);
  EXPECT_EQ(routes_.FindForMutations("a:1"), to_a);
  EXPECT_EQ(routes_.FindForMutations("b:1"), to_b);
  EXPECT_NE(routes_.FindForMutations("c:1"), nullptr) << "the next best";
}

}  // namespace
}  // namespace kamino::client
