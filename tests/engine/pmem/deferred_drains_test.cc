#include "engine/pmem/deferred_drains.h"

#include <cstdint>
#include <memory>

#include "engine/pmem/counting_region.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

class DeferredDrainsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Region> Wrap(SimRegion* region) {
    return drains_.Wrap(std::make_unique<CountingRegion>(region));
  }
  static void Store(Region* region, uint8_t byte) {
    region->base()[0] = std::byte{byte};
    region->Persist(region->base(), 1);
  }
  // The byte after a crash that loses everything not durable.
  static std::byte Durable(const SimRegion& region) {
    for (uint64_t seed = 0; seed < 16; ++seed) {
      if (region.CrashImage(seed)[0] != region.base()[0]) return std::byte{0};
    }
    return region.base()[0];
  }

  DeferredDrains drains_;
  SimRegion first_{4096};
  SimRegion second_{4096};
};

TEST_F(DeferredDrainsTest, DrainsAtOnceUnlessDeferred) {
  const auto region = Wrap(&first_);
  Store(region.get(), 1);
  EXPECT_EQ(Durable(first_), std::byte{1});
}

TEST_F(DeferredDrainsTest, EndMakesAllRegionsDurable) {
  const auto first = Wrap(&first_);
  const auto second = Wrap(&second_);
  drains_.Begin();
  Store(first.get(), 1);
  Store(second.get(), 2);
  EXPECT_EQ(Durable(first_), std::byte{0});
  EXPECT_EQ(Durable(second_), std::byte{0});
  drains_.End();
  EXPECT_FALSE(drains_.deferred());
  EXPECT_EQ(Durable(first_), std::byte{1});
  EXPECT_EQ(Durable(second_), std::byte{2});
  Store(first.get(), 3);
  EXPECT_EQ(Durable(first_), std::byte{3});
}

TEST_F(DeferredDrainsTest, ARegionMayBeDestroyedWhileDrainsAreDeferred) {
  const auto first = Wrap(&first_);
  drains_.Begin();
  Wrap(&second_).reset();
  Store(first.get(), 1);
  drains_.End();
  EXPECT_EQ(Durable(first_), std::byte{1});
}

}  // namespace
}  // namespace kamino::engine
