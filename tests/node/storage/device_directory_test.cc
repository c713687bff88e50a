#include "node/storage/device_directory.h"

#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/pmem/sim_region.h"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::node {
namespace {

using device_format::Directory;
using device_format::kCopyBytes;
using engine::SimRegion;
using ::testing::HasSubstr;

constexpr uint32_t kUnit = 4096;
constexpr size_t kBegin = 2 * kCopyBytes;  // of the extents
constexpr size_t kDevice = kBegin + 16 * kUnit;
constexpr uint64_t kSeeds = 40;  // of each moment at which the power goes

absl::StatusOr<DeviceDirectory> TryOpen(SimRegion* device,
                                        bool format = false) {
  return DeviceDirectory::Open(device, format, kUnit);
}

DeviceDirectory Open(SimRegion* device) {
  auto directory = TryOpen(device);
  EXPECT_TRUE(directory.ok()) << directory.status();
  return *std::move(directory);
}

std::string Refusal(SimRegion* device, bool format = false) {
  auto directory = TryOpen(device, format);
  return directory.ok() ? "opened" : std::string(directory.status().message());
}

Directory* CopyOf(SimRegion* device, size_t copy) {
  return reinterpret_cast<Directory*>(device->base() + copy * kCopyBytes);
}

using Names = std::map<std::string, std::pair<uint64_t, uint64_t>>;

Names NamesOf(const DeviceDirectory& directory) {
  Names found;
  for (const char* name : {"a", "b", "c", "d"}) {
    if (const auto extent = directory.Find(name)) {
      found[name] = {extent->offset, extent->length};
    }
  }
  return found;
}

// --- What it keeps.

TEST(DeviceDirectoryTest, KeepsNames) {
  SimRegion device(kDevice);
  {
    DeviceDirectory directory = Open(&device);
    EXPECT_EQ(directory.Add("a", 3 * kUnit)->offset, kBegin);
    EXPECT_EQ(directory.Add("b", kUnit + 1)->offset, kBegin + 3 * kUnit);
    EXPECT_EQ(directory.Add("c", 64)->offset, kBegin + 5 * kUnit);
    directory.Rename("c", "d");
  }
  SimRegion after(device.CrashImage(1));
  const Names expected = {{"a", {kBegin, 3 * kUnit}},
                          {"b", {kBegin + 3 * kUnit, kUnit + 1}},
                          {"d", {kBegin + 5 * kUnit, 64}}};
  EXPECT_EQ(NamesOf(Open(&after)), expected);
}

TEST(DeviceDirectoryTest, TakesTheFirstGapThatIsLargeEnough) {
  SimRegion device(kDevice);
  DeviceDirectory directory = Open(&device);
  ASSERT_TRUE(directory.Add("a", 2 * kUnit).ok());
  ASSERT_TRUE(directory.Add("b", 2 * kUnit).ok());
  ASSERT_TRUE(directory.Add("c", kUnit).ok());
  directory.Remove("b");
  directory.Remove("never was");
  EXPECT_EQ(directory.Add("d", 3 * kUnit)->offset, kBegin + 5 * kUnit);
  EXPECT_EQ(directory.Add("b", 2 * kUnit)->offset, kBegin + 2 * kUnit);
}

TEST(DeviceDirectoryTest, RenameReplacesTheExtentOfThatName) {
  SimRegion device(kDevice);
  DeviceDirectory directory = Open(&device);
  ASSERT_TRUE(directory.Add("a", kUnit).ok());
  const uint64_t newer = directory.Add("b", kUnit)->offset;
  directory.Rename("b", "a");
  EXPECT_EQ(directory.Find("a")->offset, newer);
  EXPECT_FALSE(directory.Find("b").has_value());
  EXPECT_EQ(directory.Add("c", kUnit)->offset, kBegin);
}

TEST(DeviceDirectoryTest, ReportsThatThereIsNoRoom) {
  SimRegion device(kDevice);
  DeviceDirectory directory = Open(&device);
  const auto extent = directory.Add("a", 16 * kUnit + 1);
  EXPECT_TRUE(absl::IsResourceExhausted(extent.status())) << extent.status();
  EXPECT_FALSE(directory.Find("a").has_value());
  EXPECT_TRUE(directory.Add("a", 16 * kUnit).ok());
  EXPECT_FALSE(directory.Add("b", 1).ok());
}

// --- What it refuses.

TEST(DeviceDirectoryTest, RefusesATooSmallDevice) {
  SimRegion device(kBegin);
  EXPECT_THAT(Refusal(&device), HasSubstr("too few for a node's data"));
}

TEST(DeviceDirectoryTest, TakesAForeignDeviceOnlyWhenTold) {
  SimRegion device(kDevice);
  device.base()[1080] = std::byte{0x53};  // as a file system has it
  device.Persist(device.base() + 1080, 1);
  const SimRegion::Image before = device.CrashImage(0);
  EXPECT_THAT(Refusal(&device), HasSubstr("magic is missing"));
  EXPECT_EQ(std::memcmp(device.base(), before.data(), kDevice), 0);
  EXPECT_EQ(Refusal(&device, true), "opened");
  EXPECT_EQ(Refusal(&device), "opened");
}

TEST(DeviceDirectoryTest, DoesNotReformatADeviceOfKamino) {
  SimRegion device(kDevice);
  ASSERT_TRUE(Open(&device).Add("a", kUnit).ok());
  EXPECT_TRUE(TryOpen(&device, true)->Find("a").has_value());
}

TEST(DeviceDirectoryTest, RefusesADamagedOrNewerDirectory) {
  const struct {
    const char* what;
    std::function<void(Directory*)> change;
  } cases[] = {
      {"directory is damaged: checksum", [](Directory* d) { ++d->sequence; }},
      {"device format is version 2", [](Directory* d) { d->version = 2; }},
      {"directory is damaged: checksum",
       [](Directory* d) { d->slots[0].offset += kUnit; }}};
  for (const auto& each : cases) {
    SimRegion device(kDevice);
    ASSERT_TRUE(Open(&device).Add("a", kUnit).ok());
    for (size_t copy : {0, 1}) each.change(CopyOf(&device, copy));
    for (const bool format : {false, true}) {
      EXPECT_THAT(Refusal(&device, format), HasSubstr(each.what));
    }
  }
}

TEST(DeviceDirectoryTest, RefusesADeviceOfAnotherSize) {
  SimRegion device(kDevice);
  Open(&device);
  SimRegion::Image image(device.base(), device.base() + kDevice);
  image.resize(kDevice + kUnit);
  SimRegion grown(image);
  EXPECT_THAT(Refusal(&grown), HasSubstr("truncated or grown"));
}

// --- What it survives.

TEST(DeviceDirectoryTest, OneCopyIsEnough) {
  for (size_t copy : {0, 1}) {
    SimRegion device(kDevice);
    ASSERT_TRUE(Open(&device).Add("a", kUnit).ok());
    std::memset(CopyOf(&device, copy), 0x5a, kCopyBytes);
    EXPECT_TRUE(Open(&device).Find("a").has_value()) << copy;
    // The copy was repaired: the other one may go now.
    std::memset(CopyOf(&device, 1 - copy), 0x5a, kCopyBytes);
    EXPECT_TRUE(Open(&device).Find("a").has_value()) << copy;
  }
}

// Lets the power go at each drain and each flush of `change`, in several ways,
// and calls check(image) for what that leaves. Returns how many moments.
int AtEachMoment(SimRegion* device, const std::function<void()>& change,
                 const std::function<void(const SimRegion::Image&)>& check) {
  int moments = 0;
  const auto crash = [&] {
    ++moments;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      check(device->CrashImage(seed * 1000 + static_cast<uint64_t>(moments)));
    }
  };
  device->SetDrainHook(crash);
  device->SetFlushHook(crash);
  change();
  device->SetDrainHook(nullptr);
  device->SetFlushHook(nullptr);
  crash();
  return moments;
}

