#include "engine/baselines/archapt/undo_ring.h"

#include <cstring>
#include <string>
#include <vector>

#include "engine/pmem/sim_region.h"
#include "engine/resource_error.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kRing = 4096;
constexpr size_t kObjects = 64u << 10;

class UndoRingTest : public ::testing::Test {
 protected:
  UndoRing Make(Region* region) {
    UndoRing::Place place;
    place.header = reinterpret_cast<archapt_format::LogHeader*>(region->base());
    place.ring_begin = kLine;
    place.ring_end = kLine + kRing;
    place.objects_begin = kRing + kLine;
    place.objects_end = kObjects;
    return UndoRing(region, place, /*seed=*/5);
  }

  // Logs so many bytes at an address, and stores others there.
  absl::Status Change(UndoRing* ring, OwnUndo* own, uint64_t address,
                      const std::string& bytes) {
    std::byte* const at = region_.base() + address;
    absl::Status logged = ring->Append(own, {{address, {at, bytes.size()}}});
    if (logged.ok()) std::memcpy(at, bytes.data(), bytes.size());
    return logged;
  }
  std::string At(uint64_t address, size_t length) {
    return {reinterpret_cast<const char*>(region_.base() + address), length};
  }
  void TakeBack(UndoRing* ring) {
    const auto contents = *ring->Scan();
    for (auto update = contents.updates.rbegin();
         update != contents.updates.rend(); ++update) {
      ring->TakeBack(update->record);
    }
  }

  SimRegion region_{kObjects};
};

TEST_F(UndoRingTest, WhatHasNoEndIsTakenBackInReverse) {
  UndoRing ring = Make(&region_);
  OwnUndo one, two, three;
  ASSERT_TRUE(Change(&ring, &one, 8192, "aaaa").ok());
  ASSERT_TRUE(Change(&ring, &two, 9000, std::string(500, 'x')).ok());
  ASSERT_TRUE(Change(&ring, &one, 8192, "bbbb").ok());
  ring.AppendCommitted({two.transaction}, /*watermark=*/17);
  ASSERT_TRUE(Change(&ring, &three, 8194, "cccc").ok());
  UndoRing after = Make(&region_);
  const auto contents = after.Scan();
  ASSERT_TRUE(contents.ok());
  EXPECT_EQ(contents->watermark, 17u);
  EXPECT_EQ(contents->updates.size(), 3u);
  EXPECT_EQ(contents->transactions, 2u);
  TakeBack(&after);
  EXPECT_EQ(At(8192, 6), std::string(6, '\0'));
  EXPECT_EQ(At(9000, 500), std::string(500, 'x'));
  after.Reset(17);
  EXPECT_TRUE(after.Scan()->updates.empty());
  EXPECT_EQ(after.Scan()->watermark, 17u);
}

TEST_F(UndoRingTest, WhatWasAbortedIsNotTakenBackAgain) {
  UndoRing ring = Make(&region_);
  OwnUndo own;
  ASSERT_TRUE(Change(&ring, &own, 8192, "aaaa").ok());
  ring.TakeBack(own.records[0]);
  ring.AppendAborted(&own);
  EXPECT_EQ(own.transaction, 0u);
  EXPECT_TRUE(ring.Scan()->updates.empty());
}

// Around the end of the ring many times, with records that lie in both ends.
TEST_F(UndoRingTest, GoesRound) {
  UndoRing ring = Make(&region_);
  std::string last(1000, '\0');
  for (int i = 1; i < 200; ++i) {
    OwnUndo own;
    const std::string bytes(1000, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(Change(&ring, &own, 8192, bytes).ok()) << i;
    const auto contents = Make(&region_).Scan();
    ASSERT_TRUE(contents.ok()) << contents.status();
    ASSERT_EQ(contents->updates.size(), 1u);
    TakeBack(&ring);
    ASSERT_EQ(At(8192, 1000), last);
    std::memcpy(region_.base() + 8192, bytes.data(), bytes.size());
    last = bytes;
    ring.AppendCommitted({own.transaction}, i);
    ring.PublishTail();
    ASSERT_EQ(Make(&region_).Scan()->watermark, static_cast<uint64_t>(i));
  }
}

TEST_F(UndoRingTest, AFullRingIsAnErrorAndEndsStillFit) {
  UndoRing ring = Make(&region_);
  OwnUndo owns[8];
  size_t i = 0;
  absl::Status status;
  while (status.ok()) {
    status = Change(&ring, &owns[i], 8192 + 64 * i, std::string(300, 'x'));
    i = (i + 1) % 8;
  }
  EXPECT_EQ(ResourceOf(status), Resource::kLog) << status;
  OwnUndo large;
  EXPECT_EQ(ResourceOf(Change(&ring, &large, 8192, std::string(kRing, 'y'))),
            Resource::kTransaction);
  EXPECT_EQ(large.transaction, 0u);
  std::vector<uint64_t> committed;
  for (int k = 0; k < 4; ++k) committed.push_back(owns[k].transaction);
  ring.AppendCommitted(committed, 4);
  for (int k = 4; k < 8; ++k) {
    for (auto record = owns[k].records.rbegin();
         record != owns[k].records.rend(); ++record) {
      ring.TakeBack(*record);
    }
    ring.AppendAborted(&owns[k]);
  }
  EXPECT_TRUE(ring.Scan()->updates.empty());
  ring.PublishTail();
  EXPECT_TRUE(Change(&ring, &large, 8192, std::string(2000, 'z')).ok());
}

// A crash cuts the last batch short; anything else is damage.
TEST_F(UndoRingTest, AHoleIsDamage) {
  UndoRing ring = Make(&region_);
  OwnUndo own;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(Change(&ring, &own, 8192, "text").ok());
  }
  const auto last_line = own.records[4].line;
  const auto damage = [&](uint64_t line) {
    SimRegion::Image image(region_.base(), region_.base() + region_.size());
    image[kLine + line * kLine + 9] ^= std::byte{1};
    SimRegion damaged(image);
    return Make(&damaged).Scan();
  };
  for (uint64_t line = 0; line < last_line; ++line) {
    EXPECT_TRUE(absl::IsDataLoss(damage(line).status())) << line;
  }
  ASSERT_TRUE(damage(last_line).ok());
  EXPECT_EQ(damage(last_line)->updates.size(), 4u);
  // Of one batch any part may be missing.
  OwnUndo other;
  std::byte* const at = region_.base() + 8192;
  ASSERT_TRUE(ring.Append(&other, {{8192, {at, 8}}, {8200, {at + 8, 8}}}).ok());
  EXPECT_TRUE(damage(other.records[0].line).ok());
  EXPECT_EQ(damage(other.records[0].line)->updates.size(), 5u);
}

TEST_F(UndoRingTest, ADamagedHeaderIsAnError) {
  UndoRing ring = Make(&region_);
  OwnUndo own;
  ASSERT_TRUE(Change(&ring, &own, 8192, "text").ok());
  ring.Reset(9);
  for (size_t at : {0, 3, 8, 12}) {
    SimRegion::Image image(region_.base(), region_.base() + region_.size());
    image[at] ^= std::byte{4};
    SimRegion damaged(image);
    EXPECT_TRUE(absl::IsDataLoss(Make(&damaged).Scan().status())) << at;
  }
}

}  // namespace
}  // namespace kamino::engine
