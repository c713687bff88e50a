#include "engine/kamino/commit_log.h"

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "engine/kamino/sticky_intents.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

using commit_log_format::Entry;

constexpr size_t kBytes = 16 << 10;

class CommitLogTest : public ::testing::Test {
 protected:
  CommitLogTest() { Reopen(); }

  void Reopen() {
    log_ = std::make_unique<CommitLog>(&region_,
                                       absl::MakeSpan(region_.base(), kBytes));
  }

  std::optional<CommitLog::Claim> Write(size_t entries, uint64_t sequence) {
    const auto claim = log_->TryClaim(entries);
    if (!claim.has_value()) return claim;
    RecordImage record;
    record.Start(entries);
    record.header().sequence = sequence;
    record.header().data = sequence * 3;
    for (size_t i = 0; i < entries; ++i) {
      record.entries()[i] = Entry{64 * (i + 1) | 1, 0, 8};
    }
    log_->Write(*claim, &record);
    region_.Drain();
    return claim;
  }

  std::vector<uint64_t> Sequences() {
    std::vector<uint64_t> sequences;
    for (const CommitRecord& record : log_->Scan()) {
      sequences.push_back(record.sequence);
      EXPECT_EQ(record.data, record.sequence * 3);
    }
    return sequences;
  }

  SimRegion region_{kBytes};
  std::unique_ptr<CommitLog> log_;
};

TEST_F(CommitLogTest, FindsWrittenRecordsInOrder) {
  EXPECT_TRUE(Sequences().empty());
  for (uint64_t i = 1; i <= 9; ++i) ASSERT_TRUE(Write(i, i).has_value());
  Reopen();
  EXPECT_EQ(Sequences(), (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const CommitRecord last = log_->Scan().back();
  ASSERT_EQ(last.entries.size(), 9u);
  EXPECT_EQ(last.entries[8].object_kind, 64u * 9 | 1);
}

TEST_F(CommitLogTest, AnUnfinishedRecordIsNeverOverwritten) {
  const auto first = Write(3, 1);
  uint64_t sequence = 1;
  // All others are done at once; the ring fills up to the first one.
  for (;;) {
    const auto claim = Write(5, sequence + 1);
    if (!claim.has_value()) break;
    ++sequence;
    log_->Done(*claim);
    ASSERT_LT(sequence, 1000u);
  }
  EXPECT_GT(sequence, 50u);
  EXPECT_EQ(Sequences().front(), 1u);
  log_->Done(*first);
  for (int i = 0; i < 1000; ++i) {
    const auto claim = Write(5, ++sequence);
    ASSERT_TRUE(claim.has_value());
    log_->Done(*claim);
  }
  const std::vector<uint64_t> left = Sequences();
  EXPECT_EQ(left.back(), sequence);
  // Those behind the tail and no others, though more are on media.
  EXPECT_LT(left.size(), 120u);
  Reopen();
  EXPECT_EQ(Sequences(), left);
}

TEST_F(CommitLogTest, LinesAreReusedOnceTheDurableTailHasPassedThem) {
  const auto durable_tail = [this] {
    commit_log_format::LogHeader header;
    std::memcpy(&header, region_.durable(), sizeof(header));
    return header.tail;
  };
  const uint64_t ring = commit_log_format::RingLines(kBytes);
  for (int i = 1; i <= 500; ++i) {
    const auto claim = log_->TryClaim(5);
    ASSERT_TRUE(claim.has_value()) << i;
    ASSERT_LE(claim->position + commit_log_format::RecordLines(5),
              durable_tail() + ring)
        << i;
    log_->Done(*claim);
  }
  EXPECT_GT(durable_tail(), ring);
}

TEST_F(CommitLogTest, TheLargestRecordFitsAtAnyPosition) {
  for (int i = 1; i < 300; ++i) {
    const auto claim = Write(i % 3 == 0 ? log_->max_entries() : 1 + i % 7, i);
    ASSERT_TRUE(claim.has_value()) << i;
    log_->Done(*claim);
    ASSERT_EQ(Sequences().back(), static_cast<uint64_t>(i));
  }
}

TEST_F(CommitLogTest, ATornRecordIsIgnored) {
  ASSERT_TRUE(Write(8, 1).has_value());
  const std::vector<std::byte> whole(region_.base(), region_.base() + kBytes);
  const size_t ring = commit_log_format::RingOffset(kBytes);
  for (size_t byte = ring; byte < ring + 40 + 8 * 16; byte += 8) {
    std::memcpy(region_.base(), whole.data(), kBytes);
    region_.base()[byte] ^= std::byte{1};
    EXPECT_TRUE(Sequences().empty()) << byte;
  }
}

TEST_F(CommitLogTest, AResetLogIsEmpty) {
  const auto claim = Write(2, 1);
  log_->Done(*claim);
  log_->Reset(0);
  EXPECT_TRUE(Sequences().empty());
  Reopen();
  ASSERT_TRUE(Write(2, 2).has_value());
  EXPECT_EQ(Sequences(), (std::vector<uint64_t>{2}));
}

class StickyIntentsTest : public ::testing::Test {
 protected:
  SimRegion region_{kBytes};
  LockTable locks_;
  StickyIntents intents_{&region_, &locks_,
                         absl::MakeSpan(region_.base(), kBytes)};
};

TEST_F(StickyIntentsTest, IntentsStayUntilClearedAndForgotten) {
  EXPECT_EQ(intents_.Add(64), StickyIntents::Added::kNew);
  EXPECT_EQ(intents_.Add(64), StickyIntents::Added::kWasThere);
  EXPECT_EQ(intents_.Scan(), (std::vector<ObjectId>{64}));
  EXPECT_NE(intents_.Clear(64).entry, nullptr);
  // Another thread, for its own drain.
  EXPECT_NE(intents_.Clear(64).entry, nullptr);
  EXPECT_TRUE(intents_.Scan().empty());
  intents_.Forget(64);
  EXPECT_FALSE(intents_.Clear(64).drain);
  EXPECT_EQ(intents_.Add(64), StickyIntents::Added::kNew);
}

TEST_F(StickyIntentsTest, OnlyIntentsOfUnlockedObjectsAreReplaced) {
  const size_t room = commit_log_format::TableBytes(kBytes) / sizeof(uint64_t);
  std::vector<ObjectId> locked;
  for (ObjectId id = 64; id <= 64 * 20 * room; id += 64) {
    if (id % 1024 == 0 && locked.size() < room / 8) {
      ASSERT_TRUE(locks_.LockExclusive(id, 1, false, absl::ZeroDuration()));
      locked.push_back(id);
    }
    ASSERT_NE(intents_.Add(id), StickyIntents::Added::kNoRoom) << id;
    intents_.Drained(id);
  }
  for (ObjectId id : locked) {
    EXPECT_EQ(intents_.Add(id), StickyIntents::Added::kWasThere) << id;
  }
  EXPECT_LE(intents_.Scan().size(), room);
  bool full = false;
  for (ObjectId id = 64; id <= 64 * 40 * room && !full; id += 64) {
    locks_.LockExclusive(id, 1, false, absl::ZeroDuration());
    full = intents_.Add(id) == StickyIntents::Added::kNoRoom;
  }
  EXPECT_TRUE(full);
}

}  // namespace
}  // namespace kamino::engine