class DeviceDirectoryCrashTest : public ::testing::Test {
 protected:
  // Each open of a torn one tells of it.
  void SetUp() override { FLAGS_minloglevel = google::WARNING; }
};

TEST_F(DeviceDirectoryCrashTest, EachChangeIsWholeOrAbsent) {
  const std::function<void(DeviceDirectory*)> changes[] = {
      [](DeviceDirectory* d) { ASSERT_TRUE(d->Add("a", 2 * kUnit).ok()); },
      [](DeviceDirectory* d) { ASSERT_TRUE(d->Add("b", kUnit).ok()); },
      [](DeviceDirectory* d) { d->Rename("b", "a"); },
      [](DeviceDirectory* d) { ASSERT_TRUE(d->Add("c", 100).ok()); },
      [](DeviceDirectory* d) { d->Rename("c", "d"); },
      [](DeviceDirectory* d) { d->Remove("a"); }};
  SimRegion device(kDevice);
  DeviceDirectory directory = Open(&device);
  for (const auto& change : changes) {
    const Names before = NamesOf(directory);
    std::vector<Names> found;
    std::vector<Names> again;
    const int moments = AtEachMoment(
        &device, [&] { change(&directory); },
        [&](const SimRegion::Image& image) {
          SimRegion left(image);
          found.push_back(NamesOf(Open(&left)));
          // A second crash does not change the state that was found.
          SimRegion later(left.CrashImage(7));
          again.push_back(NamesOf(Open(&later)));
        });
    EXPECT_GE(moments, 3);  // a drain for each copy, and the end
    const Names after = NamesOf(directory);
    for (const Names& names : found) {
      EXPECT_TRUE(names == before || names == after);
    }
    EXPECT_EQ(found, again);
    EXPECT_EQ(found.back(), after);  // the method had returned
    const std::set<Names> outcomes(found.begin(), found.end());
    EXPECT_EQ(outcomes, (std::set<Names>{before, after}));
  }
}

TEST_F(DeviceDirectoryCrashTest, FormattingCanBeRepeated) {
  SimRegion device(kDevice);
  const int moments = AtEachMoment(
      &device, [&] { Open(&device); },
      [](const SimRegion::Image& image) {
        SimRegion left(image);
        // Again interrupted, at each moment of that.
        AtEachMoment(
            &left, [&] { EXPECT_EQ(Refusal(&left), "opened"); },
            [](const SimRegion::Image& second) {
              SimRegion again(second);
              EXPECT_EQ(Refusal(&again), "opened");
            });
      });
  EXPECT_GE(moments, 5);
}

}  // namespace
}  // namespace kamino::node
