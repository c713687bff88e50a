// The protocol core driven by messages: nodes whose actions a small network in
// this file carries out, one at a time, in whatever order the test chooses.
#include "replica/chain_core.h"

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/pmem/sim_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/replica/no_copy.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::ChainMessage;
using membership::Condition;
using membership::Member;
using membership::Role;
using membership::View;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ListExecutor : public Executor {
 public:
  absl::Status Execute(uint64_t first, uint32_t count,
                       absl::string_view operation) override {
    if (fail_at == first) return absl::DataLossError("diverged");
    numbers.push_back({first, count});
    executed.push_back(std::string(operation));
    return absl::OkStatus();
  }
  absl::StatusOr<engine::WriteSet> WriteSetOf(absl::string_view) override {
    return engine::WriteSet();
  }
  absl::Status ReadIntent(const engine::Intent&, std::string*) override {
    return absl::OkStatus();
  }
  absl::Status BeginMending(const engine::WriteSet&) override {
    return absl::OkStatus();
  }
  absl::Status MendIntent(const engine::Intent&, absl::string_view,
                          Mend) override {
    return absl::OkStatus();
  }
  void EndMending() override {}
  std::vector<std::string> executed;
  std::vector<std::pair<uint64_t, uint32_t>> numbers;  // first, count
  uint64_t fail_at = 0;
};

struct Node {
  explicit Node(const std::string& id)
      : region(OperationRing::kMinBytes),
        ring(*OperationRing::Create(&region, {})),
        record(&region) {
    record.Create(NodeState());
    ChainOptions options;
    options.cluster_id = "c";
    options.node_id = id;
    options.incarnation = 1;
    options.window_operations = 8;
    core = std::make_unique<ChainCore>(options, ring.get(), &record, &executor,
                                       &copy);
  }
  engine::SimRegion region;
  std::unique_ptr<OperationRing> ring;
  NodeRecord record;
  ListExecutor executor;
  NoCopy copy;
  std::unique_ptr<ChainCore> core;
  uint64_t completed = 0;
  bool fetch_view = false;
  absl::Status fatal;
  LinkId next_accepted = 2;
};

class ChainCoreTest : public ::testing::Test {
 protected:
  ChainCoreTest() {
    for (const char* id : {"n1", "n2", "n3", "n4"}) {
      nodes_[id] = std::make_unique<Node>(id);
    }
  }

  static View MakeView(uint64_t id, const std::vector<std::string>& names) {
    View view{"c", id, {}};
    for (const std::string& name : names) {
      Member member;
      member.node_id = name;
      member.incarnation = 1;
      view.members.push_back(member);
    }
    return view;
  }

  Node& At(const std::string& id) { return *nodes_.at(id); }

  void Install(const std::string& id, const View& view) {
    Actions actions;
    At(id).core->OnView(view, now_, &actions);
    At(id).core->EndOfBatch(now_, &actions);
    CarryOut(id, std::move(actions));
  }

  void InstallAll(uint64_t id, const std::vector<std::string>& names) {
    for (const std::string& name : names) Install(name, MakeView(id, names));
  }

  // The head executes and commits an operation.
  void Submit(const std::string& head, const std::string& operation,
              uint32_t count = 1) {
    Node& node = At(head);
    const uint64_t first = node.core->next_sequence();
    ASSERT_TRUE(node.core->AppendLocal(first, count, operation).ok());
    node.executor.executed.push_back(operation);
    Actions actions;
    node.core->CommitLocal(first + count - 1, &actions);
    node.core->EndOfBatch(now_, &actions);
    CarryOut(head, std::move(actions));
  }

  // A process dies: its links close, its messages in flight are lost.
  void Kill(const std::string& id) {
    std::vector<std::pair<std::string, LinkId>> ends;
    for (const auto& [end, peer] : peers_) {
      if (end.first == id) ends.push_back(end);
    }
    nodes_.erase(id);
    for (const auto& end : ends) Break(end);
  }

