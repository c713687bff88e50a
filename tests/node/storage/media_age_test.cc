#include "node/storage/media_age.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/undo_copy_kind.h"
#include "engine/pmem/sim_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node/storage/storage.h"
#include "tests/faults/planted.h"
#include "tests/node/storage/sim_media.h"
#include "tests/node/storage/tiny_storage.h"

namespace kamino::node {
namespace {

using ::testing::HasSubstr;

TEST(MediaAgeTest, RegionsMayBeOneDrainApart) {
  engine::SimRegion first(64u << 10);
  engine::SimRegion second(64u << 10);
  MediaAge heap(&first, "heap");
  MediaAge undo_copy(&second, "backup");
  heap.mark()->Reset(3);
  undo_copy.mark()->Reset(3);
  undo_copy.mark()->Mark(5);
  EXPECT_TRUE(heap.CheckBeside(undo_copy).ok());
  EXPECT_TRUE(undo_copy.CheckBeside(heap).ok());
  undo_copy.mark()->OnDrained();
  undo_copy.mark()->Mark(6);
  const char text[] =
      "heap is older than backup: it has applied the mutations up to 3, "
      "the other one those up to 5";
  EXPECT_THAT(std::string(heap.CheckBeside(undo_copy).message()),
              HasSubstr(text));
  EXPECT_THAT(std::string(undo_copy.CheckBeside(heap).message()),
              HasSubstr(text));
}

// A node whose files were moved away counts its starts from another number,
// which does not say which of two lives was the earlier one.
class TwoLivesTest : public ::testing::Test {
 protected:
  // The heap and the ring are of the life that counts from 1000, the undo copy
  // of the one that counts from `other`.
  std::string Refused(uint64_t other) {
    SimDisk::Images first = Head(1000);
    first.erase(Media::Part::kUndoCopy);
    Head(other);
    disk_.PutBack(first);
    const absl::Status refused = Open(1000).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    return std::string(refused.message());
  }

 private:
  absl::StatusOr<std::unique_ptr<Storage>> Open(uint64_t first_incarnation) {
    StorageOptions options = Tiny();
    options.first_incarnation = first_incarnation;
    return Storage::Open(options, std::make_unique<SimMedia>(&disk_));
  }
  SimDisk::Images Head(uint64_t first_incarnation) {
    disk_ = SimDisk();
    auto storage = Open(first_incarnation);
    EXPECT_TRUE(storage.ok()) << storage.status();
    EXPECT_TRUE((*storage)->NewUndoCopy().ok());
    replica::NodeState state = (*storage)->record()->state();
    state.was_head = true;
    state.condition = membership::Condition::kSound;
    (*storage)->record()->Update(state);
    return disk_.Copy();
  }

  SimDisk disk_;
};

TEST_F(TwoLivesTest, NeitherHeapIsCalledTheOlderOne) {
  for (const uint64_t other : {7u, 1000u, 5000u}) {
    const std::string why = Refused(other);
    EXPECT_THAT(why, HasSubstr("backup belongs to another heap than heap: "));
    EXPECT_THAT(why, HasSubstr("move all of this node's files away"));
  }
}

TEST_F(TwoLivesTest, AnAgeByIncarnationsIsDetected) {
  faults::Planted fault("storage-compares-incarnations-of-two-heaps");
  EXPECT_THAT(Refused(7), HasSubstr("backup is older than ring: "));
  EXPECT_THAT(Refused(5000), HasSubstr("ring is older than backup: "));
}

}  // namespace
}  // namespace kamino::node
