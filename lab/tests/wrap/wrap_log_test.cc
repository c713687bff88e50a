// Wraps in the log: their cost, and the order in which they retire.
#include "lab/wrap/wrap_log.h"

#include <string>
#include <utility>
#include <vector>

#include "engine/pmem/counting_region.h"
#include "engine/resource_error.h"
#include "gtest/gtest.h"
#include "lab/tests/wrap/fixture.h"

namespace kamino::engine {
namespace {

using wrap_format::Marker;

TEST_F(WrapLogTest, MatchesTheExampleInTheFormatDocument) {
  Wrap wrap;
  const std::string text = "text";
  // As on the format's page, with an address beyond this heap.
  ASSERT_TRUE(log_->Append(&wrap, 0xc0c0, BytesOf(text)).ok());
  Commit(std::move(wrap), 77);
  const std::byte* const bucket = region_.durable() + 4224;
  Marker marker;
  std::memcpy(&marker, bucket, sizeof(marker));
  EXPECT_EQ(marker.sequence, 1u);
  EXPECT_EQ(marker.commit_sequence, 77u);
  EXPECT_EQ(marker.bytes, 16u);
  EXPECT_EQ(marker.durable, 0u);
  EXPECT_EQ(marker.own_check, layout_->OwnCheckOf(marker, 4224));
  EXPECT_EQ(
      std::memcmp(bucket + 64,
                  "\xc0\xc0\x00\x00\x00\x00\x03\x00text\x00\x00\x00\x00", 16),
      0);
  EXPECT_EQ(marker.check, layout_->CheckOf(marker, 4224, {bucket + 64, 16}));
}

// WrAP, figure 6: 20 words and a marker take six lines.
TEST_F(WrapLogTest, RecordsArePacked) {
  CountingRegion counting(&region_);
  heap_ = *Heap::Open(&counting);
  OpenLog();
  const PmemCounts before = counting.counts();
  Wrap wrap;
  for (uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(
        log_->Append(&wrap, place() + 64 * i, BytesOf("01234567")).ok());
  }
  Commit(std::move(wrap));
  const PmemCounts closed = counting.counts() - before;
  EXPECT_EQ(closed.lines, 6u);
  EXPECT_EQ(closed.drains, 1u);
  EXPECT_EQ(log_->Retire(SIZE_MAX), 1u);
  const PmemCounts retired = counting.counts() - before - closed;
  EXPECT_EQ(retired.lines, 20u + 2u);  // last_sequence, retired
  EXPECT_EQ(retired.drains, 2u);
  log_.reset();
  heap_.reset();
}

TEST_F(WrapLogTest, RetiringManyWrapsTakesTwoDrains) {
  for (uint64_t i = 0; i < 10; ++i) Commit(Opened("some text", 16 * i));
  const uint64_t before = region_.drains();
  EXPECT_EQ(log_->Retire(SIZE_MAX), 10u);
  EXPECT_EQ(region_.drains() - before, 2u);
  EXPECT_EQ(Home(9, 16 * 9), "some text");
}

TEST_F(WrapLogTest, AnOpenWrapIsNotRetired) {
  Wrap wrap = Opened(std::string(200, 'x'));
  EXPECT_EQ(log_->Retire(SIZE_MAX), 0u);
  EXPECT_EQ(Home(1), std::string(1, '\0'));
  log_->Forget(&wrap);
  EXPECT_EQ(log_->Retire(SIZE_MAX), 0u);
  EXPECT_EQ(Home(1), std::string(1, '\0'));
}

// `retired` tells that all earlier ones have retired as well.
TEST_F(WrapLogTest, ADurableWrapRetiresAfterEarlierCloses) {
  Wrap first = Opened("first");
  Wrap second = Opened("second", 64);
  log_->Close(&first, 0);
  log_->Close(&second, 0);
  log_->HandOver(std::move(second));
  EXPECT_EQ(log_->Retire(SIZE_MAX), 0u);
  log_->HandOver(std::move(first));
  EXPECT_EQ(log_->Retire(1), 1u);
  EXPECT_EQ(Home(5), "first");
  EXPECT_EQ(Home(6, 64), std::string(6, '\0'));
  EXPECT_EQ(log_->Retire(SIZE_MAX), 1u);
  EXPECT_EQ(Home(6, 64), "second");
  EXPECT_EQ(log_->retired(), 2u);
}

TEST_F(WrapLogTest, TheLaterCloseWinsInAnyBucket) {
  Wrap one = Opened("one");  // of the first bucket
  Wrap two = Opened("two");
  Commit(std::move(two));
  Commit(std::move(one));
  EXPECT_EQ(log_->Retire(SIZE_MAX), 2u);
  EXPECT_EQ(Home(3), "one");
}

TEST_F(WrapLogTest, RetiredBucketsAreReused) {
  std::vector<Wrap> open(kBuckets);
  for (size_t i = 0; i + 1 < kBuckets; ++i) open[i] = Opened("text", 16 * i);
  // The last one is reserved for stores without a transaction.
  EXPECT_EQ(ResourceOf(log_->Open(&open.back())), Resource::kLog);
  EXPECT_FALSE(open.back().open());
  for (int i = 0; i < 40; ++i) {
    Wrap anonymous;
    log_->AppendAnonymous(&anonymous, place() + 1024, BytesOf("anonymous"));
    log_->CloseAnonymous(&anonymous);
  }
  EXPECT_EQ(ResourceOf(log_->Open(&open.back())), Resource::kLog);
  // A wrap that closes releases room, and so does one that is given up.
  Commit(std::exchange(open[0], Wrap()));
  ASSERT_TRUE(log_->Open(&open[0]).ok());
  log_->Forget(&open[1]);
  ASSERT_TRUE(log_->Open(&open[1]).ok());
  EXPECT_EQ(Home(9, 1024), "anonymous");
  for (Wrap& wrap : open) log_->Forget(&wrap);
}

TEST_F(WrapLogTest, AWrapThatFillsTheLogIsTooLarge) {
  Wrap wrap;
  const absl::Status full =
      log_->Append(&wrap, place(), BytesOf(std::string(9000, 'x')));
  EXPECT_EQ(ResourceOf(full), Resource::kTransaction) << full;
  log_->Forget(&wrap);
  EXPECT_TRUE(
      log_->Append(&wrap, place(), BytesOf(std::string(4000, 'x'))).ok());
  Commit(std::move(wrap));
  EXPECT_EQ(log_->Retire(SIZE_MAX), 1u);
  EXPECT_EQ(Home(4000), std::string(4000, 'x'));
}

// Records of any lengths: the ends of buckets cut them anywhere.
TEST_F(WrapLogTest, RecordsContinueInOtherBuckets) {
  for (const size_t length : {1, 7, 8, 9, 63, 64, 65, 423, 424, 425, 1000}) {
    std::string expected;
    Wrap wrap;
    for (size_t at = 0; at < 3000; at += length) {
      const std::string text(length, static_cast<char>('a' + at / length % 26));
      absl::Status appended = log_->Append(&wrap, place() + at, BytesOf(text));
      if (absl::IsResourceExhausted(appended)) break;  // small ones take more
      ASSERT_TRUE(appended.ok()) << appended;
      expected += text;
    }
    ASSERT_GT(expected.size(), length == 1 ? 200u : 800u);
    Commit(std::move(wrap));
    const auto report = Crash();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->replayed, 1u) << length;
    EXPECT_EQ(Home(expected.size()), expected) << length;
  }
}

// A wrap without a transaction is not atomic, and never refused.
TEST_F(WrapLogTest, LargeAnonymousWrapsCloseInParts) {
  const std::string text(5000, 't');
  Wrap wrap;
  log_->AppendAnonymous(&wrap, place(), BytesOf(text));
  log_->CloseAnonymous(&wrap);
  EXPECT_FALSE(wrap.open());
  const auto report = Crash();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->replayed, 0u);  // no transaction
  EXPECT_EQ(report->last_sequence, 0u);
  EXPECT_EQ(Home(text.size()), text);
}

