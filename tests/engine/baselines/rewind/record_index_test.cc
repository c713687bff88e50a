// The list in its forms and the tree over it: what they hold, in what order
// things become durable, and that every crash leaves something that recovers.
#include "engine/baselines/rewind/record_index.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/baselines/rewind/linked_list.h"
#include "engine/baselines/rewind/record_list.h"
#include "engine/baselines/rewind/record_tree.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"

namespace kamino::engine {
namespace {

using rewind_format::LogHeader;

constexpr size_t kBytes = 64u << 10;
constexpr size_t kGroup = 3;
constexpr size_t kBucket = 5;

// One on a region, as after a crash or new.
class Subject {
 public:
  Subject(const RewindOptions& options, SimRegion* region)
      : region_(region), space_(SpaceBegin(options), kBytes) {
    auto* header = reinterpret_cast<LogHeader*>(region->base() + 64);
    if (options.layers == 1) {
      index_ = std::make_unique<RecordList>(region, &header->list, &space_,
                                            options.form, kBucket, kGroup);
    } else {
      RewindOptions small = options;
      small.bucket = kBucket;
      small.group = kGroup;
      index_ = std::make_unique<RecordTree>(
          region, header, &space_, WordsBegin(), SpaceBegin(options), small);
    }
  }

  RecordIndex& index() { return *index_; }
  LogSpace& space() { return space_; }

  std::set<uint64_t> Recovered() {
    EXPECT_TRUE(index_->Finish().ok());
    const auto found = index_->Scan();
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok()) return {};
    std::set<uint64_t> records(found->begin(), found->end());
    EXPECT_EQ(records.size(), found->size());
    return records;
  }

 private:
  static uint64_t WordsBegin() { return 64 + sizeof(LogHeader); }
  static uint64_t SpaceBegin(const RewindOptions& options) {
    return WordsBegin() +
           (options.layers == 2 ? RecordTree::WordsBytes(kBytes) : 0);
  }

