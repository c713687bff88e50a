#include "node/storage/device_media.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>

#include "engine/pmem/sim_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node/storage/storage.h"

namespace kamino::node {
namespace {

using engine::PmemMode;
using engine::Region;
using engine::SimRegion;
using ::testing::HasSubstr;
using Part = Media::Part;

constexpr size_t kUnit = DeviceDirectory::kUnitBytes;

// --- On a file that stands for the device.

class DeviceMediaTest : public ::testing::TestWithParam<PmemMode> {
 protected:
  void SetUp() override {
    std::filesystem::remove(path_);
    std::ofstream(path_).flush();
    std::filesystem::resize_file(path_, 9 * kUnit);
  }

  absl::StatusOr<std::unique_ptr<Media>> TryOpen(bool format = false) {
    return DeviceMedia::Open(path_, GetParam(), format);
  }
  std::unique_ptr<Media> Open() {
    auto media = TryOpen();
    EXPECT_TRUE(media.ok()) << media.status();
    return *std::move(media);
  }

  const std::string path_ = std::string(std::getenv("TEST_TMPDIR")) + "/device";
};

INSTANTIATE_TEST_SUITE_P(Modes, DeviceMediaTest,
                         ::testing::Values(PmemMode::kAuto, PmemMode::kForce));

bool IsZero(const Region& region) {
  return std::all_of(region.base(), region.base() + region.size(),
                     [](std::byte b) { return b == std::byte{0}; });
}

TEST_P(DeviceMediaTest, KeepsPublishedRegions) {
  {
    auto media = Open();
    auto heap = *media->Create(Part::kHeap, kUnit + 5);
    EXPECT_EQ(heap->size(), kUnit + 5);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(heap->base()) % 4096, 0u);
    heap->CopyFlush(heap->base() + kUnit, "hello", 5);
    heap->Drain();
    EXPECT_FALSE(media->Exists(Part::kHeap));
    ASSERT_TRUE(media->Publish(Part::kHeap).ok());
    EXPECT_TRUE(media->Exists(Part::kHeap));
    ASSERT_TRUE(media->Create(Part::kRing, kUnit).ok());
  }
  auto media = Open();
  EXPECT_FALSE(media->Exists(Part::kRing));
  EXPECT_TRUE(absl::IsNotFound(media->Open(Part::kRing).status()));
  auto heap = *media->Open(Part::kHeap);
  EXPECT_EQ(heap->size(), kUnit + 5);
  EXPECT_EQ(std::memcmp(heap->base() + kUnit, "hello", 5), 0);
}

TEST_P(DeviceMediaTest, ZeroesReusedSpace) {
  auto media = Open();
  for (int i = 0; i < 3; ++i) {
    auto region = *media->Create(Part::kUndoCopy, kUnit + kUnit / 2);
    EXPECT_TRUE(IsZero(*region)) << i;
    std::memset(region->base(), 0x5a, region->size());
    region->Persist(region->base(), region->size());
    if (i == 1) {
      ASSERT_TRUE(media->Publish(Part::kUndoCopy).ok());
    }
  }
  // The published one and the unfinished one.
  EXPECT_FALSE(IsZero(**media->Open(Part::kUndoCopy)));
  ASSERT_TRUE(media->Remove(Part::kUndoCopy).ok());
  EXPECT_FALSE(media->Exists(Part::kUndoCopy));
  EXPECT_TRUE(media->Remove(Part::kUndoCopy).ok());
}

TEST_P(DeviceMediaTest, ErrorsNameTheDevice) {
  auto media = Open();
  auto heap = media->Create(Part::kHeap, 100 * kUnit);
  EXPECT_TRUE(absl::IsResourceExhausted(heap.status())) << heap.status();
  EXPECT_THAT(std::string(heap.status().message()), HasSubstr(path_ + ":heap"));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(media->Create(Part::kHeap, 0).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(media->Publish(Part::kHeap)));
  EXPECT_THAT(std::string(TryOpen().status().message()),
              HasSubstr("in use by another process"));
}

TEST_P(DeviceMediaTest, RefusesAForeignDeviceUnlessTold) {
  std::ofstream(path_, std::ios::in) << "someone else's";
  const auto refused = TryOpen();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr(path_ + ": not a device of Kamino"));
  EXPECT_TRUE(TryOpen(true).ok());
  EXPECT_TRUE(TryOpen().ok());
}

TEST_P(DeviceMediaTest, RefusesATooSmallDevice) {
  std::filesystem::resize_file(path_, kUnit);
  EXPECT_THAT(std::string(TryOpen().status().message()),
              HasSubstr("too few for a node's data"));
}

// A region outlives the media that gave it out, as a node's do at its end.
TEST_P(DeviceMediaTest, ARegionKeepsTheDevice) {
  auto media = Open();
  auto ring = *media->Create(Part::kRing, kUnit);
  media.reset();
  ring->Persist(ring->base(), ring->size());
  EXPECT_FALSE(TryOpen().ok());
  ring.reset();
  EXPECT_TRUE(TryOpen().ok());
}

// --- A node's storage on it, and the power goes.

StorageOptions Tiny() {
  StorageOptions options;
  options.cluster_id = "c";
  options.node_id = "n1";
  options.heap_bytes = 128 << 10;
  options.ring_bytes = 64 << 10;
  options.undo_copy = UndoCopyKind::kSimple;
  options.first_incarnation = 1000;
  options.tiny_log_bytes = 64 << 10;
  return options;
}

absl::StatusOr<std::unique_ptr<Storage>> OpenStorage(
    std::shared_ptr<SimRegion> device) {
  auto media = DeviceMedia::Open("device", std::move(device), false, 4096);
  if (!media.ok()) return media.status();
  return Storage::Open(Tiny(), *std::move(media));
}

// An incarnation that a node has used comes never again: what it had published
// is found.
TEST(DeviceStorageTest, IsWholeAfterEachCrash) {
  constexpr size_t kDevice = 1 << 20;
  auto device = std::make_shared<SimRegion>(kDevice);
  int crashes = 0;
  std::set<uint64_t> found;
  const auto check = [&](uint64_t at_least, uint64_t at_most) {
    const auto after =
        std::make_shared<SimRegion>(device->CrashImage(++crashes));
    auto storage = OpenStorage(after);
    ASSERT_TRUE(storage.ok()) << storage.status();
    const uint64_t incarnation = (*storage)->record()->state().incarnation;
    found.insert(incarnation);
    EXPECT_GE(incarnation, at_least);
    EXPECT_LE(incarnation, at_most);
  };
  for (uint64_t start = 0; start < 3; ++start) {
    // The first start has none before it.
    const uint64_t before = start == 0 ? 1000 : 1000 + start;
    device->SetDrainHook([&] { check(before, 1001 + start); });
    auto storage = OpenStorage(device);
    ASSERT_TRUE(storage.ok()) << storage.status();
    EXPECT_EQ((*storage)->record()->state().incarnation, 1000 + start);
    device->SetDrainHook(nullptr);
    check(1001 + start, 1001 + start);
  }
  EXPECT_EQ(found, (std::set<uint64_t>{1000, 1001, 1002, 1003}));
  EXPECT_GT(crashes, 20);
}

}  // namespace
}  // namespace kamino::node
