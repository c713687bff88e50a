// A tail's snapshots while the chain goes on, and what becomes of them.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node/driver/chain_node.h"
#include "replica/errors.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

using Entries = std::map<std::string, std::string>;

class SnapshotReadsTest : public ::testing::TestWithParam<ChainMode> {
 protected:
  SnapshotReadsTest() : rig_(OptionsOf(GetParam())) {}

  static ChainRig::Options OptionsOf(ChainMode mode) {
    ChainRig::Options options;
    options.mode = mode;
    options.names = {"n1", "n2", "n3"};
    return options;
  }

  void Begin(const std::vector<std::string>& members) {
    rig_.StartAll();
    rig_.InstallView(members);
    rig_.Settle(3);
    for (int i = 0; i < 40; ++i) Do(node::Put(absl::StrCat("k", i), "old"));
  }
  void Do(const kamino::v1::Operation& operation) {
    const auto issued = rig_.Submit(++client_, {operation});
    rig_.Settle(2);
    ASSERT_TRUE(issued->acknowledged()) << issued->outcome.status;
  }
  // Everything changes: some go, some grow, others come.
  void ChangeAll() {
    for (int i = 0; i < 40; ++i) {
      const std::string key = absl::StrCat("k", i);
      if (i % 3 == 0) {
        Do(node::Delete(key));
      } else {
        Do(node::Put(key, std::string(i * 20, 'n')));
      }
      Do(node::Put(absl::StrCat("new", i), "n"));
    }
  }

  absl::StatusOr<Entries> Read(const std::string& name, uint64_t snapshot) {
    Entries entries;
    absl::Status read = rig_.node(name).snapshots().Read(
        /*scope=*/nullptr, snapshot, [&](engine::KeyValueReader& objects) {
          return objects.Scan(
              "", "", 0, [&](absl::string_view key, const auto& entry) {
                entries[std::string(key)] = std::string(entry.value);
                return true;
              });
        });
    if (!read.ok()) return read;
    return entries;
  }
  static Entries Old() {
    Entries entries;
    for (int i = 0; i < 40; ++i) entries[absl::StrCat("k", i)] = "old";
    return entries;
  }

  ChainRig rig_;
  uint64_t client_ = 0;
};

TEST_P(SnapshotReadsTest, TheTailReadsASnapshot) {
  Begin({"n1", "n2", "n3"});
  ChainNode& tail = rig_.node("n3");
  const auto opened = tail.snapshots().Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->sequence, rig_.ring("n3").applied());
  ChangeAll();
  EXPECT_EQ(*Read("n3", opened->id), Old());
  EXPECT_GT(tail.snapshots().stats().images, 0u);
  const auto later = tail.snapshots().Open();
  EXPECT_EQ(Read("n3", later->id)->size(), 66u);
  tail.snapshots().Close(opened->id);
  EXPECT_TRUE(absl::IsNotFound(Read("n3", opened->id).status()));
  tail.snapshots().Close(later->id);
  EXPECT_EQ(tail.snapshots().stats().bytes, 0u);
  EXPECT_EQ(rig_.Difference(), "");
}

// The head and tail of a chain of one, where transactions change the heap.
TEST_P(SnapshotReadsTest, ALoneNodeReadsASnapshot) {
  Begin({"n1"});
  const auto opened = rig_.node("n1").snapshots().Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  ChangeAll();
  EXPECT_EQ(*Read("n1", opened->id), Old());
}

// One that goes on whatever becomes of the place of the node.
TEST_P(SnapshotReadsTest, ASnapshotOutlivesTheView) {
  Begin({"n1", "n2", "n3"});
  const auto opened = rig_.node("n3").snapshots().Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  rig_.CutPower("n1", 1);
  rig_.CutPower("n2", 2);
  rig_.InstallView({"n3"});
  rig_.Settle();
  ChangeAll();
  EXPECT_EQ(*Read("n3", opened->id), Old());
}

TEST_P(SnapshotReadsTest, OnlyATailWithALeaseOpensASnapshot) {
  Begin({"n1", "n2", "n3"});
  EXPECT_EQ(replica::ReasonOf(rig_.node("n2").snapshots().Open().status()),
            kamino::v1::REASON_NOT_TAIL);
  rig_.SetLease("n3", false);
  EXPECT_EQ(replica::ReasonOf(rig_.node("n3").snapshots().Open().status()),
            kamino::v1::REASON_RECONFIGURING);
}

TEST_P(SnapshotReadsTest, ASnapshotEndsWhenTheHeapIsReceivedAnew) {
  Begin({"n1", "n2", "n3"});
  const auto opened = rig_.node("n3").snapshots().Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  rig_.InstallView({"n1", "n2"});
  rig_.Invite("n3");
  rig_.Settle();
  EXPECT_TRUE(absl::IsAborted(Read("n3", opened->id).status()))
      << Read("n3", opened->id).status();
}

INSTANTIATE_TEST_SUITE_P(Modes, SnapshotReadsTest,
                         ::testing::Values(ChainMode::kKamino,
                                           ChainMode::kImages,
                                           ChainMode::kTraditional));

}  // namespace
}  // namespace kamino::node
