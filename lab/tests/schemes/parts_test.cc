// Parts of the schemes' bench.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/forwarding_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/schemes/crash.h"
#include "lab/schemes/file_copy.h"
#include "lab/schemes/observed_store.h"
#include "lab/schemes/open_loop.h"
#include "lab/schemes/part.h"
#include "lab/schemes/results.h"
#include "lab/schemes/small_tree.h"
#include "lab/schemes/words.h"

namespace kamino::bench::schemes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PartsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = PoolFolder::Create(::testing::TempDir());
    ASSERT_TRUE(folder.ok()) << folder.status();
    folder_ = *std::move(folder);
    setting_.quick = true;
    setting_.rounds = 1;
    setting_.folder = folder_.get();
    setting_.progress = [](const std::string&) {};
    setting_.points = &points_;
  }

  absl::Status Run(const std::string& name) {
    for (const Part& part : AllParts()) {
      if (part.name == name) return part.run(setting_);
    }
    return absl::NotFoundError(name);
  }

  // By series and measure; of all memories and x the last.
  std::map<std::string, double> Values() const {
    std::map<std::string, double> values;
    for (const Point& point : points_) {
      values[point.series + ": " + point.measure] = point.rounds[0];
    }
    return values;
  }

  std::unique_ptr<PoolFolder> folder_;
  Setting setting_;
  std::vector<Point> points_;
};

TEST(InTurnsTest, SubjectsAlternateAndTheFirstRoundIsDropped) {
  std::vector<int> order;
  const auto rounds = InTurns(2, 2, [&](int subject) -> absl::StatusOr<double> {
    order.push_back(subject);
    return static_cast<double>(order.size());
  });
  ASSERT_TRUE(rounds.ok());
  EXPECT_THAT(order, ElementsAre(0, 1, 1, 0, 0, 1));
  EXPECT_THAT((*rounds)[0], ElementsAre(4, 5));
  EXPECT_THAT((*rounds)[1], ElementsAre(3, 6));
  EXPECT_FALSE(InTurns(1, 1, [](int) -> absl::StatusOr<double> {
                 return absl::InternalError("it failed");
               }).ok());
}

TEST(CrashPlanTest, RoundTripsThroughAWord) {
  CrashPlan plan{"undo-own", "/a:path/pool", 1, 2, 3, 4};
  const auto read = FromWord(ToWord(plan));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->scheme, "undo-own");
  EXPECT_EQ(read->path, "/a:path/pool");
  EXPECT_EQ(read->bytes, 1u);
  EXPECT_EQ(read->objects, 2u);
  EXPECT_EQ(read->committed, 3u);
  EXPECT_EQ(read->open, 4u);
  for (const char* word : {"", "a:b", "undo-own:1:2:3:x:/path"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(FromWord(word).status())) << word;
  }
}

