#include "engine/pmem/tracked_region.h"

#include <cstring>
#include <memory>

#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

constexpr size_t kPage = TrackedRegion::kPageBytes;

TEST(TrackedRegionTest, RemembersPagesFlushedWhileTracking) {
  TrackedRegion region(std::make_unique<SimRegion>(200 * kPage));
  region.Flush(region.base(), 1);
  region.StartTracking();
  EXPECT_EQ(region.dirty_pages(), 0u);
  // Two pages by one flush, the last one by a copy, one twice.
  region.Flush(region.base() + 2 * kPage - 1, 2);
  const char bytes[] = "bytes";
  region.CopyFlush(region.base() + 199 * kPage, bytes, sizeof(bytes));
  region.Flush(region.base() + 2 * kPage + 100, 8);
  region.Flush(region.base() + 5 * kPage, 0);
  EXPECT_EQ(region.dirty_pages(), 3u);
  EXPECT_EQ(region.TakeDirty(0), 1u);
  EXPECT_EQ(region.TakeDirty(2), 2u);
  EXPECT_EQ(region.TakeDirty(3), 199u);
  EXPECT_EQ(region.TakeDirty(0), region.pages());
  EXPECT_EQ(region.dirty_pages(), 0u);
  region.Flush(region.base() + 64 * kPage, 64);
  EXPECT_EQ(region.TakeDirty(0), 64u);
  EXPECT_EQ(std::memcmp(region.base() + 199 * kPage, bytes, sizeof(bytes)), 0);
  region.StopTracking();
  region.Flush(region.base(), 1);
  EXPECT_EQ(region.TakeDirty(0), region.pages());
}

TEST(TrackedRegionTest, CollectsIndependentlyOfTracking) {
  TrackedRegion region(std::make_unique<SimRegion>(100 * kPage));
  PageSet changed(region.pages());
  region.Collect(&changed);
  region.Flush(region.base() + 3 * kPage - 1, 2);
  region.StartTracking(10 * kPage);
  EXPECT_EQ(region.dirty_pages(), 0u);
  region.AddDirty(changed);
  EXPECT_EQ(region.dirty_pages(), 0u);  // they are before its begin
  changed.Add(12);
  region.AddDirty(changed);
  region.Flush(region.base() + 99 * kPage, 1);
  EXPECT_EQ(region.TakeDirty(0), 12u);
  EXPECT_EQ(region.TakeDirty(0), 99u);
  region.StopTracking();
  region.Flush(region.base() + 70 * kPage, 1);
  PageSet later(region.pages());
  region.Collect(&later);
  region.Flush(region.base() + 71 * kPage, 1);
  region.Collect(nullptr);
  region.Flush(region.base() + 72 * kPage, 1);
  EXPECT_EQ(changed.count(), 5u);  // 2, 3, 12, 70 and 99
  EXPECT_EQ(changed.Next(4), 12u);
  EXPECT_EQ(changed.Next(13), 70u);
  EXPECT_EQ(later.count(), 1u);
  EXPECT_EQ(later.Take(0), 71u);
  later.AddAll(changed);
  EXPECT_EQ(later.count(), 5u);
}

// A second tracker would make dirty pages of the first one clean.
TEST(TrackedRegionDeathTest, OnlyOneTrackerIsAllowed) {
  TrackedRegion region(std::make_unique<SimRegion>(2 * kPage));
  region.StartTracking();
  EXPECT_DEATH(region.StartTracking(), "tracking_");
  region.StopTracking();
  region.StartTracking();
  region.Flush(region.base(), 1);
  EXPECT_EQ(region.dirty_pages(), 1u);
}

}  // namespace
}  // namespace kamino::engine