  // One delivery, of the link that `choice` falls on. False: none is due.
  bool Deliver(uint64_t choice = 0) {
    std::vector<std::pair<std::string, LinkId>> due;
    for (const auto& [end, queue] : inbox_) {
      if (!queue.empty()) due.push_back(end);
    }
    if (due.empty()) return false;
    const auto end = due[choice % due.size()];
    const ChainMessage message = inbox_[end].front();
    inbox_[end].pop_front();
    if (nodes_.count(end.first) == 0) return true;
    Actions actions;
    At(end.first).core->OnMessage(end.second, message, now_, &actions);
    At(end.first).core->EndOfBatch(now_, &actions);
    CarryOut(end.first, std::move(actions));
    return true;
  }

  void Settle() {
    int steps = 0;
    do {
      while (Deliver()) ASSERT_LT(++steps, 100000);
      Tick();
    } while (AnyDue());
  }

  // Where neighbours do not come to terms, and try again and again.
  void PassRounds(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      for (int steps = 0; Deliver();) ASSERT_LT(++steps, 100000);
      Tick();
    }
  }

  bool AnyDue() const {
    for (const auto& [end, queue] : inbox_) {
      if (!queue.empty()) return true;
    }
    return false;
  }

  void Tick() {
    now_ += absl::Milliseconds(25);
    std::vector<std::string> names;
    for (const auto& [name, node] : nodes_) names.push_back(name);
    for (const std::string& name : names) {
      Actions actions;
      At(name).core->OnTick(now_, &actions);
      At(name).core->EndOfBatch(now_, &actions);
      CarryOut(name, std::move(actions));
    }
  }

  void CarryOut(const std::string& id, Actions actions) {
    Node& node = At(id);
    if (!actions.fatal.ok()) node.fatal = actions.fatal;
    node.completed = std::max(node.completed, actions.completed);
    node.fetch_view |= actions.fetch_view;
    for (LinkId link : actions.close) Break({id, link});
    for (const auto& open : actions.open) Connect(id, open);
    for (auto& send : actions.send) {
      const auto peer = peers_.find({id, send.link});
      if (peer != peers_.end()) inbox_[peer->second].push_back(send.message);
    }
  }

  void Connect(const std::string& id, const Actions::Open& open) {
    Actions actions;
    const std::string& to = open.member.node_id;
    if (nodes_.count(to) == 0) {
      At(id).core->OnLinkClosed(open.link, now_, &actions);
    } else {
      const LinkId accepted = At(to).next_accepted;
      At(to).next_accepted += 2;
      peers_[{id, open.link}] = {to, accepted};
      peers_[{to, accepted}] = {id, open.link};
      At(id).core->OnLinkOpened(open.link, now_, &actions);
    }
    CarryOut(id, std::move(actions));
  }

  void Break(const std::pair<std::string, LinkId>& end) {
    const auto found = peers_.find(end);
    if (found == peers_.end()) return;
    const auto other = found->second;
    peers_.erase(end);
    peers_.erase(other);
    inbox_[end].clear();
    inbox_[other].clear();
    for (const auto& side : {end, other}) {
      if (nodes_.count(side.first) == 0) continue;
      Actions actions;
      At(side.first).core->OnLinkClosed(side.second, now_, &actions);
      CarryOut(side.first, std::move(actions));
    }
  }

  const std::vector<std::string> all_ = {"n1", "n2", "n3", "n4"};
  absl::Time now_ = absl::UnixEpoch();
  std::map<std::string, std::unique_ptr<Node>> nodes_;
  std::map<std::pair<std::string, LinkId>, std::pair<std::string, LinkId>>
      peers_;
  std::map<std::pair<std::string, LinkId>, std::deque<ChainMessage>> inbox_;
};

TEST_F(ChainCoreTest, RolesFollowTheView) {
  InstallAll(1, all_);
  EXPECT_EQ(At("n1").core->role(), Role::kHead);
  EXPECT_EQ(At("n3").core->role(), Role::kMiddle);
  EXPECT_EQ(At("n4").core->role(), Role::kTail);
  Install("n1", MakeView(2, {"n2", "n3"}));
  EXPECT_EQ(At("n1").core->role(), Role::kOutside);
  Install("n2", MakeView(3, {"n2"}));
  EXPECT_TRUE(At("n2").core->is_head() && At("n2").core->is_tail());
}

