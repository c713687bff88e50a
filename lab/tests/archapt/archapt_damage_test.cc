// A log that a medium has damaged: recovery notices the damage, or it makes no
// difference.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "lab/archapt/archapt_store.h"
#include "lab/tests/archapt/archapt_fixture.h"

namespace kamino::engine {
namespace {

using archapt_format::kLineBytes;

struct Outcomes {
  int noticed = 0;
  int harmless = 0;
};

class ArchaptDamageTest : public ArchaptTest {
 protected:
  SimRegion::Image Durable() const {
    return {region_.durable(), region_.durable() + region_.size()};
  }
  // Some are committed once, some twice; all physically. Returns the last
  // number.
  uint64_t Work() {
    const auto ids = MakeMany(4, 300);
    for (ObjectId id : ids) Fill(id, 'a', 300);
    store_->Quiesce();
    auto aborted = Begin();
    EXPECT_TRUE(aborted->Overwrite(ids[3], 0, BytesOf("aborted")).ok());
    EXPECT_TRUE(aborted->Abort().ok());
    Fill(ids[0], 'b', 300);
    const uint64_t last = Fill(ids[1], 'b', 300);
    store_->Quiesce();
    return last;
  }
  // Flips a bit in each used line of the ring, or zeroes the line.
  Outcomes TryLines(const SimRegion::Image& image, uint64_t last) {
    const auto layout = *LayoutOf(*heap_);
    Outcomes outcomes;
    SimRegion damaged(image);
    for (size_t at = layout.ring.ring_begin; at < layout.ring.ring_end;
         at += kLineBytes) {
      const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
      if (std::all_of(&image[at], &image[at] + kLineBytes, is_zero)) continue;
      for (const bool zeros : {false, true}) {
        damaged.Reset(image.data());
        damaged.base()[at + at / kLineBytes % 40] ^= std::byte{0x10};
        if (zeros) std::memset(damaged.base() + at, 0, kLineBytes);
        auto heap = *Heap::Open(&damaged);
        const auto opened = ArchaptStore::Open(options_, heap.get());
        if (!opened.ok()) {
          EXPECT_TRUE(absl::IsDataLoss(opened.status())) << opened.status();
          ++outcomes.noticed;
          continue;
        }
        ++outcomes.harmless;
        EXPECT_EQ((*opened)->recovery_report().last_sequence, last) << at;
        const size_t objects = heap->objects_begin();
        const size_t bytes = heap->objects_end() - objects;
        EXPECT_EQ(std::memcmp(damaged.base() + objects, &image[objects], bytes),
                  0)
            << at;
      }
    }
    return outcomes;
  }
};

// The numbers that the log has given out do not affect recovery.
TEST_F(ArchaptDamageTest, DamageInAClosedStoreIsDetectedOrHarmless) {
  const uint64_t last = Work();
  store_.reset();
  const Outcomes outcomes = TryLines(Durable(), last);
  EXPECT_GT(outcomes.noticed, 1);
  EXPECT_GT(outcomes.harmless, 20);
  store_ = *ArchaptStore::Open(options_, heap_.get());
}

// The same where the store was not closed, and a transaction under way keeps
// earlier records and the newest commit in the ring.
TEST_F(ArchaptDamageTest, DamageInACrashedStoreIsDetectedOrHarmless) {
  const ObjectId id = MakeMany(1)[0];
  auto live = Begin();
  ASSERT_TRUE(live->Write(id, 0, 100).ok());
  ASSERT_TRUE(live->Write(id, 200, 100).ok());
  const uint64_t last = Work();
  const Outcomes outcomes = TryLines(Durable(), last);
  EXPECT_GT(outcomes.noticed, 40);
  ASSERT_TRUE(live->Abort().ok());
}

}  // namespace
}  // namespace kamino::engine
