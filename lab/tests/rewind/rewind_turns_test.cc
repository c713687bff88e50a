// Other threads can use the log while a checkpoint clears it. (In a build that
// reports waits: engine/explore.h.)
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "absl/time/time.h"
#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "lab/rewind/rewind_store.h"
#include "tests/engine/crash/scheduler.h"
#include "tests/faults/planted.h"

namespace kamino::engine {
namespace {

// Many more than run at once.
constexpr int kTransactions = 1000;

class RewindTurnsTest : public ::testing::TestWithParam<const char*> {
 protected:
  RewindTurnsTest() {
    auto making = Begin();
    one_ = *making->Alloc(100);
    other_ = *making->Alloc(100);
    EXPECT_TRUE(making->Commit().ok());
    store_->Quiesce();
  }

  std::unique_ptr<Transaction> Begin() {
    return store_->Begin(absl::ZeroDuration());
  }

  void Commit(ObjectId id) {
    const std::byte bytes[8] = {};
    auto transaction = Begin();
    absl::Status status = transaction->Overwrite(id, 0, bytes);
    if (status.ok()) status = transaction->Commit();
    ASSERT_TRUE(status.ok()) << status;
  }

  void Fill() {
    for (int i = 0; i < kTransactions; ++i) Commit(one_);
  }

  uint64_t DrainsOfCheckpoint() {
    Fill();
    const uint64_t before = region_.drains();
    store_->Quiesce();
    return region_.drains() - before;
  }

  // A thread commits when another thread's checkpoint has cleared a part of the
  // log and continues. Returns whether it has committed when the log is
  // cleared.
  bool CommitsMeanwhile() {
    constexpr size_t kCheckpoint = 0;
    // The steps before the clearing take fewer drains.
    const uint64_t part = DrainsOfCheckpoint() / 4;
    Fill();
    std::mt19937_64 random(1);
    size_t running = kCheckpoint;
    crash::Schedule schedule;
    schedule.random = [&](uint64_t bound) { return random() % bound; };
    schedule.resumed = [&](size_t thread) {
      running = thread;
      region_.ActAs(static_cast<int>(thread));
    };
    uint64_t drains = 0;  // of the checkpoint
    bool committed = false;
    bool committed_before = false;
    region_.SetDrainHook([&] {
      if (running == kCheckpoint) ++drains;
      crash::MaySwitch();
    });
    crash::RunTogether({[&] {
                          store_->Quiesce();
                          committed_before = committed;
                        },
                        [&] {
                          while (drains < part) crash::MaySwitch();
                          Commit(other_);
                          committed = true;
                        }},
                       schedule);
    region_.SetDrainHook(nullptr);
    EXPECT_TRUE(committed);
    return committed_before;
  }

  SimRegion region_{1u << 20};
  const RewindOptions options_ = *RewindNamed(GetParam());
  std::unique_ptr<Heap> heap_ =
      *Heap::CreateWithLog(&region_, GetParam(), 512u << 10);
  std::unique_ptr<RewindStore> store_ =
      *RewindStore::Open(options_, heap_.get());
  ObjectId one_ = kNullObject;
  ObjectId other_ = kNullObject;
};

INSTANTIATE_TEST_SUITE_P(Configurations, RewindTurnsTest,
                         ::testing::Values("rewind-1-noforce-batch",
                                           "rewind-1-noforce-simple",
                                           "rewind-2-noforce-optimized"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST_P(RewindTurnsTest, ACommitDoesNotWaitForAWholeCheckpoint) {
  EXPECT_TRUE(CommitsMeanwhile());
}

TEST_P(RewindTurnsTest, PlantedOnePieceCheckpointBlocksACommit) {
  faults::Planted planted("rewind-checkpoint-in-one-piece");
  EXPECT_FALSE(CommitsMeanwhile());
}

TEST_P(RewindTurnsTest, PlantedBlockingCheckpointBlocksACommit) {
  faults::Planted planted("rewind-checkpoint-blocks-all");
  EXPECT_FALSE(CommitsMeanwhile());
}

}  // namespace
}  // namespace kamino::engine
