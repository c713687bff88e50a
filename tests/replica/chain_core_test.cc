// How one protocol core reacts to a view or a message by itself. Whole chains
// of nodes are in tests/node/driver/chain_test.cc.
#include "replica/core/chain_core.h"

#include <memory>
#include <string>
#include <vector>

#include "engine/pmem/sim_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/replica/no_copy.h"
#include "tests/replica/text_entry.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::ChainMessage;
using membership::Member;
using membership::Role;
using membership::View;
using ::testing::SizeIs;

constexpr LinkId kAccepted = 98;

// No test here gets as far as an execution.
class NoExecutor final : public Executor {
 public:
  absl::StatusOr<uint64_t> Execute(const LogEntry&) override {
    ADD_FAILURE() << "executed";
    return 0;
  }
  absl::StatusOr<uint64_t> Try(const LogEntry&) override { return 0; }
  absl::StatusOr<uint64_t> HashImage(const LogEntry&) override { return 0; }
  absl::StatusOr<absl::string_view> ImageOf(const engine::Intent&) override {
    return absl::string_view();
  }
  absl::Status ReadIntent(const engine::Intent&, std::string*) override {
    return absl::OkStatus();
  }
  absl::Status BeginRepair(const engine::WriteSet&, bool) override {
    return absl::OkStatus();
  }
  absl::Status RepairIntent(const engine::Intent&, absl::string_view,
                            RepairDirection) override {
    return absl::OkStatus();
  }
  void EndRepair(bool) override {}
};

class ChainCoreTest : public ::testing::Test {
 protected:
  ChainCoreTest()
      : region_(LogRing::kMinTinyBytes),
        ring_(*LogRing::Create(&region_, {}, LogRing::kMinTinyBytes)),
        record_(&region_) {
    record_.Create(NodeState());
  }

  // The node `id`, which learns of a first view.
  void Begin(const std::string& id, const std::vector<std::string>& members) {
    ChainOptions options;
    options.cluster_id = "c";
    options.node_id = id;
    options.incarnation = 1;
    core_ = std::make_unique<ChainCore>(
        options, ChainStorage{ring_.get(), &record_, &executor_, &copy_});
    Install(1, members);
  }

  void Install(uint64_t id, const std::vector<std::string>& members) {
    View view{"c", id, {}};
    for (const std::string& name : members) {
      view.members.emplace_back();
      view.members.back().node_id = name;
      view.members.back().incarnation = 1;
    }
    Actions actions;
    core_->OnView(view, now_, &actions);
    EXPECT_TRUE(actions.fatal.ok()) << actions.fatal;
  }

  Actions Receive(ChainMessage message, uint64_t chain_id = 1) {
    Actions actions;
    message.set_chain_id(chain_id);
    const std::string payload = message.has_append() ? TextEntry(1, "x") : "";
    core_->OnMessage(kAccepted, message, payload, now_, &actions);
    EXPECT_EQ(ring_->received(), 0u);
    return actions;
  }

  static ChainMessage Append(uint64_t view_id) {
    ChainMessage message;
    message.set_view_id(view_id);
    message.mutable_append();
    return message;
  }

  const std::vector<std::string> all_ = {"n1", "n2", "n3", "n4"};
  const absl::Time now_ = absl::UnixEpoch();
  engine::SimRegion region_;
  std::unique_ptr<LogRing> ring_;
  NodeRecord record_;
  NoExecutor executor_;
  NoCopy copy_;
  std::unique_ptr<ChainCore> core_;
};

TEST_F(ChainCoreTest, RolesFollowTheView) {
  Begin("n2", all_);
  EXPECT_EQ(core_->place().role(), Role::kMiddle);
  Install(2, {"n1", "n2"});
  EXPECT_EQ(core_->place().role(), Role::kTail);
  Install(3, {"n2", "n3", "n4"});
  EXPECT_EQ(core_->place().role(), Role::kHead);
  Install(4, {"n2"});
  EXPECT_TRUE(core_->place().is_head() && core_->place().is_tail());
  Install(5, {"n1", "n3"});
  EXPECT_EQ(core_->place().role(), Role::kOutside);
}

TEST_F(ChainCoreTest, AnOlderViewChangesNothing) {
  Begin("n2", all_);
  Install(3, {"n2", "n3", "n4"});
  Install(2, {"n1", "n2"});
  EXPECT_EQ(core_->view().id, 3u);
  EXPECT_EQ(core_->place().role(), Role::kHead);
}

TEST_F(ChainCoreTest, AViewOfAnotherChainEndsTheNodeAndChangesNothing) {
  Begin("n2", all_);
  View other = core_->view();
  other.id = 2;
  other.chain_id = 7;
  Actions actions;
  core_->OnView(other, now_, &actions);
  EXPECT_EQ(actions.fatal,
            absl::FailedPreconditionError(
                "was given a view of chain 7; this node is one of chain 1"));
  EXPECT_EQ(core_->view().id, 1u);
}

TEST_F(ChainCoreTest, AMessageOfAnOlderViewIsRejectedAndChangesNothing) {
  Begin("n3", all_);
  Install(2, {"n1", "n3", "n4"});
  const Actions actions = Receive(Append(/*view_id=*/1));
  ASSERT_THAT(actions.send, SizeIs(1));
  EXPECT_TRUE(actions.send[0].message.has_reject());
  EXPECT_EQ(actions.send[0].message.view_id(), 2u);
}

