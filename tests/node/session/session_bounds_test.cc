// Limits of one connection of a node, with every carrier of its frames.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"
#include "proto/session_frame.h"
#include "tests/node/session/session_protocol_fixture.h"
#include "tests/patience.h"

namespace kamino::node {
namespace {

using session::Method;
using ::testing::HasSubstr;

// A carrier that counts how often it is looked at.
class CountingCarrier final : public SessionCarrier {
 public:
  explicit CountingCarrier(std::shared_ptr<int> looks)
      : looks_(std::move(looks)) {}
  void Send(std::string) override {}
  size_t unsent() const override {
    ++*looks_;
    return 0;
  }
  void Close() override {}
  void Abort() override {}
  std::string peer() const override { return "test"; }

 private:
  const std::shared_ptr<int> looks_;
};

SessionServerOptions TightOptions() {
  SessionServerOptions options;
  options.limits.max_requests = 4;
  options.limits.max_unsent_bytes = 4096;
  options.limits.max_silence = Patience(absl::Seconds(1));
  return options;
}

// It would take longer than the ticks are apart.
TEST_F(SessionProtocolTest, ATickChecksAFewOfManyConnections) {
  constexpr int kMany = 2000;
  std::vector<std::shared_ptr<int>> looks;
  int most = 0;
  absl::Notification done;
  node_->Run([&](ChainNode&) {
    for (int i = 0; i < kMany; ++i) {
      looks.push_back(std::make_shared<int>(0));
      sessions_->Open(sessions_->NewId(),
                      std::make_unique<CountingCarrier>(looks.back()));
    }
    const auto sum = [&] {
      int all = 0;
      for (const auto& each : looks) all += *each;
      return all;
    };
    for (int tick = 0; tick < 20; ++tick) {
      const int before = sum();
      sessions_->OnTick(node_->Now());
      most = std::max(most, sum() - before);
    }
    done.Notify();
  });
  done.WaitForNotification();
  EXPECT_LE(most, kMany / 10);
  for (int i = 0; i < kMany; ++i) EXPECT_GE(*looks[i], 1) << i;
}

class BoundedSessionTest : public SessionProtocolTest {
 protected:
  BoundedSessionTest() : SessionProtocolTest(TightOptions()) {}
};

TEST_F(BoundedSessionTest, AClientWithoutHelloIsDisconnected) {
  EXPECT_THAT(AwaitGoodbye().message, HasSubstr("no hello"));
}

TEST_F(BoundedSessionTest, AClientThatTakesNoAnswersIsShedAndDisconnected) {
  ASSERT_TRUE(NodeServerTest::Put("big", std::string(3000, 'x'), 1).ok());
  Connect();
  SendHello(0);
  AwaitWelcome();
  peer_->TakeNothing();
  kamino::v1::GetRequest get;
  get.set_key("big");
  const std::string body = get.SerializeAsString();
  for (uint32_t tag = 1; tag <= 20; ++tag) {
    SendFrame(Requests({{tag, Method::kGet, 0, 0, body}}));
  }
  peer_->AwaitClosed();
  // Two answers, then words of refusal.
  EXPECT_LT(peer_->untaken(), size_t{20000});
}

// Large frames may come slowly, but they come.
TEST_F(SessionProtocolTest, AClientThatStopsWithinAFrameIsDisconnected) {
  constexpr size_t kMuch = 64 << 10;
  SendHello(0);
  AwaitWelcome();
  OnCore([&] {
    for (int i = 1; i <= 20; ++i) {
      peer_->SetUnfinished(i * kMuch);
      LookAtAll(absl::Seconds(4) * i);
      EXPECT_FALSE(peer_->closed());
    }
    peer_->SetUnfinished(21 * kMuch - 1);
    LookAtAll(absl::Seconds(84));
    EXPECT_FALSE(peer_->closed());
    LookAtAll(absl::Seconds(86));
    EXPECT_TRUE(peer_->closed());
  });
}

SessionServerOptions ScarceOptions() {
  SessionServerOptions options;
  options.limits.max_all_held_bytes = 1 << 20;
  return options;
}

class ScarceSessionTest : public SessionProtocolTest {
 protected:
  ScarceSessionTest() : SessionProtocolTest(ScarceOptions()) {}

  std::shared_ptr<Peer> Greeted() {
    Connect();
    SendHello(0);
    AwaitWelcome();
    return peer_;
  }
};

TEST_F(ScarceSessionTest, TheSlowestClientIsDisconnectedUnderPressure) {
  const auto fast = Greeted();
  const auto slow = Greeted();
  const auto half = Greeted();
  OnCore([&] {
    for (int i = 0; i < 20; ++i) {
      fast->SetUntaken(900 << 10);
      LookAtAll();
      fast->SetUntaken(0);
      LookAtAll();
    }
    fast->SetUntaken(600 << 10);
    slow->SetUntaken(300 << 10);
    half->SetUnfinished(100 << 10);
    LookAtAll();
    EXPECT_FALSE(slow->closed());
    slow->SetUntaken(500 << 10);
    LookAtAll();
    EXPECT_TRUE(slow->closed());
    EXPECT_FALSE(fast->closed());
    EXPECT_FALSE(half->closed());
  });
}

// Frames that have not come whole count as well.
TEST_F(ScarceSessionTest,
       AClientWithAnUnfinishedFrameIsDisconnectedUnderPressure) {
  const auto one = Greeted();
  const auto other = Greeted();
  OnCore([&] {
    one->SetUnfinished(500 << 10);
    other->SetUntaken(100 << 10);
    LookAtAll();
    EXPECT_FALSE(one->closed());
    one->SetUnfinished(1000 << 10);
    LookAtAll();
    EXPECT_TRUE(one->closed());
    EXPECT_FALSE(other->closed());
  });
}

class MuchFreedTest : public SessionProtocolTest {
 protected:
  MuchFreedTest() : SessionProtocolTest(CountingOptions()) {}

  static inline int freed_ = 0;  // the core thread's

 private:
  static SessionServerOptions CountingOptions() {
    freed_ = 0;
    SessionServerOptions options;
    options.on_much_freed = [] { ++freed_; };
    return options;
  }
};

TEST_F(MuchFreedTest, TheAllocatorIsNotifiedWhenMuchIsFreed) {
  SendHello(0);
  AwaitWelcome();
  OnCore([&] {
    const auto hold = [&](size_t mib) {
      peer_->SetUntaken(mib << 20);
      LookAtAll();
      return freed_;
    };
    EXPECT_EQ(hold(100), 0);
    EXPECT_EQ(hold(50), 0);
    EXPECT_EQ(hold(0), 1);
    EXPECT_EQ(hold(100), 1);
    EXPECT_EQ(hold(0), 1);  // not so soon again
    LookAtAll(absl::Seconds(4));
    EXPECT_EQ(freed_, 2);
  });
}

}  // namespace
}  // namespace kamino::node