  SimRegion* const region_;
  LogSpace space_;
  std::unique_ptr<RecordIndex> index_;
};

class RecordIndexTest : public ::testing::TestWithParam<RewindOptions> {};

std::vector<RewindOptions> Options() {
  std::vector<RewindOptions> options;
  for (const RewindOptions& each : AllRewinds()) {
    if (each.force) options.push_back(each);
  }
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    Forms, RecordIndexTest, ::testing::ValuesIn(Options()),
    [](const ::testing::TestParamInfo<RewindOptions>& info) {
      std::string name = info.param.Name();
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

// Anything that is no 0 serves for a record.
Indexed RecordNumber(uint64_t number) {
  return {number * 64, number % 7, number, 0};
}

TEST_P(RecordIndexTest, RandomWorkSurvivesEveryCrash) {
  SimRegion region(kBytes);
  Subject subject(GetParam(), &region);
  std::mt19937_64 random(1);
  std::vector<Indexed> there;
  std::set<uint64_t> certain;  // what is there, and is not being changed
  std::set<uint64_t> possible;
  bool in_order = false;
  std::vector<uint64_t> appended;
  int images = 0;
  region.SetDrainHook([&] {
    for (int i = 0; i < 6; ++i) {
      ++images;
      SimRegion after(region.CrashImage(random()));
      const std::set<uint64_t> found = Subject(GetParam(), &after).Recovered();
      ASSERT_TRUE(std::includes(found.begin(), found.end(), certain.begin(),
                                certain.end()));
      ASSERT_TRUE(std::includes(possible.begin(), possible.end(), found.begin(),
                                found.end()));
      // What was appended in order is there up to one.
      bool ended = !in_order;
      for (uint64_t record : appended) {
        if (in_order && ended) {
          ASSERT_EQ(found.count(record), 0u);
        }
        ended |= found.count(record) == 0;
      }
    }
  });
  uint64_t next = 1;
  for (int step = 0; step < 250; ++step) {
    if (there.size() < 30 && random() % 5 < 3) {
      const size_t count = 1 + random() % 7;
      std::vector<Indexed> fresh;
      appended.clear();
      for (size_t i = 0; i < count; ++i) {
        fresh.push_back(RecordNumber(next++));
        possible.insert(fresh.back().record);
        appended.push_back(fresh.back().record);
      }
      in_order = random() % 2 == 0;
      ASSERT_TRUE(subject.index().Reserve(count));
      subject.index().Append(absl::MakeSpan(fresh), in_order);
      there.insert(there.end(), fresh.begin(), fresh.end());
      appended.clear();
    } else if (!there.empty()) {
      std::shuffle(there.begin(), there.end(), random);
      const size_t count = 1 + random() % std::min<size_t>(there.size(), 9);
      const std::vector<Indexed> gone(there.end() - count, there.end());
      there.resize(there.size() - count);
      for (const Indexed& one : gone) certain.erase(one.record);
      subject.index().Remove(gone);
    }
    ASSERT_FALSE(HasFatalFailure()) << "step " << step;
    certain.clear();
    for (const Indexed& one : there) certain.insert(one.record);
    possible = certain;
  }
  region.SetDrainHook(nullptr);
  EXPECT_GT(images, 2000);
  // Emptied at once, and then as new.
  Subject again(GetParam(), &region);
  EXPECT_EQ(again.Recovered(), certain);
  again.index().Empty();
  EXPECT_TRUE(Subject(GetParam(), &region).Recovered().empty());
}

TEST_P(RecordIndexTest, SpaceComesBackAndWhatIsReservedIsThere) {
  SimRegion region(kBytes);
  Subject subject(GetParam(), &region);
  const size_t free = subject.space().free();
  size_t reserved = 0;
  while (subject.index().Reserve(10)) reserved += 10;
  ASSERT_GT(reserved, 300u);
  EXPECT_LT(subject.space().free(), 20u);
  std::vector<Indexed> records;
  for (uint64_t i = 1; i <= 300; ++i) records.push_back(RecordNumber(i));
  subject.index().Append(absl::MakeSpan(records), /*in_order=*/false);
  subject.index().Unreserve(reserved - 300);
  subject.index().Remove(records);
  // A bucket stays.
  EXPECT_GE(subject.space().free() + RecordList::UnitsOf(kBucket), free);
}

TEST_P(RecordIndexTest, DamageIsAnErrorAndNoWildStore) {
  SimRegion region(kBytes);
  {
    Subject subject(GetParam(), &region);
    std::vector<Indexed> records;
    for (uint64_t i = 1; i <= 40; ++i) records.push_back(RecordNumber(i));
    ASSERT_TRUE(subject.index().Reserve(records.size()));
    subject.index().Append(absl::MakeSpan(records), /*in_order=*/false);
  }
  std::mt19937_64 random(1);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const SimRegion::Image intact(region.base(), region.base() + kBytes);
    SimRegion damaged(intact);
    auto* words = reinterpret_cast<uint64_t*>(damaged.base());
    const size_t first = 64 / 8;
    const size_t where = random() % 3 == 0
                             ? first + random() % (sizeof(LogHeader) / 8)
                             : first + random() % (kBytes / 8 - first);
    words[where] = random() % 2 == 0 ? random() : random() % kBytes / 64 * 64;
    Subject subject(GetParam(), &damaged);
    absl::Status status = subject.index().Finish();
    if (status.ok()) status = subject.index().Scan().status();
    if (status.ok()) continue;
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    ++refused;
  }
  EXPECT_GT(refused, 50);
}

// Damage that would have recovery go through the same cells again and again.
class SharedBucketTest : public ::testing::Test {
 protected:
  SharedBucketTest() {
    std::vector<Indexed> records = {RecordNumber(50), RecordNumber(1)};
    for (uint64_t i = 2; i <= 10; ++i) records.push_back(RecordNumber(i));
    EXPECT_TRUE(list_.Reserve(records.size()));
    list_.Append(absl::MakeSpan(records), /*in_order=*/false);
    first_ = NodeAt(state_->head);
    second_ = NodeAt(first_->next);
    EXPECT_TRUE(list_.Scan().ok());
  }

  rewind_format::Node* NodeAt(uint64_t node) {
    return reinterpret_cast<rewind_format::Node*>(region_.base() + node);
  }

  SimRegion region_{kBytes};
  rewind_format::ListState* const state_ =
      &reinterpret_cast<LogHeader*>(region_.base() + 64)->list;
  LogSpace space_{64 + sizeof(LogHeader), kBytes};
  RecordList list_{&region_, state_, &space_, LogForm::kOptimized,
                   kBucket,  kGroup};
  const rewind_format::Node* first_ = nullptr;
  rewind_format::Node* second_ = nullptr;
};

TEST_F(SharedBucketTest, IsDamage) {
  second_->element = first_->element;
  EXPECT_TRUE(absl::IsDataLoss(list_.Scan().status()));
  // The first cells of the first bucket look like the beginning of one.
  second_->element = first_->element + sizeof(rewind_format::Bucket);
  EXPECT_TRUE(absl::IsDataLoss(list_.Scan().status()));
}

TEST_F(SharedBucketTest, OrItIsReadAgain) {
  faults::Planted planted("rewind-buckets-may-overlap");
  second_->element = first_->element;
  EXPECT_TRUE(list_.Scan().ok());
  second_->element = first_->element + sizeof(rewind_format::Bucket);
  EXPECT_TRUE(list_.Scan().ok());
}

// What the forms cost (SCHEMES, and the page of the log's format).
TEST(RecordListTest, DrainsOfARecord) {
  struct Expected {
    LogForm form;
    uint64_t one;
    uint64_t eight;    // at once
    uint64_t removed;  // of eight
  };
  for (const Expected& expected : {Expected{LogForm::kSimple, 4, 32, 24},
                                   {LogForm::kOptimized, 2, 2, 1},
                                   {LogForm::kBatch, 2, 2, 1}}) {
    SimRegion region(kBytes);
    auto* header = reinterpret_cast<LogHeader*>(region.base() + 64);
    LogSpace space(64 + sizeof(LogHeader), kBytes);
    RecordList list(&region, &header->list, &space, expected.form,
                    /*bucket=*/100, /*group=*/8);
    std::vector<Indexed> records;
    for (uint64_t i = 1; i <= 10; ++i) records.push_back(RecordNumber(i));
    ASSERT_TRUE(list.Reserve(10));
    // The first brings its bucket along.
    list.Append({&records[0], 1}, true);
    uint64_t before = region.drains();
    list.Append({&records[1], 1}, true);
    EXPECT_EQ(region.drains() - before, expected.one);
    before = region.drains();
    list.Append(absl::MakeSpan(records).subspan(2), false);
    EXPECT_EQ(region.drains() - before, expected.eight);
    before = region.drains();
    list.Remove(absl::MakeSpan(records).subspan(2));
    EXPECT_EQ(region.drains() - before, expected.removed);
  }
}

}  // namespace
}  // namespace kamino::engine
