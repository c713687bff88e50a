#include "replica/state_transfer.h"

#include <cstring>
#include <memory>
#include <random>

#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"

namespace kamino::replica {
namespace {

using engine::SimRegion;
using engine::TrackedRegion;
using kamino::internal::v1::StateChunk;

constexpr size_t kPage = TrackedRegion::kPageBytes;
constexpr size_t kBegin = 3 * kPage;
constexpr size_t kBytes = 300 * kPage + 128;

class StateTransferTest : public testing::Test {
 protected:
  void Store(size_t offset, size_t length) {
    std::string bytes(length, '\0');
    for (char& c : bytes) c = static_cast<char>(random_());
    source_.CopyFlush(source_.base() + offset, bytes.data(), length);
  }
  // Takes up to `most` chunks over.
  size_t Move(StateSender* sender, size_t most) {
    StateChunk chunk;
    size_t moved = 0;
    while (moved < most && sender->NextChunk(&chunk)) {
      EXPECT_TRUE(StoreChunk(chunk, &target_, kBegin).ok());
      ++moved;
    }
    return moved;
  }
  bool Equal() const {
    return std::memcmp(source_.base() + kBegin, target_.base() + kBegin,
                       kBytes - kBegin) == 0;
  }

  std::mt19937 random_{1};
  TrackedRegion source_{std::make_unique<SimRegion>(kBytes)};
  SimRegion target_{kBytes};
};

TEST_F(StateTransferTest, CopiesWhatChangesMeanwhile) {
  Store(kBegin + 5, 60 * kPage);
  Store(200 * kPage, 10 * kPage);
  // What the target held before is gone, also where the source has zeros.
  std::memset(target_.base() + kBegin, 0x77, kBytes - kBegin);
  StateSender sender(&source_, kBegin);
  EXPECT_EQ(sender.BytesLeft(), kBytes - kBegin);
  for (int i = 0; i < 50; ++i) {
    Store(kBegin + random_() % (kBytes - kBegin - 100), 100);
    EXPECT_LE(Move(&sender, 1), 1u);
  }
  EXPECT_GT(sender.BytesLeft(), 0u);
  Move(&sender, SIZE_MAX);
  EXPECT_EQ(sender.BytesLeft(), 0u);
  EXPECT_TRUE(Equal());
  // What lies before is each node's own.
  EXPECT_EQ(target_.base()[kBegin - 1], std::byte{0});
}

TEST_F(StateTransferTest, LeavesOutWhatIsUnusedUntilItIsUsed) {
  Store(kBegin, kBytes - kBegin);
  StateSender sender(
      &source_, kBegin,
      {{10 * kPage - 1, 20 * kPage + 1}, {kBytes - 256, kBytes}});
  EXPECT_EQ(sender.BytesLeft(), kBytes - kBegin - 10 * kPage);
  Move(&sender, SIZE_MAX);
  EXPECT_EQ(sender.BytesLeft(), 0u);
  EXPECT_FALSE(Equal());
  EXPECT_EQ(target_.base()[15 * kPage], std::byte{0});
  for (size_t page = 10; page < 20; ++page) Store(page * kPage, kPage);
  EXPECT_EQ(Move(&sender, SIZE_MAX), 10u);
  EXPECT_TRUE(Equal());
}

TEST_F(StateTransferTest, DamageIsDetected) {
  Store(kBegin, kPage);
  StateSender sender(&source_, kBegin);
  StateChunk good;
  ASSERT_TRUE(sender.NextChunk(&good));
  ASSERT_FALSE(good.data().empty());
  StateChunk bad = good;
  (*bad.mutable_data())[100] ^= 1;
  EXPECT_TRUE(absl::IsDataLoss(StoreChunk(bad, &target_, kBegin)));
  bad = good;
  bad.set_offset(good.offset() + 64);
  EXPECT_TRUE(absl::IsDataLoss(StoreChunk(bad, &target_, kBegin)));
  StateChunk zeros;
  ASSERT_TRUE(sender.NextChunk(&zeros));
  ASSERT_GT(zeros.zeros(), 0u);
  bad = zeros;
  bad.set_zeros(zeros.zeros() - 64);
  EXPECT_TRUE(absl::IsDataLoss(StoreChunk(bad, &target_, kBegin)));
  // Outside, before it is looked at.
  for (const uint64_t offset : {kBegin - 64, kBytes - 64, ~uint64_t{0}}) {
    bad = good;
    bad.set_offset(offset);
    EXPECT_TRUE(absl::IsDataLoss(StoreChunk(bad, &target_, kBegin)));
  }
  EXPECT_EQ(target_.base()[kBegin], std::byte{0});
  EXPECT_TRUE(StoreChunk(good, &target_, kBegin).ok());
}

}  // namespace
}  // namespace kamino::replica
