// Stores by name, and what watches them.
#include "bench/engine/stores.h"

#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/bench/engine/fixture.h"

namespace kamino::bench {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kBytes = 4u << 20;

TEST(StoreNamedTest, NamesRoundTrip) {
  for (const char* name :
       {"kamino-simple", "kamino-dynamic@0.5", "undo-object", "unsafe-each",
        "cached", "undo-each", "rewind-1-noforce-batch+group=16",
        "rewind-1-force-optimized+scans,keeps,alone",
        "rewind-2-force-simple+bucket=10,checkpoint=7", "archapt+unchecked"}) {
    const auto spec = StoreNamed(name);
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(spec->Name(), name);
  }
  EXPECT_EQ(StoreNamed("kamino-dynamic")->alpha, 0.5);
  EXPECT_EQ(StoreNamed("rewind-1-noforce-batch+group=16")->scheme,
            "rewind-1-noforce-batch");
}

TEST(StoreNamedTest, UnknownStoresAndOptionsAreErrors) {
  for (const char* name :
       {"", "nobody", "unsafe@0.5", "kamino-dynamic@2", "kamino-dynamic@x",
        "undo-own+scans", "archapt+scans", "undo-own+unchecked",
        "rewind-1-noforce-batch+gruop=16", "rewind-1-noforce-batch+group=x",
        "rewind-1-noforce-batch+group=0", "rewind-1-noforce-batch+scans=1"}) {
    const auto spec = StoreNamed(name);
    EXPECT_TRUE(absl::IsInvalidArgument(spec.status())) << name;
    EXPECT_THAT(spec.status().message(), HasSubstr(name));
  }
}

TEST(StoreNamedTest, WrapTakesTheOptionAlone) {
  const auto spec = StoreNamed("wrap+alone");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->Name(), "wrap+alone");
  EXPECT_TRUE(spec->alone());
  EXPECT_FALSE(StoreNamed("wrap")->alone());
  EXPECT_FALSE(StoreNamed("wrap+scans").ok());
  EXPECT_FALSE(StoreNamed("undo-own+alone").ok());
}

TEST(StoreNamedTest, OnlyStoresThatRollBackAreAtomic) {
  for (const StoreSpec& spec : MoreStores()) {
    EXPECT_EQ(spec.atomic(),
              spec.scheme != "unsafe-each" && spec.scheme != "cached")
        << spec.scheme;
  }
  EXPECT_FALSE(StoreNamed("unsafe")->atomic());
}

TEST(StoresTest, DirtinessIsTheChangedPartOfALine) {
  OpenedStore opened =
      OpenForTest(*StoreNamed("undo-own"), kBytes, Watch::kDirtiness);
  auto making = opened.store->Begin(absl::ZeroDuration());
  const engine::ObjectId id = *making->Alloc(640);
  ASSERT_TRUE(making->Commit().ok());
  const Dirtiness before = opened.dirtiness();
  // Ten lines with 16 new bytes each, and one that is written as it was.
  auto changing = opened.store->Begin(absl::ZeroDuration());
  const std::vector<std::byte> bytes(16, std::byte{1});
  for (uint32_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(changing->Overwrite(id, 64 * i, bytes).ok());
  }
  ASSERT_TRUE(changing->Overwrite(id, 0, bytes).ok());
  ASSERT_TRUE(changing->Commit().ok());
  const Dirtiness after = opened.dirtiness();
  EXPECT_EQ(after.lines - before.lines, 11u);
  EXPECT_EQ(after.bytes - before.bytes, 160u);
  EXPECT_DOUBLE_EQ((Dirtiness{2, 32}).Average(), 0.25);
  EXPECT_EQ(Dirtiness().Average(), 0);
}

// A log would count as much as what it is of.
TEST(StoresTest, DirtinessExcludesTheLog) {
  for (const char* name :
       {"undo-own", "cow", "rewind-1-force-batch", "wrap", "archapt"}) {
    OpenedStore opened =
        OpenForTest(*StoreNamed(name), kBytes, Watch::kDirtiness);
    auto making = opened.store->Begin(absl::ZeroDuration());
    const engine::ObjectId id = *making->Alloc(640);
    ASSERT_TRUE(making->Commit().ok());
    opened.store->Quiesce();
    const Dirtiness before = opened.dirtiness();
    auto changing = opened.store->Begin(absl::ZeroDuration());
    const std::vector<std::byte> bytes(640, std::byte{1});
    ASSERT_TRUE(changing->Overwrite(id, 0, bytes).ok());
    ASSERT_TRUE(changing->Commit().ok());
    opened.store->Quiesce();
    const Dirtiness after = opened.dirtiness();
    EXPECT_EQ(after.lines - before.lines, 10u) << name;
    EXPECT_EQ(after.bytes - before.bytes, 640u) << name;
  }
}

TEST(StoresTest, LibpmemobjIsNotCountedWithoutTheShim) {
  ASSERT_FALSE(HasPmemShim());
  EXPECT_FALSE(CanCount(*StoreNamed("undo-object")));
  EXPECT_TRUE(CanCount(*StoreNamed("cached")));
}

}  // namespace
}  // namespace kamino::bench
