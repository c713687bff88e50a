// Ranges compared with a version: the cost, and that a summary always gives the
// same answer as the records.
#include "engine/index/version_summary.h"

#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/heap/heap_reader.h"
#include "engine/index/key_value.h"
#include "gtest/gtest.h"
#include "tests/engine/index/memory_transaction.h"
#include "tests/engine/kamino/fixture.h"
#include "tests/faults/fault.h"

namespace kamino::engine {
namespace {

// --- What a comparison costs.

constexpr int kMany = 200000;
// A page at each level at both ends of the range, and the records of two
// leaves.
constexpr uint64_t kFew = 500;

std::string Key(int i) { return absl::StrFormat("key/%06d", i); }

class ManyKeysTest : public ::testing::Test {
 protected:
  ManyKeysTest() : root_(*BTree::Create(objects_)) {
    for (int i = 0; i < kMany; ++i) Put(static_cast<int>(i * 7919LL % kMany));
    EXPECT_TRUE(*Summarize(~uint64_t{0}));
    reads_ = objects_.reads();
  }

  void Put(int i) {
    ASSERT_TRUE(KeyValue(&objects_, root_, &summary_)
                    .Put(Key(i), "v", ++version_)
                    .ok());
  }
  absl::StatusOr<bool> Summarize(uint64_t objects) {
    return KeyValueReader(&objects_, root_, &summary_).Summarize(objects);
  }
  bool Unchanged(int begin, int end, uint64_t since) {
    reads_ = objects_.reads();
    const bool unchanged =
        *KeyValueReader(&objects_, root_, &summary_)
             .RangeUnchangedSince(Key(begin), Key(end), since);
    reads_ = objects_.reads() - reads_;
    return unchanged;
  }

  MemoryTransaction objects_;
  const ObjectId root_;
  VersionSummary summary_;
  uint64_t version_ = 0;
  uint64_t reads_;
};

TEST_F(ManyKeysTest, ASummaryReducesReads) {
  KeyValueReader without(&objects_, root_);
  EXPECT_TRUE(*without.RangeUnchangedSince(Key(1), Key(kMany - 1), version_));
  EXPECT_GE(objects_.reads() - reads_, static_cast<uint64_t>(kMany - 2));
  EXPECT_TRUE(Unchanged(1, kMany - 1, version_));
  EXPECT_LE(reads_, kFew);
}

TEST_F(ManyKeysTest, OnlyChangesWithinTheRangeCount) {
  const uint64_t before = version_;
  Put(kMany / 2);
  EXPECT_FALSE(Unchanged(1, kMany - 1, before));
  EXPECT_LE(reads_, kFew);
  EXPECT_TRUE(Unchanged(1, kMany / 2, before));
  EXPECT_LE(reads_, kFew);
  EXPECT_TRUE(Unchanged(kMany / 2 + 1, kMany - 1, before));
  EXPECT_LE(reads_, kFew);
}

// Each cut leaves halves that note too much.
TEST_F(ManyKeysTest, SplitPagesCostLittle) {
  const uint64_t before = version_;
  for (int i = 0; i < 20000; ++i) {
    ASSERT_TRUE(KeyValue(&objects_, root_, &summary_)
                    .Put(absl::StrCat(Key(1000), "/", i), "v", ++version_)
                    .ok());
  }
  EXPECT_FALSE(Unchanged(1, kMany - 1, before));
  EXPECT_LE(reads_, kFew);
  EXPECT_TRUE(Unchanged(1, 1001, version_));
  EXPECT_TRUE(Unchanged(1001, kMany - 1, before));
  EXPECT_LE(reads_, kFew);
  EXPECT_TRUE(Unchanged(1, 1000, before));
  EXPECT_LE(reads_, kFew);
}

TEST_F(ManyKeysTest, ASummaryIsBuiltInSteps) {
  summary_.ForgetAll();
  constexpr uint64_t kSlice = 1000;
  int slices = 1;
  for (reads_ = objects_.reads(); !*Summarize(kSlice); ++slices) {
    // No slice takes much longer than its limit.
    ASSERT_LE(objects_.reads() - reads_, kSlice + kFew);
    reads_ = objects_.reads();
    if (slices % 10 == 0) Put(slices);
  }
  EXPECT_GE(slices, kMany / static_cast<int>(kSlice) / 2);
  EXPECT_TRUE(Unchanged(1, kMany - 1, version_));
  EXPECT_LE(reads_, kFew);
}

// --- The same answers as the records.

// Transactions on a heap, some of them aborted, and comparisons with a summary
// and without. Returns the violation; empty: none.
class Comparisons {
 public:
  explicit Comparisons(uint32_t seed) : random_(seed), under_(Scheme::kSimple) {
    auto transaction = under_.Begin();
    root_ = *BTree::Create(*transaction);
    EXPECT_TRUE(transaction->Commit().ok());
    under_.Propagate();
  }