TEST_F(ChainCoreTest, EveryNodeExecutesInOrderAndTheRingsAreCleaned) {
  InstallAll(1, all_);
  Settle();
  std::vector<std::string> operations;
  for (int i = 0; i < 50; ++i) {
    operations.push_back(absl::StrCat("operation ", i));
    Submit("n1", operations.back());
    if (i % 7 == 0) Settle();
  }
  Settle();
  for (const auto& [name, node] : nodes_) {
    EXPECT_EQ(node->executor.executed, operations) << name;
    EXPECT_EQ(node->ring->cleaned(), 50u) << name;
  }
  EXPECT_EQ(At("n1").completed, 50u);
}

TEST_F(ChainCoreTest, CursorsCountMutationsAndWindowsOperations) {
  InstallAll(1, all_);
  Settle();
  // As many as the window has operations: all are on their way.
  for (int i = 0; i < 8; ++i) {
    Submit("n1", absl::StrCat(std::string(64, 'x'), i), 64);
  }
  size_t on_their_way = 0;
  for (const auto& [end, queue] : inbox_) {
    for (const ChainMessage& message : queue) {
      on_their_way += message.has_append();
    }
  }
  EXPECT_EQ(on_their_way, 8u);
  Submit("n1", "one", 1);
  Settle();
  for (const char* name : {"n2", "n3", "n4"}) {
    const auto& numbers = At(name).executor.numbers;
    ASSERT_EQ(numbers.size(), 9u) << name;
    for (uint64_t i = 0; i < 8; ++i) {
      EXPECT_THAT(numbers[i], ::testing::Pair(1 + 64 * i, 64u)) << name;
    }
    EXPECT_THAT(numbers[8], ::testing::Pair(513u, 1u));
    EXPECT_EQ(At(name).ring->cleaned(), 513u);
  }
  EXPECT_EQ(At("n1").completed, 513u);
  // A new head goes on from there.
  Kill("n1");
  InstallAll(2, {"n2", "n3", "n4"});
  Settle();
  EXPECT_EQ(At("n2").core->next_sequence(), 514u);
}

TEST_F(ChainCoreTest, ACursorWithinAnOperationIsNotTaken) {
  InstallAll(1, all_);
  Settle();
  Submit("n1", "x", 4);
  std::vector<ChainMessage> wrong(3);
  wrong[0].mutable_append_ack()->set_received(2);
  wrong[1].mutable_clean_up()->set_cleaned(2);
  wrong[2].mutable_completion()->set_applied(2);
  for (auto& [end, queue] : inbox_) queue.clear();
  for (ChainMessage& message : wrong) {
    message.set_view_id(1);
    for (const auto& link : At("n1").core->links()) {
      Actions actions;
      At("n1").core->OnMessage(link.link, message, now_, &actions);
      EXPECT_EQ(actions.completed, 0u);
      EXPECT_TRUE(actions.fatal.ok());
    }
  }
  EXPECT_EQ(At("n1").core->turned_down().malformed, 3u);
  EXPECT_EQ(At("n1").ring->cleaned(), 0u);
  ChainMessage none;
  none.set_view_id(1);
  none.mutable_append()->set_first(1);
  none.mutable_append()->set_operation("x");
  for (const auto& link : At("n2").core->links()) {
    Actions actions;
    At("n2").core->OnMessage(link.link, none, now_, &actions);
  }
  EXPECT_EQ(At("n2").core->turned_down().malformed, 1u);
  EXPECT_EQ(At("n2").ring->received(), 0u);
}

TEST_F(ChainCoreTest, NothingCompletesBeforeTheTailHasIt) {
  InstallAll(1, all_);
  Settle();
  Submit("n1", "x");
  while (At("n4").executor.executed.empty()) {
    EXPECT_EQ(At("n1").completed, 0u);
    ASSERT_TRUE(Deliver());
  }
  Settle();
  EXPECT_EQ(At("n1").completed, 1u);
}

