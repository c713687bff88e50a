// A chain of whole nodes, their inputs one at a time, in whatever order the
// test chooses: operations go down it, and views change in the middle.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replica/errors.h"
#include "replica/log/log_entry.h"
#include "tests/faults/planted.h"
#include "tests/node/driver/chain_rig.h"
#include "tests/replica/change_entry.h"

namespace kamino::node {
namespace {

using kamino::internal::v1::ChainMessage;
using membership::Condition;
using replica::ChangeHeader;
using replica::FixChecksum;
using replica::log_entry_format::EntryHeader;
using replica::log_entry_format::IntentRecord;

const std::vector<std::string> kAll = {"n1", "n2", "n3", "n4"};

class ChainTest : public ::testing::Test {
 protected:
  explicit ChainTest(ChainRig::Options options = {}) : rig_(options) {}

  void Begin(const std::vector<std::string>& members) {
    rig_.StartAll();
    rig_.InstallView(members);
    rig_.Settle(3);
    const auto first =
        rig_.Submit(++client_, {Put("key", std::string(100, '.'))});
    rig_.Settle(3);
    ASSERT_TRUE(first->acknowledged()) << first->outcome.status;
    before_ = rig_.ring(members.front()).received();
  }

  // Later patches overwrite part of the bytes of earlier ones, so that the
  // result shows their order.
  std::shared_ptr<Issued> Submit() {
    const uint64_t number = ++client_;
    issued_.push_back(rig_.Submit(
        number, {Patch("key", number * 7 % 90, absl::StrCat(number))}));
    return issued_.back();
  }

  void ExpectAllAcknowledged() {
    for (const auto& issued : issued_) {
      EXPECT_TRUE(issued->acknowledged()) << issued->outcome.status;
    }
  }

  void RestartAndTell(const std::string& name,
                      const std::vector<std::string>& members) {
    rig_.CutPower(name, 1);
    rig_.Start(name);
    rig_.InstallView(members);
  }

  // Retries the requests without an answer; then all are done, and the nodes
  // equal.
  void ExpectGoesOn() {
    for (const auto& issued : issued_) {
      if (!issued->acknowledged()) rig_.Retry(issued);
    }
    rig_.Settle();
    ExpectAllAcknowledged();
    EXPECT_EQ(rig_.Difference(), "");
  }

  const replica::ChainCore& core(const std::string& name) {
    return rig_.node(name).core();
  }
  uint64_t malformed(const std::string& name) {
    return core(name).turned_down().malformed;
  }

