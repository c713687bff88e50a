#include "transport/loop/accept_gate.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace kamino::transport {
namespace {

class Events final : public ListenerEvents {
 public:
  void OnHalfOpen(int change) override { half_open += change; }
  void OnEstablished(absl::Duration took) override {
    ++established;
    longest = std::max(longest, took);
  }
  void OnRefused(LinkRefusal why) override { ++refused[why]; }

  int half_open = 0;
  int established = 0;
  absl::Duration longest;
  std::map<LinkRefusal, int> refused;
};

class AcceptGateTest : public ::testing::Test {
 protected:
  AcceptGateTest() { options_.events = events_; }

  // The gate only tells links apart.
  LoopLink* NewLink() {
    return reinterpret_cast<LoopLink*>(static_cast<uintptr_t>(++links_));
  }
  LoopLink* Come(const std::string& host) {
    EXPECT_FALSE(gate_.MayCome(host, now_).has_value()) << host;
    LoopLink* const link = NewLink();
    gate_.Came(link, host, now_);
    return link;
  }
  std::optional<LinkRefusal> WhyNot(const std::string& host) {
    const auto refused = gate_.MayCome(host, now_);
    if (!refused.has_value()) return std::nullopt;
    return refused->why;
  }
  std::optional<LinkRefusal> Open(LoopLink* link,
                                  const std::string& identity = "") {
    const auto refused = gate_.Open(link, identity, now_);
    if (!refused.has_value()) return std::nullopt;
    return refused->why;
  }

