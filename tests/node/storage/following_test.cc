// A node on a disk that follows the chain, and has no place in it yet.
#include <memory>

#include "gtest/gtest.h"
#include "node/storage/storage.h"
#include "tests/faults/planted.h"
#include "tests/node/storage/sim_media.h"
#include "tests/node/storage/tiny_storage.h"

namespace kamino::node {
namespace {

using membership::Condition;
using replica::NodeState;

std::unique_ptr<Storage> Open(SimDisk* disk,
                              const StorageOptions& options = Tiny()) {
  auto storage = Storage::Open(options, std::make_unique<SimMedia>(disk));
  EXPECT_TRUE(storage.ok()) << storage.status();
  return std::move(*storage);
}

class FollowingTest : public ::testing::Test {
 protected:
  SimDisk disk_;
};

// A node on a disk has the chain's state as of mutation 41, executes 20 entries
// as it follows, and joins then if it `joins`; whether it has them after a
// power cut.
bool HasFollowedEntries(SimDisk* disk, bool joins, int* drains) {
  disk->SyncPages();
  auto storage = Open(disk);
  Receive(storage.get(), 41);
  disk->SetDrainHook([drains] { ++*drains; });
  for (int i = 0; i < 20; ++i) ApplyOne(storage.get());
  disk->SetDrainHook(nullptr);
  NodeState state = storage->record()->state();
  EXPECT_EQ(state.condition, Condition::kBehind);
  state.view_id = 7;
  if (joins) storage->record()->Update(state);
  disk->Crash(5);
  auto after = Storage::Open(Tiny(), std::make_unique<SimMedia>(disk));
  if (!after.ok()) return false;
  EXPECT_EQ((*after)->record()->state().view_id, joins ? 7u : 0u);
  return (*after)->record()->state().condition == Condition::kBehind &&
         (*after)->ring()->applied() == 61u;
}

TEST_F(FollowingTest, ANodeThatFollowsSyncsNothingBeforeItJoins) {
  int drains = 0;
  EXPECT_TRUE(HasFollowedEntries(&disk_, /*joins=*/true, &drains));
  EXPECT_EQ(drains, 0);
}

// A crash within the sync leaves a heap that is received again, or all of it.
TEST_F(FollowingTest, ACrashAsTheNodeJoinsLeavesAllOrNothing) {
  int whole = 0;
  for (int drain = 1; drain < 8; ++drain) {
    SimDisk disk;
    disk.SyncPages();
    auto storage = Open(&disk);
    Receive(storage.get(), 41);
    ApplyOne(storage.get());
    int drains = 0;
    disk.SetDrainHook([&] {
      if (++drains == drain) disk.Crash(drain);
    });
    storage->record()->Update(NodeState(storage->record()->state()));
    disk.SetDrainHook(nullptr);
    if (drains < drain) disk.Crash(drain);
    auto after = Storage::Open(Tiny(), std::make_unique<SimMedia>(&disk));
    ASSERT_TRUE(after.ok()) << after.status();
    if ((*after)->record()->state().condition == Condition::kReceiving) {
      continue;
    }
    ++whole;
    EXPECT_EQ((*after)->ring()->applied(), 42u);
  }
  EXPECT_GT(whole, 0);
  EXPECT_LT(whole, 7);
}

// The round of an undo log is durable before its records are.
TEST_F(FollowingTest, TheUndoCopyIsDurableWhileDrainsAreDeferred) {
  disk_.SyncPages();
  StorageOptions options = Tiny();
  options.mode = ChainMode::kTraditional;
  options.undo_copy = UndoCopyKind::kLog;
  auto storage = Open(&disk_, options);
  Receive(storage.get(), 41);
  int drains = 0;
  disk_.SetDrainHook([&drains] { ++drains; });
  ASSERT_TRUE(storage->BeginLocalUndo().ok());
  EXPECT_GT(drains, 0);
  drains = 0;
  ApplyOne(storage.get());
  EXPECT_EQ(drains, 0);
  disk_.SetDrainHook(nullptr);
}

TEST_F(FollowingTest, ANodeThatFollowedReceivesAnewAfterACrash) {
  int drains = 0;
  EXPECT_FALSE(HasFollowedEntries(&disk_, /*joins=*/false, &drains));
  EXPECT_EQ(Open(&disk_)->record()->state().condition, Condition::kReceiving);
}

TEST_F(FollowingTest, NoticesAMemberThatJoinsWithoutASync) {
  faults::Planted fault("storage-joins-without-a-sync");
  int drains = 0;
  EXPECT_FALSE(HasFollowedEntries(&disk_, /*joins=*/true, &drains));
}

}  // namespace
}  // namespace kamino::node
