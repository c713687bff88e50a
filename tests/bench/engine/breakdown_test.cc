#include "bench/engine/breakdown.h"

#include <cstring>
#include <optional>

#include "bench/engine/micro.h"
#include "bench/engine/results.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/bench/engine/fixture.h"

namespace kamino::bench {
namespace {

using engine::ObjectId;
using ::testing::HasSubstr;

const StoreSpec kSimple = {"kamino-simple", {}};
constexpr absl::Duration kWait = absl::Milliseconds(100);

// The object's bytes after an Overwrite at that stage.
char ByteAfter(StagedStore& store, ObjectId id, Stage stage) {
  store.SetStage(stage);
  std::array<std::byte, 64> bytes;
  bytes.fill(std::byte('1' + static_cast<char>(stage)));
  auto transaction = store.Begin(kWait);
  EXPECT_TRUE(transaction->Overwrite(id, 0, bytes).ok());
  EXPECT_TRUE(transaction->Commit().ok());
  auto reading = store.Begin(kWait);
  const auto read = reading->Read(id);
  EXPECT_TRUE(read.ok()) << read.status();
  return static_cast<char>((*read)[0]);
}

TEST(StagedStoreTest, StoresReachTheHeapFromTheFlushStage) {
  OpenedStore opened = OpenForTest(kSimple, 4 << 20, Watch::kStages);
  StagedStore store(&opened);
  const ObjectId id = store.root();
  for (Stage stage : kStages) {
    const char byte = ByteAfter(store, id, stage);
    const char stored = static_cast<char>('1' + static_cast<char>(stage));
    EXPECT_EQ(byte, stage >= Stage::kFlushes ? stored : 0) << StageName(stage);
  }
}

TEST(StagedStoreTest, ReadingStagesDoNotAllocate) {
  OpenedStore opened = OpenForTest(kSimple, 4 << 20, Watch::kStages);
  StagedStore store(&opened);
  for (Stage stage : {Stage::kLookUp, Stage::kLocks}) {
    store.SetStage(stage);
    auto transaction = store.Begin(kWait);
    EXPECT_TRUE(absl::IsUnimplemented(transaction->Alloc(64).status()));
    EXPECT_TRUE(absl::IsUnimplemented(transaction->Free(store.root())));
    EXPECT_TRUE(absl::IsNotFound(transaction->Read(64).status()));
  }
}

// Counts what comes through.
class Tally final : public engine::Region {
 public:
  std::byte* base() const override { return nullptr; }
  size_t size() const override { return 0; }
  void Flush(const void*, size_t) override { ++flushes; }
  void Drain() override { ++drains; }
  void CopyFlush(void* destination, const void*, size_t) override {
    ++copies;
    last = destination;
  }

  int flushes = 0, drains = 0, copies = 0;
  void* last = nullptr;
};

TEST(StagedRegionTest, ForwardsOnlySelectedCalls) {
  Tally below;
  StagedRegion region(&below);
  std::array<std::byte, 8> to{};
  const auto use = [&] {
    below.flushes = below.drains = below.copies = 0;
    region.CopyFlush(to.data(), "1234567", to.size());
    region.Persist(to.data(), to.size());
  };
  use();
  EXPECT_EQ(below.flushes + below.drains + below.copies, 3);
  region.Do(StagedRegion::Does::kNothing);
  use();
  EXPECT_EQ(below.flushes + below.drains + below.copies, 0);
  // Something to wait for, elsewhere.
  region.Do(StagedRegion::Does::kDrains);
  use();
  EXPECT_EQ(below.flushes, 0);
  EXPECT_EQ(below.drains, 1);
  EXPECT_EQ(below.copies, 1);
  EXPECT_NE(below.last, to.data());
}

TEST(BreakdownTest, HasAPartForEachStage) {
  auto folder = PoolFolder::Create(::testing::TempDir());
  ASSERT_TRUE(folder.ok()) << folder.status();
  RaceOptions options;
  options.wanted = [](const std::string& name) {
    return name == "breakdown/overwrite-bytes/hot/1/64" ||
           name == "breakdown/alloc-link-free/uniform/1/1024";
  };
  options.rounds = 3;
  options.slice = absl::Milliseconds(2);
  options.warm_up = absl::Milliseconds(1);
  std::vector<BreakdownRow> rows;
  absl::Status done = RunBreakdown(
      *MakeMicroSuite(Scale::kCount), {kSimple, {"undo-range", {}}}, **folder,
      options, [](const std::string&) {}, &rows);
  ASSERT_TRUE(done.ok()) << done;
  ASSERT_EQ(rows.size(), 2u);  // libpmemobj cannot be taken apart
  for (const auto& part : rows[0].nanos) EXPECT_TRUE(part.has_value());
  EXPECT_GT(*rows[0].nanos[0], 0);
  // Allocates, so that there is no stage which only reads.
  EXPECT_EQ(rows[1].nanos[0], std::nullopt);
  EXPECT_EQ(rows[1].nanos[1], std::nullopt);
  for (const BreakdownRow& row : rows) EXPECT_GT(row.total(), 0);
  EXPECT_THAT(ToTable(rows), HasSubstr("alloc-link-free uniform 1024 B x1"));
  EXPECT_THAT(ToJson("engine", {}, {}, rows),
              HasSubstr("\"index, look-up\": null"));
}

}  // namespace
}  // namespace kamino::bench