TEST_F(WrapLogTest, CommitSequencesSurviveRecovery) {
  Commit(Opened("a"), 5);
  Commit(Opened("b"));  // the next one
  Commit(Opened("c"), 3);
  EXPECT_EQ(log_->Retire(1), 1u);
  auto report = Crash();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->last_sequence, 6u);
  EXPECT_EQ(report->replayed, 2u);
  report = Crash();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->last_sequence, 6u);
  EXPECT_EQ(report->replayed, 0u);
  EXPECT_EQ(Home(1), "c");
}

TEST_F(WrapLogTest, FreedBlocksAreReleasedAfterRetirement) {
  Wrap wrap = Opened("text");
  wrap.freed = {4096, 8192};
  Commit(std::move(wrap));
  std::vector<ObjectId> freed;
  const auto release = [&](ObjectId block) { freed.push_back(block); };
  log_->ReleaseFreed(release);
  EXPECT_TRUE(freed.empty());
  log_->Retire(SIZE_MAX);
  log_->ReleaseFreed(release);
  EXPECT_EQ(freed, (std::vector<ObjectId>{4096, 8192}));
  log_->ReleaseFreed(release);
  EXPECT_EQ(freed.size(), 2u);
}

// It counts as not too large while a block it could use is being released.
TEST_F(WrapLogTest, AWrapIsNotTooLargeWhileABlockIsReleased) {
  Wrap freeing = Opened("text");
  freeing.freed = {4096};
  Commit(std::move(freeing));
  log_->Retire(SIZE_MAX);
  const std::string text(9000, 'x');
  Wrap wrap;
  int released = 0;
  log_->ReleaseFreed([&](ObjectId) {
    ++released;
    EXPECT_EQ(ResourceOf(log_->Append(&wrap, place(), BytesOf(text))),
              Resource::kLog);
  });
  EXPECT_EQ(released, 1);
  log_->Forget(&wrap);
  EXPECT_EQ(ResourceOf(log_->Append(&wrap, place(), BytesOf(text))),
            Resource::kTransaction);
  log_->Forget(&wrap);
}

