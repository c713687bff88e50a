// The list in its forms and the tree over it: their contents, the order in
// which changes become durable, and that recovery succeeds after every crash.
#include "lab/rewind/record_index.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "lab/rewind/linked_list.h"
#include "lab/rewind/record_list.h"
#include "lab/rewind/record_tree.h"
#include "lab/rewind/word_log.h"
#include "tests/faults/planted.h"

namespace kamino::engine {
namespace {

using rewind_format::LogHeader;

constexpr size_t kBytes = 64u << 10;
constexpr size_t kGroup = 3;
constexpr size_t kBucket = 5;
constexpr uint64_t kSeed = 123456789;

LogHeader* HeaderOf(SimRegion* region) {
  return reinterpret_cast<LogHeader*>(region->base() + 64);
}

// The header of an empty log.
void CreateHeader(SimRegion* region) {
  const CheckedWords words(region, kSeed);
  LogHeader* const header = HeaderOf(region);
  LinkedList::Create(words, &header->list);
  words.Store(&header->marks.root, 0);
  region->Persist(header, sizeof(*header));
}

// A list on a region, new or after a crash.
class Subject {
 public:
  Subject(const RewindOptions& options, SimRegion* region)
      : region_(region), space_(SpaceBegin(options), kBytes) {
    LogHeader* const header = HeaderOf(region);
    if (options.layers == 1) {
      index_ = std::make_unique<RecordList>(
          CheckedWords(region, kSeed), &header->list, &space_,
          ListShape{options.form, kBucket, kGroup});
    } else {
      RewindOptions small = options;
      small.bucket = kBucket;
      small.group = kGroup;
      index_ = std::make_unique<RecordTree>(
          CheckedWords(region, kSeed), &header->marks.root, &space_,
          std::make_unique<WordLog>(CheckedWords(region, kSeed), &header->list,
                                    WordsBegin(), SpaceBegin(options), small),
          small);
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
    return WordsBegin() + (options.layers == 2 ? WordLog::BytesOf(kBytes) : 0);
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

// Any value except 0 serves as a record.
Indexed RecordNumber(uint64_t number) {
  return {number * 64, number % 7, number, 0};
}

TEST_P(RecordIndexTest, RandomWorkSurvivesEveryCrash) {
  SimRegion region(kBytes);
  CreateHeader(&region);
  Subject subject(GetParam(), &region);
  std::mt19937_64 random(1);
  std::vector<Indexed> there;
  std::set<uint64_t> certain;  // present, and not being changed
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
      // If appended in order, all up to one are there.
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
  // Emptied at once, and then like a new one.
  Subject again(GetParam(), &region);
  EXPECT_EQ(again.Recovered(), certain);
  again.index().Empty();
  EXPECT_TRUE(Subject(GetParam(), &region).Recovered().empty());
}

TEST_P(RecordIndexTest, ReservedSpaceSufficesAndIsReturned) {
  SimRegion region(kBytes);
  CreateHeader(&region);
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
  CreateHeader(&region);
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

// Images of a log with all kinds of work, at some moments of it.
std::vector<SimRegion::Image> ImagesOfWork(const RewindOptions& options) {
  SimRegion region(kBytes);
  CreateHeader(&region);
  Subject subject(options, &region);
  std::vector<SimRegion::Image> images;
  int drains = 0;
  region.SetDrainHook([&] {
    if (++drains % 5 == 0) images.push_back(region.CrashImage(drains));
  });
  std::vector<Indexed> records;
  for (uint64_t i = 1; i <= 20; ++i) records.push_back(RecordNumber(i));
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(subject.index().Reserve(records.size()));
    subject.index().Append(absl::MakeSpan(records), /*in_order=*/false);
    subject.index().Remove(absl::MakeSpan(records).first(13));
    subject.index().Remove(absl::MakeSpan(records).last(4));
    for (size_t i = 0; i < records.size(); ++i) {
      records[i] = RecordNumber(100 * (round + 1) + i);
    }
  }
  region.SetDrainHook(nullptr);
  return images;
}

struct Flips {
  int refused = 0;
  int wrong = 0;  // accepted, with another content
};

void Judge(const RewindOptions& options, SimRegion* damaged,
           const std::set<uint64_t>& expected, Flips* flips) {
  Subject subject(options, damaged);
  absl::Status status = subject.index().Finish();
  const auto found = subject.index().Scan();
  if (status.ok()) status = found.status();
  if (!status.ok()) {
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    ++flips->refused;
  } else if (std::set<uint64_t>(found->begin(), found->end()) != expected) {
    ++flips->wrong;
  }
}

Flips FlipBits(const RewindOptions& options) {
  std::mt19937_64 random(1);
  Flips flips;
  const auto images = ImagesOfWork(options);
  EXPECT_GT(images.size(), 5u);
  for (const SimRegion::Image& intact : images) {
    SimRegion before(intact);
    const auto expected = Subject(options, &before).Recovered();
    for (int i = 0; i < 200; ++i) {
      size_t at = 64 + random() % sizeof(LogHeader);
      if (i % 2 == 0) {
        // A position in use, now or before.
        do {
          at = 64 + random() % (kBytes - 64);
        } while (intact[at / 8 * 8] == std::byte{} &&
                 intact[at / 8 * 8 + 3] == std::byte{});
      }
      SimRegion damaged(intact);
      damaged.base()[at] ^= std::byte{1} << random() % 8;
      Judge(options, &damaged, expected, &flips);
    }
  }
  return flips;
}

// Anywhere, and during any operation: the content found is the true one.
TEST_P(RecordIndexTest, AFlippedBitIsDetectedOrHarmless) {
  const Flips flips = FlipBits(GetParam());
  EXPECT_EQ(flips.wrong, 0);
  EXPECT_GT(flips.refused, 100);
}

TEST_P(RecordIndexTest, PlantedFaultAcceptsFlippedBits) {
  faults::Planted planted("rewind-words-are-believed");
  EXPECT_GT(FlipBits(GetParam()).wrong, 10);
}

// A medium may return zeros for a lost line.
Flips LoseLines(const RewindOptions& options) {
  Flips flips;
  const auto images = ImagesOfWork(options);
  for (size_t i = 0; i < images.size(); i += 4) {
    const SimRegion::Image& intact = images[i];
    SimRegion before(intact);
    const auto expected = Subject(options, &before).Recovered();
    for (size_t line = 64; line < kBytes; line += 64) {
      SimRegion lost(intact);
      std::memset(lost.base() + line, 0, 64);
      if (std::memcmp(&intact[line], lost.base() + line, 64) == 0) continue;
      Judge(options, &lost, expected, &flips);
    }
  }
  return flips;
}

TEST_P(RecordIndexTest, ALostLineIsDetectedOrHarmless) {
  const Flips flips = LoseLines(GetParam());
  EXPECT_EQ(flips.wrong, 0);
  EXPECT_GT(flips.refused, 20);
}

TEST_P(RecordIndexTest, PlantedFaultLosesRecords) {
  faults::Planted planted("rewind-lost-words-are-zero");
  EXPECT_GT(LoseLines(GetParam()).wrong, 0);
}

// Damage that would make recovery visit the same cells endlessly.
class SharedBucketTest : public ::testing::Test {
 protected:
  SharedBucketTest() {
    CreateHeader(&region_);
    std::vector<Indexed> records;
    for (uint64_t i = 1; i <= 10; ++i) records.push_back(RecordNumber(i));
    EXPECT_TRUE(list_.Reserve(records.size()));
    list_.Append(absl::MakeSpan(records), /*in_order=*/false);
    first_ = NodeAt(words_.Get(&state_->head));
    second_ = NodeAt(words_.Get(&first_->next));
    EXPECT_TRUE(list_.Scan().ok());
  }

  rewind_format::Node* NodeAt(uint64_t node) {
    return reinterpret_cast<rewind_format::Node*>(words_.At(node));
  }
  void PutSecond(uint64_t bucket) { words_.Store(&second_->element, bucket); }
  uint64_t First() const { return words_.Get(&first_->element); }
  // Its header overlaps the first one's first cells.
  uint64_t BucketWithinFirst() {
    const uint64_t offset = First() + sizeof(rewind_format::Bucket);
    auto* const bucket =
        reinterpret_cast<rewind_format::Bucket*>(words_.At(offset));
    words_.Store(&bucket->cells, 1);
    words_.Store(&bucket->index, 1);
    words_.Store(words_.WordAt(offset + sizeof(*bucket)), 64);
    return offset;
  }

  SimRegion region_{kBytes};
  const CheckedWords words_{&region_, kSeed};
  rewind_format::ListState* const state_ = &HeaderOf(&region_)->list;
  LogSpace space_{64 + sizeof(LogHeader), kBytes};
  RecordList list_{words_, state_, &space_,
                   ListShape{LogForm::kOptimized, kBucket, kGroup}};
  const rewind_format::Node* first_ = nullptr;
  rewind_format::Node* second_ = nullptr;
};

TEST_F(SharedBucketTest, ASharedBucketIsDamage) {
  PutSecond(First());
  EXPECT_TRUE(absl::IsDataLoss(list_.Scan().status()));
  PutSecond(BucketWithinFirst());
  EXPECT_TRUE(absl::IsDataLoss(list_.Scan().status()));
}

TEST_F(SharedBucketTest, PlantedFaultReadsASharedBucketTwice) {
  faults::Planted planted("rewind-buckets-may-overlap");
  PutSecond(First());
  EXPECT_TRUE(list_.Scan().ok());
  PutSecond(BucketWithinFirst());
  EXPECT_TRUE(list_.Scan().ok());
}

// The layout of the format's page.
TEST(WordLogTest, RecordsBeginAfterTheWords) {
  EXPECT_EQ(WordLog::BytesOf((256u << 10) - 64), 259u * 64);
  EXPECT_EQ(WordLog::BytesOf(256u << 10), 771u * 64);
}

// The costs of the forms, as on the format's page.
TEST(RecordListTest, ARecordTakesTheDocumentedDrains) {
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
    CreateHeader(&region);
    LogSpace space(64 + sizeof(LogHeader), kBytes);
    RecordList list(CheckedWords(&region, kSeed), &HeaderOf(&region)->list,
                    &space,
                    ListShape{expected.form, /*bucket=*/100, /*group=*/8});
    std::vector<Indexed> records;
    for (uint64_t i = 1; i <= 10; ++i) records.push_back(RecordNumber(i));
    ASSERT_TRUE(list.Reserve(10));
    // The first one makes a bucket as well.
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
