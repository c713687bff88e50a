#include "replica/log/node_record.h"

#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "replica/log/ring_format.h"

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

TEST(NodeRecordTest, SurvivesReopening) {
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
  for (uint64_t updates = 1; updates < 4; ++updates) {
    for (int drain = 1; drain <= 2; ++drain) {
      for (uint64_t seed = 0; seed < 64; ++seed) {
        engine::SimRegion region(kBytes);
        NodeRecord record(&region);
        record.Create(Some(1));
        for (uint64_t i = 1; i < updates; ++i) record.Update(Some(1 + i));
        engine::SimRegion::Image image;
        int drains = 0;
        region.SetDrainHook([&] {
          if (++drains == drain) image = region.CrashImage(seed);
        });
        record.Update(Some(1 + updates));
        engine::SimRegion after(image);
        for (int opened = 0; opened < 2; ++opened) {
          NodeRecord read(&after);
          ASSERT_TRUE(read.Open().ok()) << updates << ", " << drain;
          if (opened == 1) continue;
          old_ones += read.state().view_id == updates;
          new_ones += read.state().view_id == 1 + updates;
        }
      }
    }
  }
  EXPECT_EQ(old_ones + new_ones, 3 * 2 * 64);
  EXPECT_GT(old_ones, 0);
  EXPECT_GT(new_ones, 0);
}

std::byte* CopyOf(engine::SimRegion* region, int version, int copy) {
  return region->base() + ring_format::kRecordOffsets[copy] +
         version * sizeof(ring_format::RecordLine);
}

void Flip(engine::SimRegion* region, int version, int copy, size_t byte) {
  CopyOf(region, version, copy)[byte] ^= std::byte{0x20};
}

TEST(NodeRecordTest, ADamagedCopyIsRestoredFromTheOther) {
  for (uint64_t updates = 0; updates < 4; ++updates) {
    const int current = static_cast<int>(updates % 2);
    for (size_t byte = 0; byte < sizeof(ring_format::RecordLine); ++byte) {
      engine::SimRegion region(kBytes);
      NodeRecord record(&region);
      record.Create(Some(1));
      for (uint64_t i = 1; i <= updates; ++i) record.Update(Some(1 + i));
      // And again: the copy was restored.
      for (int copy : {0, 1, 0}) {
        Flip(&region, current, copy, byte);
        NodeRecord read(&region);
        ASSERT_TRUE(read.Open().ok()) << byte;
        EXPECT_EQ(read.state().view_id, 1 + updates) << byte;
      }
    }
  }
}

// The record must not lose a state of the node silently.
TEST(NodeRecordTest, AnEarlierVersionDoesNotReplaceALostOne) {
  for (uint64_t updates = 0; updates < 4; ++updates) {
    const int current = static_cast<int>(updates % 2);
    engine::SimRegion region(kBytes);
    EXPECT_TRUE(absl::IsDataLoss(NodeRecord(&region).Open()));
    NodeRecord record(&region);
    record.Create(Some(1));
    for (uint64_t i = 1; i <= updates; ++i) record.Update(Some(1 + i));
    Flip(&region, current, 0, 9);
    Flip(&region, current, 1, 30);
    EXPECT_TRUE(absl::IsDataLoss(NodeRecord(&region).Open())) << updates;
  }
}

}  // namespace
}  // namespace kamino::replica
