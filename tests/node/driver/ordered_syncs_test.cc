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

}  // namespace
}  // namespace kamino::node
