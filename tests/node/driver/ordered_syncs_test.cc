// How often a put waits for a disk, one sync after the other, where nodes'
// media are files on disks: what the start of a node says a put will take goes
// by it.
#include <map>
#include <string>

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

// By each node until it has told another one of the put; by the tail, until it
// has told of its completion.
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

TEST_P(OrderedSyncsTest, AreAsManyAsAStartSays) {
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

// By each node to open a session of 256 slots.
std::map<std::string, uint64_t> SyncsOfOpening(ChainRig& rig, uint64_t id) {
  std::map<std::string, uint64_t> syncs;
  for (const char* name : {"n1", "n2", "n3"}) syncs[name] = rig.syncs(name);
  head::SessionParams params;
  params.id = id;
  params.window = 256;
  params.lease = absl::Minutes(1);
  bool opened = false;
  rig.node("n1").OpenSession(params, rig.now(),
                             [&](absl::StatusOr<head::SessionInfo> session) {
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
  rig.node("n1").CloseSession(
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