TEST_F(ChainCoreTest, AMessageOfAnOlderViewIsRejectedAndChangesNothing) {
  InstallAll(1, all_);
  Settle();
  // n3 and n4 are a view ahead; n2 still sends under the old one.
  Submit("n1", "x");
  Deliver();  // to n2
  Install("n3", MakeView(2, {"n1", "n3", "n4"}));
  Actions actions;
  ChainMessage stale;
  stale.set_view_id(1);
  stale.mutable_append()->set_first(1);
  stale.mutable_append()->set_count(1);
  stale.mutable_append()->set_operation("x");
  At("n3").core->OnMessage(2, stale, now_, &actions);
  ASSERT_EQ(actions.send.size(), 1u);
  EXPECT_TRUE(actions.send[0].message.has_reject());
  EXPECT_EQ(actions.send[0].message.view_id(), 2u);
  EXPECT_THAT(At("n3").executor.executed, IsEmpty());
}

TEST_F(ChainCoreTest, AMessageOfANewerViewMakesTheNodeFetchIt) {
  InstallAll(1, all_);
  Settle();
  Actions actions;
  ChainMessage newer;
  newer.set_view_id(2);
  newer.mutable_append()->set_first(1);
  newer.mutable_append()->set_count(1);
  At("n3").core->OnMessage(2, newer, now_, &actions);
  EXPECT_TRUE(actions.fetch_view);
  EXPECT_THAT(At("n3").executor.executed, IsEmpty());
}

TEST_F(ChainCoreTest, OnlyTheNeighbourIsTakenAsPredecessor) {
  InstallAll(1, all_);
  Actions actions;
  ChainMessage hello;
  hello.set_view_id(1);
  hello.mutable_hello()->set_cluster_id("c");
  hello.mutable_hello()->set_purpose(kamino::internal::v1::LINK_PURPOSE_APPEND);
  for (const char* stranger : {"n1", "n4", "x"}) {
    hello.mutable_hello()->set_node_id(stranger);
    actions = Actions();
    At("n3").core->OnMessage(98, hello, now_, &actions);
    ASSERT_EQ(actions.send.size(), 1u) << stranger;
    EXPECT_TRUE(actions.send[0].message.has_reject()) << stranger;
  }
  hello.mutable_hello()->set_node_id("n2");
  hello.mutable_hello()->set_cluster_id("other");
  actions = Actions();
  At("n3").core->OnMessage(98, hello, now_, &actions);
  EXPECT_TRUE(actions.send[0].message.has_reject());
}

TEST_F(ChainCoreTest, AnExecutionThatDivergesStopsTheNode) {
  InstallAll(1, all_);
  Settle();
  At("n3").executor.fail_at = 2;
  Submit("n1", "a");
  Submit("n1", "b");
  Settle();
  EXPECT_TRUE(absl::IsDataLoss(At("n3").fatal));
  EXPECT_THAT(At("n4").executor.executed, ElementsAre("a"));
  EXPECT_EQ(At("n1").completed, 1u);
}

TEST_F(ChainCoreTest, ASuccessorThatLacksWhatIsCleanedStopsNobodyElse) {
  InstallAll(1, {"n1", "n2"});
  Settle();
  Submit("n1", "a");
  Settle();
  Kill("n2");
  Install("n1", MakeView(2, {"n1", "n3"}));  // n3 has nothing
  Install("n3", MakeView(2, {"n1", "n3"}));
  PassRounds(50);
  EXPECT_TRUE(At("n1").fatal.ok()) << At("n1").fatal;
  EXPECT_EQ(At("n1").core->condition(), Condition::kSound);
  EXPECT_EQ(At("n3").core->condition(), Condition::kOutrun);
  EXPECT_FALSE(At("n3").core->ready());
  Kill("n3");
  Install("n1", MakeView(3, {"n1"}));
  Submit("n1", "b");
  Settle();
  EXPECT_EQ(At("n1").completed, 2u);
}

