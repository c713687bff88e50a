#include "replica/node_record.h"

#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"

namespace kamino::replica {
namespace {

using membership::Condition;

constexpr size_t kBytes = 8192;

NodeState Some(uint64_t view_id) {
  NodeState state;
  state.incarnation = 77;
  state.view_id = view_id;
  state.condition = Condition::kSound;
  state.was_head = view_id % 2 == 0;
  return state;
}

TEST(NodeRecordTest, IsFoundAgain) {
  engine::SimRegion region(kBytes);
  NodeRecord written(&region);
  written.Create(Some(1));
  written.Update(Some(2));
  written.Update(Some(3));
  NodeRecord read(&region);
  ASSERT_TRUE(read.Open().ok());
  EXPECT_EQ(read.state().incarnation, 77u);
  EXPECT_EQ(read.state().view_id, 3u);
  EXPECT_EQ(read.state().condition, Condition::kSound);
  EXPECT_FALSE(read.state().was_head);
  EXPECT_EQ(read.serial(), written.serial());
}

TEST(NodeRecordTest, ACrashDuringAnUpdateLeavesTheOldOrTheNewState) {
  int old_ones = 0;
  int new_ones = 0;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    engine::SimRegion region(kBytes);
    NodeRecord record(&region);
    record.Create(Some(1));
    engine::SimRegion::Image image;
    region.SetDrainHook([&] { image = region.CrashImage(seed); });
    record.Update(Some(2));
    engine::SimRegion after(image);
    NodeRecord read(&after);
    ASSERT_TRUE(read.Open().ok());
    old_ones += read.state().view_id == 1;
    new_ones += read.state().view_id == 2;
  }
  EXPECT_EQ(old_ones + new_ones, 64);
  EXPECT_GT(old_ones, 0);
  EXPECT_GT(new_ones, 0);
}

TEST(NodeRecordTest, DamageIsDetected) {
  engine::SimRegion region(kBytes);
  NodeRecord record(&region);
  EXPECT_TRUE(absl::IsDataLoss(NodeRecord(&region).Open()));
  record.Create(Some(1));
  region.base()[NodeRecord::kOffset + 9] ^= std::byte{1};
  EXPECT_TRUE(absl::IsDataLoss(NodeRecord(&region).Open()));
}

}  // namespace
}  // namespace kamino::replica
