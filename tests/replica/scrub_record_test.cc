#include "replica/state/scrub_record.h"

#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "replica/state/scrub_format.h"

namespace kamino::replica {
namespace {

constexpr size_t kOffset = 128;

class ScrubRecordTest : public ::testing::Test {
 protected:
  ScrubRecordTest() : region_(4096), record_(&region_, kOffset) {}
  ScrubState Reread() { return ScrubRecord(&region_, kOffset).state(); }

  engine::SimRegion region_;
  ScrubRecord record_;
};

TEST_F(ScrubRecordTest, IsNoCopyAtFirst) {
  EXPECT_FALSE(Reread().copied);
  EXPECT_FALSE(Reread().unresolved.has_value());
}

TEST_F(ScrubRecordTest, IsDurable) {
  record_.Update({.copied = true, .source = "n2", .unresolved = 0});
  const engine::SimRegion::Image image(region_.durable(),
                                       region_.durable() + region_.size());
  engine::SimRegion after(image);
  ScrubRecord reread(&after, kOffset);
  EXPECT_TRUE(reread.state().copied);
  EXPECT_EQ(reread.state().source, "n2");
  EXPECT_EQ(reread.state().unresolved, 0u);
  reread.Update({});
  EXPECT_FALSE(ScrubRecord(&after, kOffset).state().copied);
}

TEST_F(ScrubRecordTest, TheNewestRecordCounts) {
  for (uint64_t range = 0; range < 5; ++range) {
    record_.Update({.copied = false, .source = "", .unresolved = range});
    EXPECT_EQ(Reread().unresolved, range);
  }
}

// An unreadable record counts as a copy of an unknown source, even if a crash
// while it was written made it so.
TEST_F(ScrubRecordTest, AnUnreadableRecordCountsAsACopy) {
  record_.Update({.copied = true, .source = "n2", .unresolved = {}});
  record_.Update({.copied = false, .source = "", .unresolved = {}});
  for (size_t line : {0, 1}) {
    std::byte& byte =
        region_.base()[kOffset + line * sizeof(scrub_format::ScrubLine) + 30];
    byte ^= std::byte{4};
    EXPECT_TRUE(Reread().copied);
    EXPECT_EQ(Reread().source, "");
    byte ^= std::byte{4};
    EXPECT_FALSE(Reread().copied);
  }
}

}  // namespace
}  // namespace kamino::replica