  ChainRig rig_;
  uint64_t client_ = 1000;
  uint64_t before_ = 0;  // the last mutation of the beginning
  std::vector<std::shared_ptr<Issued>> issued_;
};

TEST_F(ChainTest, EveryNodeExecutesInOrderAndTheRingsAreCleaned) {
  Begin(kAll);
  for (int i = 0; i < 50; ++i) {
    Submit();
    if (i % 7 == 0) rig_.Settle(1);
  }
  rig_.Settle();
  ExpectAllAcknowledged();
  EXPECT_EQ(rig_.Difference(), "");
  EXPECT_EQ(rig_.ring("n4").cleaned(), before_ + 50);
  EXPECT_EQ(core("n1").progress().completed(), before_ + 50);
}

TEST_F(ChainTest, NothingIsAcknowledgedBeforeTheTailHasIt) {
  Begin(kAll);
  const auto issued = Submit();
  while (rig_.ring("n4").applied() == before_) {
    EXPECT_EQ(core("n1").progress().completed(), before_);
    EXPECT_EQ(issued->answers, 0);
    ASSERT_TRUE(rig_.Step());
  }
  rig_.Settle();
  EXPECT_TRUE(issued->acknowledged());
}

class NarrowChainTest : public ChainTest {
 protected:
  static ChainRig::Options Narrow() {
    ChainRig::Options options;
    options.window_entries = 8;
    return options;
  }
  NarrowChainTest() : ChainTest(Narrow()) {}
};

TEST_F(NarrowChainTest, CursorsCountMutationsAndWindowsOperations) {
  Begin(kAll);
  constexpr uint64_t kTogether = 8;
  const auto put_together = [this](uint64_t group) {
    std::vector<uint64_t> clients(kTogether);
    for (uint64_t i = 0; i < kTogether; ++i) clients[i] = group * kTogether + i;
    for (auto& each : rig_.PutTogether(clients)) issued_.push_back(each);
  };
  // These puts create the objects that the later ones only overwrite, each its
  // own.
  for (uint64_t group = 1; group <= 9; ++group) {
    put_together(group);
    rig_.Settle(3);
  }
  before_ = rig_.ring("n1").received();
  std::vector<uint64_t> counts;  // of appends to n2, by mutations
  rig_.SetTap([&](const std::string& to, uint64_t, const ChainMessage& m,
                  absl::string_view payload) {
    if (to != "n2" || !m.has_append()) return;
    counts.push_back(replica::LogEntry::Check(payload)->count());
  });
  rig_.Hold("n2");
  for (uint64_t group = 1; group <= 9; ++group) put_together(group);
  rig_.Settle(3);
  EXPECT_EQ(counts, std::vector<uint64_t>(8, kTogether));
  EXPECT_EQ(rig_.ring("n1").received(), before_ + 9 * kTogether);
  rig_.Hold("n2", false);
  rig_.Settle();
  EXPECT_EQ(counts.size(), 9u);
  for (const std::string& name : kAll) {
    EXPECT_EQ(rig_.ring(name).cleaned(), before_ + 9 * kTogether) << name;
  }
  EXPECT_EQ(core("n1").progress().completed(), before_ + 9 * kTogether);
  // A new head goes on from there.
  rig_.CutPower("n1", 1);
  rig_.InstallView({"n2", "n3", "n4"});
  rig_.Settle();
  EXPECT_EQ(core("n2").next_sequence(), before_ + 9 * kTogether + 1);
  ExpectGoesOn();
}

// The message says that a part of four mutations, which are one operation, is
// done.
TEST_F(ChainTest, ACursorWithinAnOperationIsNotTaken) {
  Begin(kAll);
  const auto commit_four = [this](const std::string& from, const auto& due,
                                  const auto& change) {
    rig_.ChangeNext(from, "n1", due, change);
    const uint64_t completed = core("n1").progress().completed();
    const uint64_t turned_down = malformed("n1");
    for (auto& each : rig_.PutTogether(
             {client_ + 1, client_ + 2, client_ + 3, client_ + 4})) {
      issued_.push_back(each);
    }
    client_ += 4;
    while (malformed("n1") == turned_down) ASSERT_TRUE(rig_.Step());
    EXPECT_TRUE(rig_.changed());
    EXPECT_TRUE(core("n1").progress().completed() == completed ||
                core("n1").progress().completed() == completed + 4);
    Submit();
    rig_.Settle();
    ExpectGoesOn();
  };
  commit_four(
      "n2", [](const ChainMessage& m) { return m.has_append_ack(); },
      [](ChainMessage* m) {
        auto* ack = m->mutable_append_ack();
        ack->set_received(ack->received() - 2);
      });
  commit_four(
      "n2", [](const ChainMessage& m) { return m.has_clean_up(); },
      [](ChainMessage* m) {
        auto* clean_up = m->mutable_clean_up();
        clean_up->set_cleaned(clean_up->cleaned() - 2);
      });
  commit_four(
      "n4", [](const ChainMessage& m) { return m.has_completion(); },
      [](ChainMessage* m) {
        auto* completion = m->mutable_completion();
        completion->set_applied(completion->applied() - 2);
      });
}

TEST_F(ChainTest, AnEntryWithoutMutationsIsNotTaken) {
  Begin(kAll);
  rig_.ChangeNextEntry("n1", "n2", [](std::string* entry) {
    ChangeHeader(entry, [](EntryHeader* header) { header->count = 0; });
  });
  const auto issued = Submit();
  while (!rig_.changed() || malformed("n2") == 0) ASSERT_TRUE(rig_.Step());
  EXPECT_EQ(rig_.ring("n2").received(), before_);
  // It is sent again, as it should be.
  rig_.Settle();
  EXPECT_EQ(malformed("n2"), 1u);
  EXPECT_TRUE(issued->acknowledged());
}

// Two before n3 have taken it, n4 tries it, and cannot execute it either: who
// is right is the operator's to say.
TEST_F(ChainTest, AnExecutionThatDivergesStopsTheChain) {
  Begin(kAll);
  const auto first = Submit();
  rig_.Settle();
  // Elsewhere than at the head.
  rig_.ChangeNextEntry("n2", "n3", [](std::string* entry) {
    // The write set is another one now.
    EntryHeader header;
    std::memcpy(&header, entry->data(), sizeof(header));
    (*entry)[sizeof(header) + header.mutation_bytes +
             offsetof(IntentRecord, offset)] ^= 1;
    FixChecksum(entry);
  });
  const auto second = Submit();
  rig_.Settle();
  EXPECT_TRUE(rig_.changed());
  for (const char* node : {"n3", "n4"}) {
    EXPECT_TRUE(rig_.up(node)) << rig_.fatal(node);
    EXPECT_EQ(rig_.ring(node).applied(), before_ + 1);
  }
  EXPECT_TRUE(first->acknowledged());
  EXPECT_EQ(second->answers, 0);
}

TEST_F(ChainTest, ASuccessorThatLacksCleanedEntriesStopsNoOtherNode) {
  Begin({"n1", "n2", "n3"});
  rig_.InstallView({"n1", "n2"});
  rig_.Settle();
  Submit();
  rig_.Settle();
  rig_.CutPower("n2", 1);
  RestartAndTell("n3", {"n1", "n3"});
  rig_.Settle(50);
  ASSERT_TRUE(rig_.up("n1")) << rig_.fatal("n1");
  EXPECT_EQ(core("n1").soundness().condition(), Condition::kSound);
  EXPECT_EQ(core("n3").soundness().condition(), Condition::kOutrun);
  EXPECT_FALSE(core("n3").soundness().ready());
  rig_.CutPower("n3", 1);
  rig_.InstallView({"n1"});
  Submit();
  rig_.Settle();
  ExpectAllAcknowledged();
}

// A head that holds less than its successor neither goes on nor makes the
// successor anything else than it is.
TEST_F(ChainTest, AHeadBehindItsSuccessorDoesNotLead) {
  Begin({"n1", "n2", "n3"});
  rig_.InstallView({"n1", "n2"});
  rig_.Settle();
  Submit();
  rig_.Settle();
  rig_.CutPower("n1", 1);
  RestartAndTell("n3", {"n3", "n2"});
  rig_.Settle(50);
  ASSERT_TRUE(rig_.up("n2")) << rig_.fatal("n2");
  ASSERT_TRUE(rig_.up("n3")) << rig_.fatal("n3");
  EXPECT_EQ(core("n3").soundness().condition(), Condition::kOutrun);
  EXPECT_EQ(core("n2").soundness().condition(), Condition::kSound);
  EXPECT_FALSE(core("n3").soundness().ready());
  EXPECT_EQ(rig_.ring("n2").received(), before_ + 1);
}

// Six of them are more than a ring takes.
TEST_F(ChainTest, ARequestThatAFullRingRefusesPassesLater) {
  Begin({"n1", "n2"});
  constexpr uint64_t kClients = 6;
  const auto put_all = [this](char letter) {
    issued_.clear();
    for (uint64_t client = 1; client <= kClients; ++client) {
      issued_.push_back(rig_.Submit(client, {Put(absl::StrCat("large", client),
                                                 std::string(25000, letter))}));
    }
  };
  put_all('a');
  rig_.Settle();
  ExpectGoesOn();
  for (const char letter : {'b', 'c', 'd', 'e', 'f', 'g'}) {
    const uint64_t received = rig_.ring("n1").received();
    rig_.Hold("n2");
    put_all(letter);
    rig_.Settle(2);
    EXPECT_EQ(rig_.ring("n1").received(), received + kClients - 1);
    EXPECT_EQ(replica::ReasonOf(issued_.back()->outcome.status),
              kamino::v1::REASON_OVERLOADED)
        << issued_.back()->outcome.status;
    rig_.Hold("n2", false);
    rig_.Settle();
    ExpectGoesOn();
  }
}

// Section 5.2: whether the old one had them or not.
class NewTailTest : public ChainTest {
 protected:
  std::shared_ptr<Issued> LoseTailWithOneOnItsWay() {
    Begin(kAll);
    rig_.Hold("n4", true);
    auto issued = Submit();
    rig_.Settle();
    EXPECT_EQ(rig_.ring("n3").applied(), before_ + 1);
    EXPECT_EQ(issued->answers, 0);
    rig_.CutPower("n4", 1);
    rig_.InstallView({"n1", "n2", "n3"});
    rig_.Settle();
    return issued;
  }
};

TEST_F(NewTailTest, CompletesItsEntries) {
  EXPECT_TRUE(LoseTailWithOneOnItsWay()->acknowledged());
  EXPECT_EQ(rig_.ring("n1").cleaned(), before_ + 1);
}

TEST_F(NewTailTest, ATailThatCompletesNothingIsDetected) {
  faults::Planted fault("chain-new-tail-completes-nothing");
  LoseTailWithOneOnItsWay();
  EXPECT_EQ(rig_.ring("n1").cleaned(), before_);
}

TEST_F(ChainTest, LinksThatBreakComeBack) {
  Begin(kAll);
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; ++i) {
    Submit();
    for (int n = random() % 5; n > 0; --n) rig_.Step(random());
    if (i % 10 != 0) continue;
    const size_t at = random() % kAll.size();
    rig_.BreakLinks(kAll[at], kAll[(at + 1) % kAll.size()]);
    rig_.Tick();
  }
  rig_.Settle();
  ExpectAllAcknowledged();
  EXPECT_EQ(rig_.Difference(), "");
}

// A node of each role dies at a random moment of a random schedule; what was
// acknowledged stays, and all survivors agree.
class RepairTest : public ChainTest, public ::testing::WithParamInterface<int> {
 protected:
  void Steps(uint64_t most) {
    for (uint64_t n = random_() % most; n > 0; --n) rig_.Step(random_());
  }

  std::mt19937_64 random_{static_cast<uint64_t>(GetParam())};
};

TEST_P(RepairTest, SurvivorsAgreeAndKeepAcknowledgedMutations) {
  std::vector<std::string> chain = kAll;
  Begin(chain);
  for (int views = 0; views < 3; ++views) {
    for (int i = 0; i < 30; ++i) {
      Submit();
      Steps(12);
    }
    const size_t victim = random_() % chain.size();
    rig_.CutPower(chain[victim], random_());
    Steps(20);
    chain.erase(chain.begin() + victim);
    // The view reaches the survivors one after the other.
    rig_.StoreView(chain);
    for (const std::string& name : chain) {
      rig_.Tell(name);
      Steps(10);
    }
    rig_.Settle();
    ExpectGoesOn();
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RepairTest, ::testing::Range(1, 61));

}  // namespace
}  // namespace kamino::node