// However often others commit and reuse their retired buckets.
TEST_F(WrapLogTest, OtherCommitsDoNotStarveAnAppend) {
  std::vector<Wrap> others;
  for (size_t i = 0; i + 4 < kBuckets; ++i) {
    others.push_back(Opened("held", 64 * i));
  }
  Wrap waiting = Opened("waiting", 4096);
  Commit(Opened("small", 5000));
  int commits = 0;
  int drains = 0;
  bool within = false;
  region_.SetDrainHook([&] {
    // A retirement drains twice; there is a bucket for one.
    if (within || ++drains % 2 == 0 || commits == 100) return;
    within = true;
    Commit(Opened("small", 5000));
    ++commits;
    within = false;
  });
  const absl::Status full =
      log_->Append(&waiting, place() + 4096, BytesOf(std::string(1000, 'x')));
  region_.SetDrainHook(nullptr);
  EXPECT_EQ(ResourceOf(full), Resource::kLog) << full;
  EXPECT_LT(commits, 10);
  log_->Forget(&waiting);
  for (Wrap& other : others) log_->Forget(&other);
}

TEST_F(WrapLogTest, InvalidBucketSizesAreRefused) {
  for (const uint64_t bytes : {0, 64, 511, 513, 448, 8192, 4096}) {
    EXPECT_TRUE(absl::IsInvalidArgument(WrapLayout::Format(*heap_, bytes)))
        << bytes;
  }
  EXPECT_TRUE(WrapLayout::Format(*heap_, 3968).ok());
}

}  // namespace
}  // namespace kamino::engine
