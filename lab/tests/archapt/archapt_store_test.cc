// When Archapt flushes, and its bounds; the crash campaigns check that it is
// crash-safe (tests/engine/crash).
#include "lab/archapt/archapt_store.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "engine/baselines/checked_word.h"
#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "engine/resource_error.h"
#include "gtest/gtest.h"
#include "lab/tests/archapt/archapt_fixture.h"

namespace kamino::engine {
namespace {

using ArchaptStoreTest = ArchaptTest;

TEST_F(ArchaptStoreTest, ACommitIsLogicalBeforeItIsDurable) {
  const ObjectId id = MakeMany(1)[0];
  const uint64_t before = store_->durable_sequence();
  const uint64_t sequence = Fill(id, 'a');
  EXPECT_EQ(sequence, before + 1);
  store_->Advance();
  EXPECT_EQ(store_->durable_sequence(), before);
  EXPECT_EQ(Text(id, 3), "aaa");
  // Without a wait it returns false and does nothing.
  const uint64_t drains = region_.drains();
  EXPECT_FALSE(store_->AwaitDurable(sequence, absl::ZeroDuration()));
  EXPECT_EQ(region_.drains(), drains);
  EXPECT_EQ(store_->durable_sequence(), before);
  // No access pushed it out of the queue, but a caller waits for it.
  EXPECT_TRUE(store_->AwaitDurable(sequence, kBriefly));
  EXPECT_EQ(store_->durable_sequence(), sequence);
  // That sequence does not exist yet.
  EXPECT_FALSE(store_->AwaitDurable(sequence + 1, kBriefly));
}

TEST_F(ArchaptStoreTest, RecoveryRollsBackLogicalCommits) {
  const auto ids = MakeMany(2);
  const uint64_t durable = Fill(ids[0], 'a');
  store_->Quiesce();
  Fill(ids[0], 'b');
  Fill(ids[1], 'c');
  auto live = Begin();
  std::memset(*live->Write(ids[1], 0, 8), 'd', 8);
  CrashAndOpen();
  const RecoveryReport report = store_->recovery_report();
  EXPECT_EQ(report.last_sequence, durable);
  EXPECT_EQ(report.rolled_back, 3u);
  EXPECT_EQ(report.repaired_lines, 0u);
  EXPECT_EQ(Text(ids[0], 2), "aa");
  EXPECT_EQ(Text(ids[1], 2), std::string(2, '\0'));
  Reopen();
  EXPECT_EQ(store_->recovery_report().rolled_back, 0u);
  EXPECT_EQ(store_->recovery_report().last_sequence, durable);
  // Numbers that were rolled back, or may have been, are not given again.
  EXPECT_EQ(Fill(ids[0], 'e'), durable + 4);
}

// A caller with a number of an earlier life must not be told that another
// commit is durable.
TEST_F(ArchaptStoreTest, SequencesAreNotReused) {
  const ObjectId id = MakeMany(1)[0];
  const uint64_t durable = store_->durable_sequence();
  uint64_t last = 0;
  for (int life = 0; life < 3; ++life) {
    const uint64_t lost = Fill(id, 'a');
    EXPECT_GT(lost, last);
    last = Fill(id, 'b');
    EXPECT_EQ(last, lost + 1);
    const SimRegion::Image image(region_.durable(),
                                 region_.durable() + region_.size());
    store_.reset();
    region_.Reset(image.data());
    heap_ = *Heap::Open(&region_);
    store_ = *ArchaptStore::Open(options_, heap_.get());
    EXPECT_EQ(store_->recovery_report().last_sequence, durable);
    EXPECT_EQ(Commit(*Begin()), 0u);
    EXPECT_FALSE(store_->AwaitDurable(lost, kBriefly));
    EXPECT_FALSE(store_->AwaitDurable(last, kBriefly));
  }
  const uint64_t next = Fill(id, 'c');
  EXPECT_TRUE(store_->AwaitDurable(next, kBriefly));
  EXPECT_FALSE(store_->AwaitDurable(last, kBriefly));
  store_->Quiesce();
  EXPECT_EQ(store_->durable_sequence(), next);
}

// A write to an object in the queue replaces its flush; a read makes the flush.
TEST_F(ArchaptStoreTest, AccessFlushesAPendingObject) {
  const ObjectId id = MakeMany(1)[0];
  for (const bool write : {true, false}) {
    const uint64_t first = Fill(id, 'a');
    store_->Advance();
    ASSERT_LT(store_->durable_sequence(), first);
    auto next = Begin();
    if (write) {
      ASSERT_TRUE(next->Write(id, 0, 8).ok());
    } else {
      ASSERT_TRUE(next->Read(id).ok());
    }
    Commit(*next);
    store_->Advance();
    EXPECT_GE(store_->durable_sequence(), first);
    store_->Quiesce();
  }
}

// If the next transaction logs all bytes of pending lines, they survive in its
// record.
TEST_F(ArchaptStoreTest, FullyLoggedLinesAreNotFlushed) {
  const ObjectId id = MakeMany(1)[0];
  const size_t size = Begin()->Read(id)->size();
  const size_t lines = LinesFor(size);
  for (const size_t logged : {size, size_t{100}}) {
    const uint64_t first = Fill(id, 'a', size);
    const ArchaptStats before = store_->stats();
    auto next = Begin();
    std::memset(*next->Write(id, 0, logged), 'b', logged);
    store_->Advance();
    EXPECT_EQ(store_->durable_sequence(), first);
    const ArchaptStats stats = store_->stats();
    const uint64_t replaced = stats.replaced_lines - before.replaced_lines;
    EXPECT_EQ(replaced, logged == size ? lines : 1);
    EXPECT_EQ(stats.flushed_lines - before.flushed_lines, lines - replaced);
    if (logged == size) {
      EXPECT_EQ(region_.durable()[id], std::byte{0});
      ASSERT_TRUE(next->Abort().ok());
      EXPECT_EQ(Text(id, size), std::string(size, 'a'));
      EXPECT_EQ(region_.durable()[id], std::byte{'a'});
      continue;
    }
    CrashAndOpen();
    EXPECT_EQ(store_->recovery_report().last_sequence, first);
    EXPECT_EQ(Text(id, size), std::string(size, 'a'));
  }
}

// The same where the record does not fit: then they are flushed.
TEST_F(ArchaptStoreTest, LinesAreFlushedIfTheirRecordDoesNotFit) {
  const auto ids = MakeMany(2, 150000);
  auto large = Begin();
  ASSERT_TRUE(large->Write(ids[0], 0, 150000).ok());
  const uint64_t sequence = Fill(ids[1], 'a', 64);
  auto next = Begin();
  EXPECT_EQ(ResourceOf(next->Write(ids[1], 0, 150000).status()),
            Resource::kLog);
  ASSERT_TRUE(next->Abort().ok());
  store_->Advance();
  EXPECT_EQ(store_->durable_sequence(), sequence);
  ASSERT_TRUE(large->Abort().ok());
  CrashAndOpen();
  EXPECT_EQ(Text(ids[1], 64), std::string(64, 'a'));
}

// A wait for one transaction flushes all committed ones.
TEST_F(ArchaptStoreTest, AwaitDurableFlushesAllCommits) {
  options_.patience = absl::ZeroDuration();
  store_.reset();
  store_ = *ArchaptStore::Open(options_, heap_.get());
  const auto ids = MakeMany(3);
  const uint64_t first = Fill(ids[0], 'a');
  Fill(ids[1], 'a');
  const uint64_t last = Fill(ids[2], 'a');
  EXPECT_TRUE(store_->AwaitDurable(first, kBriefly));
  EXPECT_EQ(store_->durable_sequence(), last);
}

// An object whose sums have as many lines as the object.
TEST_F(ArchaptStoreTest, SmallObjectsAndSmallChangesAreFlushed) {
  const auto small = MakeMany(200, 40);
  const auto large = MakeMany(60);
  const ArchaptStats before = store_->stats();
  for (ObjectId id : small) Fill(id, 'a', 40);
  for (ObjectId id : large) Fill(id, 'a', 40);
  store_->Quiesce();
  EXPECT_EQ(store_->stats().matrices, before.matrices);
  EXPECT_EQ(store_->stats().flushed_lines - before.flushed_lines, 260u);
}

// Old bytes of pending objects fill the log: then they are flushed.
TEST_F(ArchaptStoreTest, AFullLogForcesFlushes) {
  options_.queue_bytes = 64u << 20;
  store_.reset();
  store_ = *ArchaptStore::Open(options_, heap_.get());
  const auto ids = MakeMany(100, 4000);
  for (int round = 0; round < 5; ++round) {
    for (ObjectId id : ids) Fill(id, static_cast<char>('a' + round), 4000);
  }
  EXPECT_EQ(store_->stats().matrices, 0u);
  EXPECT_GT(store_->durable_sequence(), 300u);
  CrashAndOpen();
  for (ObjectId id : ids) {
    const std::string text = Text(id, 4000);
    EXPECT_EQ(text, std::string(4000, text[0]));
  }
}

TEST_F(ArchaptStoreTest, AnOversizedTransactionIsAHarmlessError) {
  const auto ids = MakeMany(3, 200000);
  Fill(ids[0], 'a', 100);
  auto large = Begin();
  ASSERT_TRUE(large->Write(ids[0], 0, 200000).ok());
  std::memset(*large->Write(ids[0], 0, 10), 'x', 10);
  EXPECT_EQ(ResourceOf(large->Write(ids[1], 0, 200000).status()),
            Resource::kTransaction);
  // Other transactions wait for it.
  auto other = Begin();
  const absl::Status full = other->Write(ids[2], 0, 150000).status();
  EXPECT_EQ(ResourceOf(full), Resource::kLog);
  EXPECT_TRUE(absl::StrContains(full.message(), "there are 1 such")) << full;
  ASSERT_TRUE(other->Abort().ok());
  ASSERT_TRUE(large->Abort().ok());
  EXPECT_EQ(Text(ids[0], 20), std::string(20, 'a'));
  Fill(ids[2], 'b', 150000);
  EXPECT_EQ(Text(ids[2], 2), "bb");
}

// Freed space is reused, also by requests that need it at once.
TEST_F(ArchaptStoreTest, FreedSpaceIsReused) {
  const uint64_t used = store_->bytes_used();
  for (int i = 0; i < 200; ++i) {
    auto transaction = Begin();
    const auto id = transaction->Alloc(1 << 20);
    ASSERT_TRUE(id.ok()) << id.status() << " after " << i;
    ASSERT_TRUE(transaction->Overwrite(*id, 0, BytesOf("new")).ok());
    Commit(*transaction);
    transaction = Begin();
    ASSERT_TRUE(transaction->Free(*id).ok());
    Commit(*transaction);
  }
  store_->Quiesce();
  EXPECT_EQ(store_->kept_blocks(), 0u);
  EXPECT_EQ(store_->bytes_used(), used);
}

TEST_F(ArchaptStoreTest, ClosingLeavesNothingToVerify) {
  const auto ids = MakeMany(60);
  for (ObjectId id : ids) Fill(id, 'a');
  store_->Advance();
  ASSERT_GT(store_->kept_blocks(), 0u);
  store_.reset();
  SimRegion durable(
      SimRegion::Image(region_.durable(), region_.durable() + region_.size()));
  auto heap = *Heap::Open(&durable);
  auto store = *ArchaptStore::Open(options_, heap.get());
  EXPECT_EQ(store->recovery_report().repaired_lines, 0u);
  EXPECT_EQ(store->recovery_report().rolled_back, 0u);
  for (ObjectId id : ids) {
    EXPECT_EQ(durable.base()[id], std::byte{'a'});
  }
  store_ = *ArchaptStore::Open(options_, heap_.get());
}

TEST_F(ArchaptStoreTest, AReaderIsDurableWithTheCommitItRead) {
  const ObjectId id = MakeMany(1)[0];
  EXPECT_EQ(Commit(*Begin()), 0u);
  const uint64_t sequence = Fill(id, 'a');
  auto reader = Begin();
  ASSERT_TRUE(reader->Read(id).ok());
  EXPECT_EQ(Commit(*reader), sequence);
}

TEST_F(ArchaptStoreTest, BadOptionsAndOtherHeapsAreRefused) {
  store_.reset();
  for (size_t columns : {0, 1, 33}) {
    ArchaptOptions options;
    options.columns = columns;
    EXPECT_TRUE(absl::IsInvalidArgument(
        ArchaptStore::Open(options, heap_.get()).status()));
  }
  ArchaptOptions options;
  options.patience = absl::Milliseconds(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(
      ArchaptStore::Open(options, heap_.get()).status()));
  SimRegion other(Heap::kMinBytes);
  auto heap = *Heap::Create(&other, "undo-own");
  EXPECT_TRUE(absl::IsFailedPrecondition(
      ArchaptStore::Open(options_, heap.get()).status()));
  store_ = *ArchaptStore::Open(options_, heap_.get());
  EXPECT_EQ(store_->scheme(), "archapt");
  // Only benchmarks may open a store without checks.
  options_.unchecked = true;
  EXPECT_TRUE(absl::IsFailedPrecondition(
      ArchaptStore::Open(options_, heap_.get()).status()));
  SimRegion unchecked(Heap::kMinBytes);
  auto bench =
      *Heap::CreateWithLog(&unchecked, ArchaptLabel(options_), kLogBytes);
  EXPECT_TRUE(ArchaptStore::Open(options_, bench.get()).ok());
  options_.unchecked = false;
  EXPECT_TRUE(absl::IsFailedPrecondition(
      ArchaptStore::Open(options_, bench.get()).status()));
  // A quarter of the region, where that is less than the queue needs.
  EXPECT_EQ(ArchaptLogBytes({}, 32u << 20), 8u << 20);
  EXPECT_EQ(ArchaptLogBytes({}, 1u << 30), 39424u << 10);
}

// Nothing is stored where matrices, their sums or the log are damaged.
TEST_F(ArchaptStoreTest, DamageIsAnError) {
  const auto ids = MakeMany(60);
  for (ObjectId id : ids) Fill(id, 'a');
  store_->Advance();
  const SimRegion::Image image(region_.base(), region_.base() + region_.size());
  const size_t log = heap_->log_area().data() - region_.base();
  const size_t slots = log + sizeof(archapt_format::LogHeader);
  std::vector<size_t> places = {log, log + 1, log + 8};
  int sealed = 0;
  for (size_t slot = 0; sealed < 3; ++slot) {
    const size_t at = slots + slot * archapt_format::kSlotBytes;
    archapt_format::SlotHeader header;
    std::memcpy(&header, &image[at], sizeof(header));
    if (NumberIn(header.sealed) == 0) continue;
    ++sealed;
    for (size_t byte = 0; byte < sizeof(header) + 4 * 8; ++byte) {
      places.push_back(at + byte);
    }
    for (size_t byte = 0; byte < SumsBytes(4, 16); byte += 61) {
      places.push_back(header.block + byte);
    }
  }
  EXPECT_GT(places.size(), 300u);
  SimRegion damaged(image);
  for (size_t at : places) {
    damaged.base()[at] ^= std::byte{0x20};
    auto heap = *Heap::Open(&damaged);
    const auto opened = ArchaptStore::Open(options_, heap.get());
    ASSERT_FALSE(opened.ok()) << at - log;
    EXPECT_TRUE(absl::IsDataLoss(opened.status())) << opened.status();
    damaged.base()[at] ^= std::byte{0x20};
  }
  EXPECT_EQ(std::memcmp(damaged.base(), image.data(), image.size()), 0);
  // A medium may return zeros for a lost slot.
  for (size_t slot = 0; slot < 20; ++slot) {
    std::byte* const line =
        damaged.base() + slots + slot * archapt_format::kSlotBytes;
    std::memset(line, 0, archapt_format::kLineBytes);
    auto heap = *Heap::Open(&damaged);
    EXPECT_TRUE(
        absl::IsDataLoss(ArchaptStore::Open(options_, heap.get()).status()))
        << slot;
    std::copy_n(&image[line - damaged.base()], archapt_format::kLineBytes,
                line);
  }
  // Sums cover the bytes of objects.
  damaged.base()[ids[0] + 100] ^= std::byte{0x20};
  auto heap = *Heap::Open(&damaged);
  auto opened = *ArchaptStore::Open(options_, heap.get());
  EXPECT_EQ(opened->recovery_report().repaired_lines, 1u);
  EXPECT_EQ(std::memcmp(damaged.base() + ids[0], &image[ids[0]], 1000), 0);
}

// The figures of the format's page.
TEST_F(ArchaptStoreTest, ATransactionTakesTheDocumentedDrains) {
  const auto ids = MakeMany(3);
  const auto drains = [&](const std::function<void(Transaction&)>& body) {
    const uint64_t before = region_.drains();
    auto transaction = Begin();
    body(*transaction);
    Commit(*transaction);
    return region_.drains() - before;
  };
  const auto write = [&](Transaction& t, ObjectId id, uint32_t offset) {
    EXPECT_TRUE(t.Overwrite(id, offset, BytesOf("01234567")).ok());
  };
  EXPECT_EQ(drains([&](Transaction& t) { write(t, ids[0], 0); }), 1u);
  EXPECT_EQ(drains([&](Transaction& t) {
              for (uint32_t i = 0; i < 8; ++i) write(t, ids[1], 100 * i);
            }),
            8u);
  EXPECT_EQ(drains([&](Transaction& t) {
              std::vector<Intent> intents;
              for (uint32_t i = 0; i < 8; ++i) {
                intents.push_back({ids[1], 100 * i, 8});
              }
              EXPECT_TRUE(t.Declare(intents).ok());
              for (uint32_t i = 0; i < 8; ++i) write(t, ids[1], 100 * i);
            }),
            1u);
  // A read leaves pending lines alone.
  EXPECT_EQ(drains([&](Transaction& t) { (void)t.Read(ids[0]); }), 0u);
  EXPECT_EQ(drains([&](Transaction& t) { (void)t.Free(ids[2]); }), 1u);
  EXPECT_EQ(drains([&](Transaction& t) { (void)t.Free(ids[1]); }), 2u);
}

}  // namespace
}  // namespace kamino::engine