TEST_F(PartsTest, ResponsesAreTimedFromTheirArrival) {
  auto words = Words::Make(setting_, "undo-own", AsItIs(), 8u << 20, 100, 256);
  ASSERT_TRUE(words.ok()) << words.status();
  Random random(1);
  int begun = 0;
  // Each takes longer than it is until the next: they queue.
  const auto responses = RunArrivals(
      (*words)->store(), {1e5, 50}, [&](engine::Transaction& transaction) {
        ++begun;
        Compute(100'000);
        return (*words)->StoreScattered(transaction, 3, random);
      });
  ASSERT_TRUE(responses.ok()) << responses.status();
  EXPECT_EQ(begun, 50);
  EXPECT_EQ(responses->service.count(), 50u);
  EXPECT_GE(responses->service.Quantile(0.5), 99'000);
  EXPECT_GT(responses->response.Quantile(0.9),
            10 * responses->service.Quantile(0.1));
  // Durable when Commit returns.
  EXPECT_EQ(responses->durable.count(), 50u);
  EXPECT_EQ(responses->lag.count(), 0u);
  EXPECT_EQ(responses->never_durable, 0u);
}

// Durable when it is told so, and that only some way behind.
class LaggingStore final : public engine::ForwardingStore {
 public:
  explicit LaggingStore(engine::TransactionalStore* below) : below_(*below) {}

  std::unique_ptr<engine::Transaction> Begin(absl::Duration wait) override;
  void Quiesce() override {}
  bool AwaitDurable(uint64_t sequence, absl::Duration) override {
    return sequence <= most_;
  }

  void SetMost(uint64_t most) { most_ = most; }
  uint64_t Next() { return ++last_; }

 private:
  engine::TransactionalStore& below() const override { return below_; }

  engine::TransactionalStore& below_;
  uint64_t most_ = 0;
  uint64_t last_ = 0;
};

class LaggingTransaction final : public engine::ForwardingTransaction {
 public:
  LaggingTransaction(LaggingStore* store,
                     std::unique_ptr<engine::Transaction> below)
      : ForwardingTransaction(std::move(below)), store_(*store) {}

  absl::Status Commit(const engine::CommitOptions& options) override {
    *options.durable_at = store_.Next();
    return below().Commit({});
  }

 private:
  LaggingStore& store_;
};

std::unique_ptr<engine::Transaction> LaggingStore::Begin(absl::Duration wait) {
  return std::make_unique<LaggingTransaction>(this, below_.Begin(wait));
}

TEST_F(PartsTest, DurabilityIsTimedApartFromTheCommit) {
  auto words = Words::Make(setting_, "undo-own", AsItIs(), 8u << 20, 100, 256);
  ASSERT_TRUE(words.ok()) << words.status();
  LaggingStore lagging(&(*words)->store());
  lagging.SetMost(7);
  Arrivals arrivals{1e5, 10};
  arrivals.patience = absl::ZeroDuration();
  const auto responses =
      RunArrivals(lagging, arrivals, [&](engine::Transaction& transaction) {
        return transaction.Write((*words)->id(0), 0, 8).status();
      });
  ASSERT_TRUE(responses.ok()) << responses.status();
  EXPECT_EQ(responses->service.count(), 10u);
  EXPECT_EQ(responses->durable.count(), 7u);
  EXPECT_EQ(responses->lag.count(), 7u);
  EXPECT_EQ(responses->never_durable, 3u);
}

TEST_F(PartsTest, UsesAreCountedOncePerTransaction) {
  auto words = Words::Make(setting_, "unsafe", AsItIs(), 8u << 20, 1, 256);
  ASSERT_TRUE(words.ok()) << words.status();
  ObservedStore observed(&(*words)->store());
  auto transaction = observed.Begin(absl::ZeroDuration());
  const engine::ObjectId made = *transaction->Alloc(500);
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_THAT(observed.ObjectsBetween(400, 501), ElementsAre(made));
  EXPECT_TRUE(observed.ObjectsBetween(400, 500).empty());
  EXPECT_EQ(observed.UsesOf(made), 0u);
  for (int i = 0; i < 3; ++i) {
    transaction = observed.Begin(absl::ZeroDuration());
    ASSERT_TRUE(transaction->Read(made).ok());
    ASSERT_TRUE(transaction->Write(made, 0, 8).ok());
    ASSERT_TRUE(transaction->Commit().ok());
  }
  EXPECT_EQ(observed.UsesOf(made), 3u);
  observed.Forget();
  EXPECT_EQ(observed.UsesOf(made), 0u);
}

TEST_F(PartsTest, RestoreRemovesInsertedKeys) {
  auto tree = SmallTree::Make(setting_, "undo-own", AsItIs(), 100);
  ASSERT_TRUE(tree.ok()) << tree.status();
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE((*tree)->Operate(5, 1, random).ok());
  }
  EXPECT_GT((*tree)->inserted(), 0u);
  ASSERT_TRUE((*tree)->Restore().ok());
  EXPECT_EQ((*tree)->inserted(), 0u);
}

// Counts are no matter of how fast the machine is.
TEST_F(PartsTest, WrapCountsDoNotDependOnThreadTiming) {
  setting_.stores.push_back(*StoreNamed("wrap"));
  ASSERT_TRUE(Run("wrap-6").ok());
  auto values = Values();
  EXPECT_EQ(values["wrap: drains"], 100);
  EXPECT_EQ(values["wrap: lines"], 600);
  // Nearly each word has a line of its own, and what has retired is marked.
  EXPECT_GE(values["wrap: lines beside"], 1900);
  EXPECT_LE(values["wrap: lines beside"], 2010);
  EXPECT_GT(values["wrap: drains beside"], 0);
}

TEST_F(PartsTest, RivalsOfWrapFlushAsInThePaper) {
  ASSERT_TRUE(Run("wrap-6").ok());
  auto values = Values();
  EXPECT_EQ(values.count("wrap: drains"), 0u);
  // A transaction that declares its stores waits once for all of them.
  EXPECT_EQ(values["undo-own, declared: drains"], 100 * 3);
  EXPECT_EQ(values["unsafe: drains"], 100);
  EXPECT_EQ(values["cached: drains"], 0);
  EXPECT_EQ(values["cached: lines"], 0);
  // Each store's old bytes and new, and an end for each wrap.
  EXPECT_EQ(values["undo-each: drains"], 100 * 41);
  EXPECT_EQ(values["undo-own: drains"], 100 * 22);
  EXPECT_GE(values["unsafe: lines"], 1900);
  EXPECT_LE(values["unsafe: lines"], 2000);
}

TEST_F(PartsTest, DirtinessIsAFractionOfALine) {
  setting_.stores.push_back(*StoreNamed("archapt"));
  ASSERT_TRUE(Run("archapt-table-1").ok());
  EXPECT_EQ(points_.size(), 12u);
  EXPECT_EQ(Values().count("archapt, ycsb-a: part of a flushed line"), 1u);
  for (const Point& point : points_) {
    EXPECT_GT(point.rounds[0], 0) << point.series;
    EXPECT_LT(point.rounds[0], 1) << point.series;
  }
}

TEST_F(PartsTest, UndoAndCowAreDurableAtCommit) {
  for (const char* name : {"undo-own", "cow"}) {
    setting_.stores.push_back(*StoreNamed(name));
  }
  ASSERT_TRUE(Run("durable").ok());
  auto values = Values();
  EXPECT_EQ(values["cow: never durable"], 0);
  EXPECT_GT(values["cow: p50 ns to the commit"], 0);
  EXPECT_EQ(values["undo-own: p50 transactions behind"], 0);
}

// Commits that are not flushed survive no crash, however long a caller waits.
TEST_F(PartsTest, UnflushedCommitsAreNeverDurable) {
  for (const char* name : {"cached", "unsafe"}) {
    setting_.stores.push_back(*StoreNamed(name));
  }
  ASSERT_TRUE(Run("durable").ok());
  auto values = Values();
  EXPECT_GT(values["cached: p99 ns to the commit"], 0);
  EXPECT_EQ(values.count("cached: p50 ns until durable"), 0u);
  EXPECT_EQ(values.count("cached: p50 transactions behind"), 0u);
  EXPECT_EQ(values.count("unsafe: p50 ns until durable"), 1u);
}

TEST_F(PartsTest, WaitingForArchaptFlushesEveryLine) {
  setting_.stores.push_back(*StoreNamed("archapt"));
  ASSERT_TRUE(Run("durable").ok());
  auto values = Values();
  EXPECT_EQ(values["archapt: never durable"], 0);
  EXPECT_GT(values["archapt: p50 transactions behind"], 0);
  EXPECT_GT(values["archapt: p50 ns until durable"],
            values["archapt: p50 ns to the commit"]);
  // The old bytes and, but for an object that is written twice meanwhile, the
  // new ones.
  EXPECT_GT(values["archapt: lines, each waited for"], 31);
}

TEST_F(PartsTest, ArchaptSkipsFlushesBeyondItsQueue) {
  setting_.stores.push_back(*StoreNamed("archapt"));
  ASSERT_TRUE(Run("archapt-9").ok());
  // A workload that only reads flushes nothing, and is measured.
  auto all = Values();
  for (const char* store : {"undo-own", "unsafe", "archapt"}) {
    const std::string lines = absl::StrCat(store, ", ycsb-c: lines");
    ASSERT_EQ(all.count(lines), 1u) << store;
    EXPECT_EQ(all[lines], 0) << store;
  }
  // Only objects of 1 KiB.
  std::erase_if(points_, [](const Point& point) { return point.x != 1024; });
  auto values = Values();
  EXPECT_GT(values["archapt, overwrite: matrices"], 0);
  EXPECT_GT(values["archapt, overwrite: lines with what was left"],
            values["archapt, overwrite: lines"]);
  EXPECT_GT(values["archapt, overwrite: bytes of sums"], 100'000);
  EXPECT_EQ(values.count("undo-own, overwrite: bytes of sums"), 0u);
  // Old bytes and new ones, a line that describes the former, and an end.
  EXPECT_EQ(values["undo-own, overwrite: lines"], 34);
  EXPECT_EQ(values["undo-own, overwrite: lines with what was left"], 34);
  EXPECT_EQ(values["unsafe, overwrite: lines"], 16);
}

TEST_F(PartsTest, DeferredWorkIsASeparateMeasure) {
  AddSpent(setting_, {"figure", "store", "memory", "ns", 1, {}},
           {{10, 5}, {20, 0}});
  ASSERT_EQ(points_.size(), 2u);
  EXPECT_EQ(points_[0].measure, "ns");
  EXPECT_THAT(points_[0].rounds, ElementsAre(10, 20));
  EXPECT_EQ(points_[1].measure, "ns, all home");
  EXPECT_THAT(points_[1].rounds, ElementsAre(15, 20));
}

TEST_F(PartsTest, CopiedFilesAreTheSameAndKeepTheirHoles) {
  const std::string from = folder_->path() + "/from";
  const std::string to = folder_->path() + "/to";
  constexpr off_t kHole = 8 << 20;
  {
    std::ofstream file(from, std::ios::binary);
    file << "begin";
    file.seekp(kHole);
    file << "end";
  }
  std::ofstream(to) << std::string(kHole + 100, 'x');
  ASSERT_TRUE(CopyFile(from, to).ok());
  const auto content = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(content(to), content(from));
  struct stat copied = {}, original = {};
  ASSERT_EQ(stat(to.c_str(), &copied), 0);
  ASSERT_EQ(stat(from.c_str(), &original), 0);
  EXPECT_LE(copied.st_blocks, original.st_blocks);
  std::filesystem::remove(from);
  std::filesystem::remove(to);
  EXPECT_TRUE(absl::IsNotFound(CopyFile(from, to)));
}

TEST(ResultsTest, APointIsALineOfJson) {
  const std::vector<Point> points = {
      {"a-figure", "a \"series\"", "slow", "ns", 0.5, {3, 1, 2}}};
  EXPECT_THAT(ToJson({{"fact", "one"}}, points),
              HasSubstr("{\"figure\": \"a-figure\", \"series\": \"a "
                        "\\\"series\\\"\", \"memory\": \"slow\", \"measure\": "
                        "\"ns\", \"x\": 0.5, \"value\": 2, \"low\": 1, "
                        "\"high\": 3, \"rounds\": [3, 1, 2]}"));
  EXPECT_THAT(ToTable(points), HasSubstr("a-figure"));
}

}  // namespace
}  // namespace kamino::bench::schemes
