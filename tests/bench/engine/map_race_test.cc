#include "bench/engine/map_race.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "bench/engine/engine_map.h"
#include "bench/engine/results.h"
#include "bench/engine/ycsb.h"
#include "bench/maps/rival_maps.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::bench {
namespace {

using ::testing::IsSupersetOf;

constexpr uint64_t kRecords = 300;
constexpr uint32_t kBytes = 1000;

std::string NameOf(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class MapTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const auto spec = StoreNamed(GetParam());
    auto map =
        spec.ok()
            ? MakeEngineMap(*spec, folder_ + "/map", kRecords, kBytes)
            : MakeRivalMap(GetParam(), folder_ + "/map", kRecords, kBytes);
    ASSERT_TRUE(map.ok()) << map.status();
    map_ = *std::move(map);
    for (uint64_t key = 1; key <= kRecords; ++key) {
      const absl::Status inserted = map_->Insert(key, RecordOf(key));
      ASSERT_TRUE(inserted.ok()) << inserted;
    }
    const absl::Status loaded = map_->Loaded();
    ASSERT_TRUE(loaded.ok()) << loaded;
  }
  void TearDown() override {
    map_.reset();
    std::filesystem::remove_all(folder_);
  }

  static std::string RecordOf(uint64_t key) {
    return std::string(kBytes, static_cast<char>('a' + key % 26));
  }
  std::string Read(uint64_t key) {
    std::string record(kBytes, 0);
    const absl::Status read = map_->Read(key, record.data());
    EXPECT_TRUE(read.ok()) << read;
    return record;
  }

  const std::string folder_ =
      absl::StrCat(::testing::TempDir(), "/map_test-", GetParam());
  std::unique_ptr<BenchMap> map_;
};

TEST_P(MapTest, HasTheInsertedRecords) {
  for (uint64_t key = 1; key <= kRecords; ++key) {
    EXPECT_EQ(Read(key), RecordOf(key)) << key;
  }
  EXPECT_GE(map_->bytes_used(), kRecords * kBytes);
}

TEST_P(MapTest, UpdatesAFieldAndARecord) {
  std::string expected = RecordOf(7);
  expected.replace(200, 100, std::string(100, '!'));
  ASSERT_TRUE(map_->Update(7, 200, std::string(100, '!')).ok());
  EXPECT_EQ(Read(7), expected);
  ASSERT_TRUE(map_->Update(8, 0, std::string(kBytes, '?')).ok());
  EXPECT_EQ(Read(8), std::string(kBytes, '?'));
  EXPECT_EQ(Read(6), RecordOf(6));
  EXPECT_EQ(Read(9), RecordOf(9));
}

TEST_P(MapTest, ModifyReturnsTheRecordBefore) {
  std::string before(kBytes, 0);
  ASSERT_TRUE(map_->Modify(9, 900, std::string(100, '!'), before.data()).ok());
  EXPECT_EQ(before, RecordOf(9));
  EXPECT_EQ(Read(9), RecordOf(9).substr(0, 900) + std::string(100, '!'));
}

TEST_P(MapTest, AMissingRecordIsAnError) {
  std::string record(kBytes, 0);
  EXPECT_TRUE(absl::IsNotFound(map_->Read(kRecords + 1, record.data())));
}

INSTANTIATE_TEST_SUITE_P(All, MapTest, ::testing::ValuesIn(AllMaps()), NameOf);

class MapRaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = PoolFolder::Create(::testing::TempDir());
    ASSERT_TRUE(folder.ok()) << folder.status();
    folder_ = *std::move(folder);
    options_.rounds = 2;
    options_.slice = options_.warm_up = absl::Milliseconds(1);
  }

  std::vector<Row> Run(const std::string& cells) {
    options_.wanted = [cells](const std::string& name) {
      return name.find(cells) != std::string::npos;
    };
    std::vector<Row> rows;
    const absl::Status done = RunMaps(
        MapScaleOf(Scale::kCount), AllMaps(), *folder_, options_,
        [](const std::string&) {}, &rows);
    EXPECT_TRUE(done.ok()) << done;
    return rows;
  }

  std::unique_ptr<PoolFolder> folder_;
  RaceOptions options_;
};

TEST_F(MapRaceTest, MeasuresEachMapInEachCell) {
  const std::vector<Row> rows = Run("/hot/");
  EXPECT_EQ(rows.size(), 7 * AllMaps().size());
  for (const Row& row : rows) {
    EXPECT_EQ(row.rounds.size(), 2u);
    EXPECT_GT(Throughput(row), 0) << row.store.Name();
    EXPECT_GT(row.bytes_storage, 0u) << row.store.Name();
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_->path()));
}

TEST_F(MapRaceTest, TheLargeSizeHasOnlyTheFastestMapsOfLibpmemobj) {
  std::set<std::string> large;
  int of_libpmemobj = 0;
  for (const Row& row : Run("ycsb-a-whole/")) {
    if (row.cell.distribution != "large") continue;
    EXPECT_TRUE(large.insert(row.store.scheme).second);
    of_libpmemobj += row.store.scheme.rfind("pmemobj-", 0) == 0;
  }
  EXPECT_THAT(large, IsSupersetOf({"kamino-simple", "undo-own", "undo-object",
                                   "lmdb", "rocksdb"}));
  EXPECT_EQ(of_libpmemobj, 2);
}

TEST_F(MapRaceTest, ASizeThatDoesNotFitIsAnError) {
  options_.wanted = [](const std::string&) { return true; };
  std::vector<Row> rows;
  MapScale scale = MapScaleOf(Scale::kCount);
  scale.hot_records = uint64_t{1} << 40;
  const absl::Status done = RunMaps(
      scale, AllMaps(), *folder_, options_, [](const std::string&) {}, &rows);
  EXPECT_TRUE(absl::IsResourceExhausted(done)) << done;
  EXPECT_TRUE(rows.empty());
}

}  // namespace
}  // namespace kamino::bench