  const std::shared_ptr<Events> events_ = std::make_shared<Events>();
  TransportOptions options_;
  AcceptGate gate_{options_, nullptr};
  absl::Time now_ = absl::UnixEpoch();
  int links_ = 0;
};

TEST_F(AcceptGateTest, HandshakesPerAddressAreBounded) {
  options_.max_half_open_of_address = 2;
  LoopLink* const first = Come("a");
  Come("a");
  EXPECT_EQ(WhyNot("a"), LinkRefusal::kHalfOpen);
  EXPECT_EQ(WhyNot("b"), std::nullopt);
  EXPECT_EQ(Open(first), std::nullopt);
  EXPECT_EQ(WhyNot("a"), std::nullopt);
  EXPECT_EQ(events_->half_open, 1);
}

// Where nothing tells hosts apart, as on one machine.
TEST_F(AcceptGateTest, AnEmptyAddressHasNoBounds) {
  options_.max_half_open_of_address = 1;
  options_.max_of_address = 1;
  Come("");
  Come("");
  EXPECT_EQ(WhyNot(""), std::nullopt);
}

// A stranger that holds all places, from many addresses, does not keep others
// out: the oldest of those that have most gives way.
TEST_F(AcceptGateTest, TheOldestHandshakeOfTheBusiestAddressIsClosed) {
  options_.max_half_open = 4;
  Come("a");
  LoopLink* const greedy = Come("b");
  Come("b");
  EXPECT_EQ(gate_.InTheWay(), nullptr);
  Come("c");
  EXPECT_EQ(gate_.InTheWay(), greedy);
  gate_.Left(greedy, now_);
  EXPECT_EQ(gate_.InTheWay(), nullptr);
}

TEST_F(AcceptGateTest, AmongEqualAddressesTheOldestHandshakeIsClosed) {
  options_.max_half_open = 2;
  LoopLink* const oldest = Come("a");
  Come("b");
  EXPECT_EQ(gate_.InTheWay(), oldest);
}

TEST_F(AcceptGateTest, HandshakesDoNotCountAsLinks) {
  options_.max_accepted = 2;
  LoopLink* const first = Come("a");
  LoopLink* const second = Come("b");
  LoopLink* const third = Come("c");
  EXPECT_EQ(Open(first), std::nullopt);
  EXPECT_EQ(Open(second), std::nullopt);
  EXPECT_EQ(Open(third), LinkRefusal::kTooMany);
  EXPECT_EQ(WhyNot("d"), LinkRefusal::kTooMany);
  gate_.Left(first, now_);
  EXPECT_EQ(Open(third), std::nullopt);
}

TEST_F(AcceptGateTest, LinksPerAddressAreBounded) {
  options_.max_of_address = 2;
  LoopLink* const first = Come("a");
  EXPECT_EQ(Open(first), std::nullopt);
  Come("a");
  EXPECT_EQ(WhyNot("a"), LinkRefusal::kTooManyOfAddress);
  EXPECT_EQ(WhyNot("b"), std::nullopt);
  gate_.Left(first, now_);
  EXPECT_EQ(WhyNot("a"), std::nullopt);
}

TEST_F(AcceptGateTest, LinksPerIdentityAreBounded) {
  options_.max_of_identity = 1;
  LoopLink* const first = Come("a");
  LoopLink* const second = Come("b");
  EXPECT_EQ(Open(first, "x"), std::nullopt);
  EXPECT_EQ(Open(second, "x"), LinkRefusal::kTooManyOfIdentity);
  LoopLink* const other = Come("b");
  EXPECT_EQ(Open(other, "y"), std::nullopt);
  gate_.Left(first, now_);
  EXPECT_EQ(Open(second, "x"), std::nullopt);
}

// Each handshake takes the loop's time, however soon its link is gone again.
TEST_F(AcceptGateTest, TheConnectionRatePerAddressIsLimited) {
  options_.come_of_address = {10, 3};
  for (int i = 0; i < 3; ++i) gate_.Left(Come("a"), now_);
  EXPECT_EQ(WhyNot("a"), LinkRefusal::kTooOften);
  gate_.Left(Come("b"), now_);
  now_ += absl::Milliseconds(99);
  EXPECT_EQ(WhyNot("a"), LinkRefusal::kTooOften);
  now_ += absl::Milliseconds(1);
  gate_.Left(Come("a"), now_);
  EXPECT_EQ(WhyNot("a"), LinkRefusal::kTooOften);
  // However long it was silent.
  now_ += absl::Hours(1);
  for (int i = 0; i < 3; ++i) gate_.Left(Come("a"), now_);
  EXPECT_EQ(WhyNot("a"), LinkRefusal::kTooOften);
}

// Many addresses cannot use up the limit; an address that had a link is let in.
TEST_F(AcceptGateTest, TheConnectionRateOfStrangersIsLimited) {
  options_.come = {1, 4};
  options_.come_of_address = {10, 10};
  LoopLink* const neighbour = Come("neighbour");
  EXPECT_EQ(Open(neighbour, "n2"), std::nullopt);
  LoopLink* const caller = Come("caller");
  EXPECT_EQ(Open(caller, "n3"), std::nullopt);
  gate_.Left(caller, now_);
  gate_.Left(Come("a"), now_);
  gate_.Left(Come("b"), now_);
  EXPECT_EQ(WhyNot("c"), LinkRefusal::kTooOften);
  EXPECT_EQ(WhyNot("a"), LinkRefusal::kTooOften);
  for (int i = 0; i < 9; ++i) {
    gate_.Left(Come("neighbour"), now_);
    gate_.Left(Come("caller"), now_);
  }
  EXPECT_EQ(WhyNot("neighbour"), LinkRefusal::kTooOften);
  now_ += absl::Seconds(1);
  gate_.Left(Come("c"), now_);
  EXPECT_EQ(WhyNot("d"), LinkRefusal::kTooOften);
  EXPECT_EQ(WhyNot("caller"), std::nullopt);
  // It is not known for ever; one that has a link is.
  now_ += absl::Minutes(10);
  for (int i = 0; i < 4; ++i) gate_.Left(Come("d"), now_);
  EXPECT_EQ(WhyNot("caller"), LinkRefusal::kTooOften);
  EXPECT_EQ(WhyNot("neighbour"), std::nullopt);
}

TEST_F(AcceptGateTest, WithoutAddressesTheTotalConnectionRateIsLimited) {
  options_.come = {1, 2};
  options_.come_of_address = {1, 1};
  gate_.Left(Come(""), now_);
  gate_.Left(Come(""), now_);
  EXPECT_EQ(WhyNot(""), LinkRefusal::kTooOften);
}

TEST_F(AcceptGateTest, IdleAddressesAreForgotten) {
  options_.come_of_address = {10, 3};
  for (int i = 0; i < 10000; ++i) {
    now_ += absl::Milliseconds(10);
    gate_.Left(Come(std::to_string(i)), now_);
  }
  EXPECT_LT(gate_.hosts(), 200u);
}

// Where there is no bound nothing is kept.
TEST_F(AcceptGateTest, WithoutABoundAddressesAreForgottenAtOnce) {
  gate_.Left(Come("a"), now_);
  EXPECT_EQ(gate_.hosts(), 0u);
}

TEST_F(AcceptGateTest, EventsReportHandshakesAndRefusals) {
  LoopLink* const first = Come("a");
  LoopLink* const second = Come("a");
  EXPECT_EQ(events_->half_open, 2);
  now_ += absl::Milliseconds(3);
  EXPECT_EQ(Open(first), std::nullopt);
  EXPECT_EQ(events_->half_open, 1);
  EXPECT_EQ(events_->established, 1);
  EXPECT_EQ(events_->longest, absl::Milliseconds(3));
  gate_.TellRefusal("somebody", LinkRefusal::kTimeout, "it took too long");
  gate_.Left(second, now_);
  EXPECT_EQ(events_->half_open, 0);
  EXPECT_EQ(events_->refused[LinkRefusal::kTimeout], 1);
  gate_.Left(first, now_);
  EXPECT_EQ(gate_.all(), 0u);
}

}  // namespace
}  // namespace kamino::transport