// A head that holds less than its successor neither goes on nor makes the
// successor anything else than it is.
TEST_F(ChainCoreTest, AHeadThatIsOutrunByItsSuccessorDoesNotLead) {
  InstallAll(1, {"n1", "n2"});
  Settle();
  Submit("n1", "a");
  Settle();
  Kill("n1");
  Install("n3", MakeView(2, {"n3", "n2"}));
  Install("n2", MakeView(2, {"n3", "n2"}));
  EXPECT_EQ(At("n3").core->condition(), Condition::kReturned);
  PassRounds(50);
  EXPECT_TRUE(At("n2").fatal.ok()) << At("n2").fatal;
  EXPECT_TRUE(At("n3").fatal.ok()) << At("n3").fatal;
  EXPECT_EQ(At("n3").core->condition(), Condition::kOutrun);
  EXPECT_EQ(At("n2").core->condition(), Condition::kSound);
  EXPECT_FALSE(At("n3").core->ready());
  EXPECT_EQ(At("n2").ring->received(), 1u);
}

TEST_F(ChainCoreTest, AFullRingHoldsThePredecessorBack) {
  InstallAll(1, {"n1", "n2"});
  Settle();
  const std::string large(3 << 20, 'x');
  for (int i = 0; i < 40; ++i) {
    Submit("n1", large + absl::StrCat(i));
    if (i % 3 == 2) Settle();
  }
  Settle();
  EXPECT_EQ(At("n2").executor.executed.size(), 40u);
  EXPECT_EQ(At("n1").completed, 40u);
}

// A node of each role dies at a random moment of a random schedule; what was
// completed stays, and all survivors agree.
class RepairTest : public ChainCoreTest,
                   public ::testing::WithParamInterface<int> {};

TEST_P(RepairTest, SurvivorsAgreeAndKeepWhatWasCompleted) {
  std::mt19937_64 random(GetParam());
  std::vector<std::string> chain = all_;
  InstallAll(1, chain);
  Settle();
  std::vector<std::string> submitted;
  uint64_t completed = 0;
  for (uint64_t view = 2; view <= 4; ++view) {
    for (int i = 0; i < 30; ++i) {
      submitted.push_back(absl::StrCat("view ", view, " operation ", i));
      Submit(chain.front(), submitted.back());
      for (int n = random() % 12; n > 0; --n) Deliver(random());
    }
    completed = std::max(completed, At(chain.front()).completed);
    const size_t victim = random() % chain.size();
    Kill(chain[victim]);
    for (int n = random() % 20; n > 0; --n) Deliver(random());
    chain.erase(chain.begin() + victim);
    // The view reaches the survivors one after the other.
    for (const std::string& name : chain) {
      Install(name, MakeView(view, chain));
      for (int n = random() % 10; n > 0; --n) Deliver(random());
    }
    Settle();
    const auto& executed = At(chain.front()).executor.executed;
    ASSERT_GE(executed.size(), completed);
    for (const std::string& name : chain) {
      ASSERT_TRUE(At(name).fatal.ok()) << At(name).fatal;
      ASSERT_EQ(At(name).executor.executed, executed) << name;
      ASSERT_EQ(At(name).ring->cleaned(), executed.size()) << name;
    }
    ASSERT_EQ(At(chain.front()).core->completed(), executed.size());
    // In the order they were submitted; the last ones may be lost with a head.
    submitted.resize(executed.size());
    ASSERT_EQ(executed, submitted);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RepairTest, ::testing::Range(1, 61));

TEST_F(ChainCoreTest, LinksThatBreakComeBack) {
  InstallAll(1, all_);
  Settle();
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; ++i) {
    Submit("n1", absl::StrCat(i));
    for (int n = random() % 5; n > 0; --n) Deliver(random());
    if (i % 10 == 0 && !peers_.empty()) {
      const auto end =
          std::next(peers_.begin(), random() % peers_.size())->first;
      Break(end);
      Tick();
    }
  }
  for (int i = 0; i < 5; ++i) Settle();
  EXPECT_EQ(At("n4").executor.executed.size(), 100u);
  EXPECT_EQ(At("n1").completed, 100u);
}

}  // namespace
}  // namespace kamino::replica