  std::string Run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      if (random_() % 50 == 0) summary_.ForgetAll();
      HeapReader reader(&under_.heap());
      if (!KeyValueReader(&reader, root_, &summary_)
               .Summarize(random_() % 40)
               .ok()) {
        return "it cannot be summarized";
      }
      Change(/*growing=*/round % 1000 < 600);
      std::string wrong = Compare();
      if (!wrong.empty()) return absl::StrCat("round ", round, ": ", wrong);
    }
    return "";
  }

 private:
  // Long, so that pages are cut and emptied all the time.
  std::string RandomKey() {
    return absl::StrCat(std::string(random_() % 200, 'k'), random_() % 400);
  }

  void Change(bool growing) {
    auto transaction = under_.Begin();
    KeyValue objects(transaction.get(), root_, &summary_);
    std::set<std::string> keys = keys_;
    ++version_;
    for (int i = 1 + random_() % 8; i > 0; --i) {
      std::string key = RandomKey();
      if (!keys.empty() && random_() % 4 != 0) {
        key = *std::next(keys.begin(), random_() % keys.size());
      }
      const uint32_t kind = random_() % 10;
      if (kind < (growing ? 7 : 1)) {
        EXPECT_TRUE(
            objects.Put(key, std::string(random_() % 60, 'v'), version_).ok());
        keys.insert(key);
      } else if (kind < 8 && !growing) {
        if (objects.Delete(key, version_).ok()) keys.erase(key);
      } else {
        objects.Patch(key, 0, "", version_).IgnoreError();
      }
    }
    const bool commits = random_() % 3 != 0;
    if (commits) {
      EXPECT_TRUE(transaction->Commit().ok());
      summary_.Keep();
      keys_ = std::move(keys);
    } else {
      EXPECT_TRUE(transaction->Abort().ok());
      summary_.RollBack();
    }
    under_.Propagate();
  }

  std::string Compare() {
    HeapReader reader(&under_.heap());
    std::string start = random_() % 4 == 0 ? "" : RandomKey();
    std::string end = random_() % 4 == 0 ? "" : RandomKey();
    if (!end.empty() && end < start) std::swap(start, end);
    const uint64_t since =
        version_ - std::min<uint64_t>(version_, random_() % 9);
    const bool with = *KeyValueReader(&reader, root_, &summary_)
                           .RangeUnchangedSince(start, end, since);
    const bool without =
        *KeyValueReader(&reader, root_).RangeUnchangedSince(start, end, since);
    if (with == without) return "";
    return absl::StrCat("[", start, ", ", end, ") since ", since, " of ",
                        version_, ": ", with, " with a summary, ", without,
                        " without");
  }

  std::mt19937 random_;
  StoreUnderTest under_;
  ObjectId root_ = kNullObject;
  VersionSummary summary_;
  std::set<std::string> keys_;
  uint64_t version_ = 0;
};

std::string Compare(int seeds) {
  for (int seed = 1; seed <= seeds; ++seed) {
    std::string wrong = Comparisons(seed).Run(/*rounds=*/2000);
    if (!wrong.empty()) return absl::StrCat("seed ", seed, ": ", wrong);
  }
  return "";
}

TEST(VersionSummaryTest, AgreesWithTheRecords) { EXPECT_EQ(Compare(4), ""); }

class FaultyTest : public ::testing::TestWithParam<const char*> {};

TEST_P(FaultyTest, PlantedFaultIsDetected) {
  faults::PlantFault(GetParam());
  EXPECT_NE(Compare(20), "");
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

INSTANTIATE_TEST_SUITE_P(All, FaultyTest,
                         ::testing::Values("summary-not-told-of-patches",
                                           "summary-not-told-of-heirs",
                                           "summary-rolls-back-too-much"));

// --- Aborted transactions.

TEST(VersionSummaryTest, RollBackRestoresEarlierNotes) {
  VersionSummary summary;
  summary.Note(64, 5);
  summary.Raise(64, 9);
  summary.Inherit(128, 64);
  summary.Raise(128, 10);
  summary.Forget(64);
  EXPECT_EQ(summary.Newest(64), VersionSummary::kUnknown);
  EXPECT_EQ(summary.Newest(128), 10u);
  summary.RollBack();
  EXPECT_EQ(summary.Newest(64), 5u);
  EXPECT_EQ(summary.Newest(128), VersionSummary::kUnknown);
  EXPECT_EQ(summary.pages(), 1u);
}

TEST(VersionSummaryTest, RaiseIgnoresUnknownPages) {
  VersionSummary summary;
  summary.Raise(64, 9);
  summary.Keep();
  EXPECT_EQ(summary.Newest(64), VersionSummary::kUnknown);
}

}  // namespace
}  // namespace kamino::engine
