// How often a put waits for a disk, one sync after the other, where nodes'
// media are files on disks: what the start of a node says a put will take goes
// by it.
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "node/storage/medium_speed.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

struct Chain {
  ChainMode mode;
  UndoCopyKind undo_copy;
};

class OrderedSyncsTest : public ::testing::TestWithParam<Chain> {};

// Syncs of each node until it has sent the put to another one; of the tail,
// until it has reported its completion.
std::map<std::string, int> SyncsOfAPut(ChainRig& rig) {
  std::map<std::string, uint64_t> before;
  std::map<std::string, int> syncs;
  for (const char* name : {"n1", "n2", "n3"}) before[name] = rig.syncs(name);
  rig.SetFilter([&](const std::string& from, const std::string&,
                    ChainRig::ChainMessage*, std::string*) {
    const auto now = static_cast<int>(rig.syncs(from) - before[from]);
    if (now > 0) syncs.emplace(from, now);
    return true;
  });
  const auto put = rig.Submit(1, {Put("key", std::string(300, 'b'))});
  while (put->answers == 0 && rig.Step()) {
  }
  rig.SetFilter(nullptr);
  EXPECT_TRUE(put->acknowledged()) << put->outcome.status;
  rig.Settle();
  return syncs;
}

TEST_P(OrderedSyncsTest, AreAsManyAsAStartReports) {
  ChainRig::Options options;
  options.names = {"n1", "n2", "n3"};
  options.mode = GetParam().mode;
  options.undo_copy = GetParam().undo_copy;
  ChainRig rig(options);
  rig.StartAll();
  rig.InstallView({"n1", "n2", "n3"});
  rig.Settle();
  rig.Submit(1, {Put("key", std::string(300, 'a'))});
  rig.Settle();
  rig.SyncPages();
  (void)SyncsOfAPut(rig);  // the undo copy has the key's object from here on
  const auto syncs = SyncsOfAPut(rig);
  const OrderedSyncs said =
      OrderedSyncsOf(GetParam().mode, GetParam().undo_copy);
  EXPECT_EQ(syncs.at("n1"), said.head);
  EXPECT_EQ(syncs.at("n2"), said.replica);
  EXPECT_EQ(syncs.at("n3"), said.replica);
}

INSTANTIATE_TEST_SUITE_P(
    Modes, OrderedSyncsTest,
    ::testing::Values(Chain{ChainMode::kKamino, UndoCopyKind::kSimple},
                      Chain{ChainMode::kKamino, UndoCopyKind::kDynamic},
                      Chain{ChainMode::kKamino, UndoCopyKind::kLog},
                      Chain{ChainMode::kImages, UndoCopyKind::kDynamic},
                      Chain{ChainMode::kImages, UndoCopyKind::kLog},
                      Chain{ChainMode::kTraditional, UndoCopyKind::kDynamic},
                      Chain{ChainMode::kTraditional, UndoCopyKind::kLog}));

constexpr int kMany = 40;
constexpr int kFew = 30;  // slabs and split pages of the index included

// Syncs of each node for one commit that puts or deletes many objects.
std::map<std::string, uint64_t> SyncsOfMany(
    ChainRig& rig,
    const std::function<kamino::v1::Operation(const std::string&)>& change) {
  std::map<std::string, uint64_t> syncs;
  for (const char* name : {"n1", "n2", "n3"}) syncs[name] = rig.syncs(name);
  std::vector<kamino::v1::Operation> operations;
  for (int i = 0; i < kMany; ++i) {
    operations.push_back(change(absl::StrCat("key", i)));
  }
  const auto commit = rig.Submit(1, std::move(operations));
  rig.Settle();
  EXPECT_TRUE(commit->acknowledged()) << commit->outcome.status;
  for (auto& [name, count] : syncs) count = rig.syncs(name) - count;
  return syncs;
}

// A commit is one step of the core thread: its syncs must not grow with its
// operations, or a node that is alive misses its lease.
TEST_P(OrderedSyncsTest, ACommitOfManyOperationsTakesFewSyncs) {
  ChainRig::Options options;
  options.names = {"n1", "n2", "n3"};
  options.mode = GetParam().mode;
  options.undo_copy = GetParam().undo_copy;
  ChainRig rig(options);
  rig.StartAll();
  rig.InstallView({"n1", "n2", "n3"});
  rig.Settle();
  rig.SyncPages();
  const auto put = [](size_t bytes) {
    return [=](const std::string& key) {
      return Put(key, std::string(bytes, 'a'));
    };
  };
  // With an undo log, each entry of the index takes a sync of its own.
  const bool logs = GetParam().undo_copy == UndoCopyKind::kLog;
  const uint64_t most = kFew + (logs ? kMany : 0);
  const auto expect_few = [&](const char* what, const auto& change) {
    for (const auto& [name, syncs] : SyncsOfMany(rig, change)) {
      EXPECT_LE(syncs, most) << what << " by " << name;
    }
  };
  expect_few("new objects", put(100));
  expect_few("objects without a copy, in place", put(90));
  expect_few("objects with a copy, in place", put(100));
  expect_few("larger objects", put(300));
  expect_few("deletes", Delete);
}

// Syncs of each node for opening a session of 256 slots.
std::map<std::string, uint64_t> SyncsOfOpening(ChainRig& rig, uint64_t id) {
  std::map<std::string, uint64_t> syncs;
  for (const char* name : {"n1", "n2", "n3"}) syncs[name] = rig.syncs(name);
  head::SessionParams params;
  params.id = id;
  params.window = 256;
  params.lease = absl::Minutes(1);
  bool opened = false;
  rig.node("n1").head().OpenSession(
      params, rig.now(), [&](absl::StatusOr<head::SessionInfo> session) {
        opened = session.ok();
      });
  rig.Settle();
  EXPECT_TRUE(opened);
  for (auto& [name, count] : syncs) count = rig.syncs(name) - count;
  return syncs;
}

// Slots are cut out of free space in slabs, also out of that of other sessions.
TEST(SessionSyncsTest, ALaterSessionTakesNoMoreThanTheFirst) {
  ChainRig::Options options;
  options.names = {"n1", "n2", "n3"};
  ChainRig rig(options);
  rig.StartAll();
  rig.InstallView({"n1", "n2", "n3"});
  rig.Settle();
  rig.SyncPages();
  const auto first = SyncsOfOpening(rig, 1);
  bool closed = false;
  rig.node("n1").head().CloseSession(
      1, rig.now(), [&](const absl::Status& status) { closed = status.ok(); });
  rig.Settle();
  ASSERT_TRUE(closed);
  const auto second = SyncsOfOpening(rig, 2);
  for (const char* name : {"n1", "n2", "n3"}) {
    EXPECT_LE(second.at(name), first.at(name)) << name;
    EXPECT_LE(first.at(name), 60u) << name;
  }
}

}  // namespace
}  // namespace kamino::node
