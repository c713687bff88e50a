#include "node/storage/delayed_media.h"

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "base/clock.h"
#include "gtest/gtest.h"
#include "tests/node/storage/sim_media.h"

namespace kamino::node {
namespace {

using Part = Media::Part;

constexpr engine::PmemDelays kDelays = {3'000'000, 1'000'000};

// By a drain, and by a flush of two lines.
void ExpectDelayed(engine::Region* region) {
  absl::Time before = MonotonicNow();
  region->Drain();
  EXPECT_GE(MonotonicNow() - before, absl::Milliseconds(3));
  before = MonotonicNow();
  region->Flush(region->base() + 63, 2);
  EXPECT_GE(MonotonicNow() - before, absl::Milliseconds(2));
}

TEST(DelayedMediaTest, CreatedAndOpenedRegionsAreDelayed) {
  SimDisk disk;
  const auto media = WithDelays(std::make_unique<SimMedia>(&disk), kDelays);
  EXPECT_FALSE(media->Exists(Part::kRing));
  {
    auto made = media->Create(Part::kRing, 4096);
    ASSERT_TRUE(made.ok()) << made.status();
    ExpectDelayed(made->get());
  }
  ASSERT_TRUE(media->Publish(Part::kRing).ok());
  EXPECT_TRUE(media->Exists(Part::kRing));
  EXPECT_EQ(media->Name(Part::kRing), "ring");
  auto opened = media->Open(Part::kRing);
  ASSERT_TRUE(opened.ok()) << opened.status();
  ExpectDelayed(opened->get());
  EXPECT_TRUE(absl::IsNotFound(media->Open(Part::kHeap).status()));
  ASSERT_TRUE(media->Remove(Part::kRing).ok());
  EXPECT_FALSE(media->Exists(Part::kRing));
}

TEST(DelayedMediaTest, WithoutDelaysTheMediaAreUnchanged) {
  SimDisk disk;
  auto media = std::make_unique<SimMedia>(&disk);
  const Media* const before = media.get();
  EXPECT_EQ(WithDelays(std::move(media), {}).get(), before);
}

}  // namespace
}  // namespace kamino::node