TEST_F(ChainCoreTest, AMessageOfANewerViewMakesTheNodeFetchIt) {
  Begin("n3", all_);
  EXPECT_TRUE(Receive(Append(/*view_id=*/2)).fetch_view);
}

TEST_F(ChainCoreTest, AMessageOfAnotherChainIsIgnored) {
  Begin("n3", all_);
  for (const uint64_t chain_id : {0, 2}) {
    const Actions actions = Receive(Append(/*view_id=*/2), chain_id);
    EXPECT_THAT(actions.send, SizeIs(0));
    EXPECT_FALSE(actions.fetch_view);
  }
  EXPECT_EQ(core_->turned_down().malformed, 2u);
}

TEST_F(ChainCoreTest, OnlyTheNeighbourIsTakenAsPredecessor) {
  Begin("n3", all_);
  ChainMessage hello;
  hello.set_view_id(1);
  hello.mutable_hello()->set_cluster_id("c");
  hello.mutable_hello()->set_purpose(kamino::internal::v1::LINK_PURPOSE_APPEND);
  for (const char* stranger : {"n1", "n4", "x"}) {
    hello.mutable_hello()->set_node_id(stranger);
    const Actions actions = Receive(hello);
    ASSERT_THAT(actions.send, SizeIs(1)) << stranger;
    EXPECT_TRUE(actions.send[0].message.has_reject()) << stranger;
  }
  hello.mutable_hello()->set_node_id("n2");
  hello.mutable_hello()->set_cluster_id("other");
  EXPECT_TRUE(Receive(hello).send[0].message.has_reject());
}

// Dials to neighbours that reach this node itself.
class SelfDialTest : public ChainCoreTest {
 protected:
  SelfDialTest() { Begin("n1", {"n1", "n2"}); }

  void Tick(absl::Duration later) {
    at_ += later;
    Note([this](Actions* actions) { core_->OnTick(at_, actions); });
  }
  // The link opened last is established, and leads to this node.
  void MeetItself() {
    ASSERT_FALSE(open_.empty());
    Note([this](Actions* actions) {
      core_->OnLinkOpened(open_.back().link, at_, actions);
    });
    ASSERT_TRUE(said_.has_hello());
    const ChainMessage hello = said_;
    said_.Clear();
    Note([&](Actions* actions) {
      core_->OnMessage(kAccepted, hello, "", at_, actions);
    });
    if (!said_.has_reject()) return;
    const ChainMessage reject = said_;
    Note([&](Actions* actions) {
      core_->OnMessage(open_.back().link, reject, "", at_, actions);
    });
  }
  size_t DialsInAMinute() {
    const size_t before = open_.size();
    size_t met = before;
    for (int i = 0; i < 60 * 200; ++i) {
      Tick(absl::Milliseconds(5));
      if (open_.size() == met) continue;
      met = open_.size();
      MeetItself();
    }
    return met - before;
  }

  absl::Time at_ = now_;
  std::vector<Actions::Open> open_;
  std::vector<LinkId> closed_;
  ChainMessage said_;

 private:
  template <typename Input>
  void Note(Input input) {
    Actions actions;
    input(&actions);
    open_.insert(open_.end(), actions.open.begin(), actions.open.end());
    closed_.insert(closed_.end(), actions.close.begin(), actions.close.end());
    if (!actions.send.empty()) said_ = actions.send.back().message;
  }
};

TEST_F(SelfDialTest, ASelfDialIsFollowedByFewOthers) {
  EXPECT_LT(DialsInAMinute(), 10);
  // Both ends are gone, so that listeners have room.
  EXPECT_THAT(closed_, ::testing::Contains(kAccepted));
  Install(2, {"n1", "n2"});  // where n2 may be elsewhere
  const faults::Planted planted("chain-dials-itself-without-end");
  EXPECT_GT(DialsInAMinute(), 1000);
}

TEST_F(SelfDialTest, TimeWithoutAnyLinkIsCounted) {
  EXPECT_EQ(core_->link_table().never_linked(), absl::ZeroDuration());
  Tick(absl::Seconds(7));
  EXPECT_EQ(core_->link_table().never_linked(), absl::Seconds(7));
  Install(2, {"n1"});
  Tick(absl::Seconds(1));
  EXPECT_EQ(core_->link_table().never_linked(), absl::ZeroDuration());
}

// Another process with this node's name sends the hello.
TEST_F(SelfDialTest, AnotherProcessWithItsNameIsRejected) {
  Tick(absl::Milliseconds(100));
  ChainMessage hello;
  hello.set_view_id(1);
  hello.mutable_hello()->set_cluster_id("c");
  hello.mutable_hello()->set_node_id("n1");
  hello.mutable_hello()->set_incarnation(2);
  hello.mutable_hello()->set_purpose(kamino::internal::v1::LINK_PURPOSE_APPEND);
  const Actions actions = Receive(hello);
  ASSERT_THAT(actions.send, SizeIs(1));
  EXPECT_TRUE(actions.send[0].message.has_reject());
  EXPECT_THAT(actions.close, SizeIs(0));
}

}  // namespace
}  // namespace kamino::replica
