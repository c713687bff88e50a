#include "replica/log/log_ring.h"

#include <algorithm>
#include <random>
#include <string>

#include "engine/pmem/sim_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/replica/text_entry.h"

namespace kamino::replica {
namespace {

using engine::SimRegion;
using ::testing::HasSubstr;

constexpr size_t kBytes = LogRing::kMinBytes;
const LogRing::HeapUuid kHeap = {1, 2, 3};

// The text of the entry of mutation `sequence` in these tests.
std::string Text(uint64_t sequence, size_t size = 0) {
  std::mt19937 random(sequence);
  if (size == 0) size = 1 + random() % (random() % 50 == 0 ? 400000 : 2000);
  return std::string(size, static_cast<char>('a' + sequence % 26));
}

std::unique_ptr<LogRing> MakeRing(SimRegion* region) {
  auto ring = LogRing::Create(region, kHeap);
  EXPECT_TRUE(ring.ok()) << ring.status();
  return std::move(*ring);
}

TEST(LogRingTest, KeepsCursorsAndEntries) {
  SimRegion region(kBytes);
  auto ring = MakeRing(&region);
  for (uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(AppendText(ring.get(), Text(i)).ok());
  }
  ring->MarkApplied(2);
  ring->Clean(1);
  EXPECT_EQ(ring->received(), 3u);
  EXPECT_EQ(ring->applied(), 2u);
  EXPECT_EQ(ring->cleaned(), 1u);
  EXPECT_EQ(TextOf(ring->EntryOf(2)), Text(2));
  EXPECT_EQ(TextOf(ring->EntryOf(3)), Text(3));
}

TEST(LogRingTest, AnEntryCoversTheNumbersOfItsMutations) {
  SimRegion region(kBytes);
  auto ring = MakeRing(&region);
  ASSERT_TRUE(AppendText(ring.get(), "one").ok());
  ASSERT_TRUE(AppendText(ring.get(), "many", 64).ok());
  ASSERT_TRUE(AppendText(ring.get(), "few", 3).ok());
  ring->MarkApplied(65);
  ring->Clean(1);
  for (const bool reopened : {false, true}) {
    if (reopened) {
      ring->PersistApplied();
      ring = *LogRing::Open(&region, kHeap);
      ring->Clean(1);  // its durable cursor may lag behind
    }
    EXPECT_EQ(ring->received(), 68u);
    EXPECT_EQ(ring->applied(), 65u);
    EXPECT_EQ(ring->cleaned(), 1u);
    for (const uint64_t sequence : {2, 30, 65}) {
      const LogEntry entry = ring->EntryOf(sequence);
      EXPECT_EQ(entry.first(), 2u);
      EXPECT_EQ(entry.last(), 65u);
      EXPECT_EQ(entry.count(), 64u);
      EXPECT_EQ(TextOf(entry), "many");
    }
    EXPECT_EQ(TextOf(ring->EntryOf(66)), "few");
    for (const uint64_t end : {1, 65, 68}) EXPECT_TRUE(ring->EndsEntry(end));
    for (const uint64_t other : {0, 2, 64, 66, 67, 69}) {
      EXPECT_FALSE(ring->EndsEntry(other)) << other;
    }
  }
  ring->TruncateAfter(65);
  EXPECT_EQ(ring->received(), 65u);
  ASSERT_TRUE(AppendText(ring.get(), "other", 2).ok());
  ring = *LogRing::Open(&region, kHeap);
  EXPECT_EQ(ring->received(), 67u);
  EXPECT_EQ(TextOf(ring->EntryOf(67)), "other");
  ring->MarkApplied(67);
  ring->Clean(67);
  EXPECT_EQ(ring->received(), 67u);
  EXPECT_EQ(ring->space().used(), 0u);
}

// Byte for byte, whether it was made here or received.
TEST(LogRingTest, KeepsEntriesByteForByte) {
  SimRegion region(kBytes);
  auto ring = MakeRing(&region);
  const TextBatch batch("a=1 b=22", 3);
  ASSERT_TRUE(ring->Append(batch.Draft(1, 7)).ok());
  const std::string made(ring->EntryOf(1).bytes());
  EXPECT_EQ(made, TextEntry(1, "a=1 b=22", 3, 7));
  SimRegion other_region(2 * kBytes);
  auto other = MakeRing(&other_region);
  ASSERT_TRUE(other->Append(*LogEntry::Check(made)).ok());
  EXPECT_EQ(other->EntryOf(3).bytes(), made);
  other = *LogRing::Open(&other_region, kHeap);
  EXPECT_EQ(other->EntryOf(2).bytes(), made);
}

TEST(LogRingTest, ADamagedEntryEndsTheScan) {
  SimRegion region(kBytes);
  auto ring = MakeRing(&region);
  ASSERT_TRUE(AppendText(ring.get(), "one").ok());
  ASSERT_TRUE(AppendText(ring.get(), "two").ok());
  const absl::string_view second = ring->EntryOf(2).bytes();
  const size_t begin = reinterpret_cast<const std::byte*>(second.data()) -
                       region.base() - sizeof(ring_format::SlotHeader);
  for (size_t i = 0; i < sizeof(ring_format::SlotHeader) + second.size(); ++i) {
    region.base()[begin + i] ^= std::byte{0x10};
    EXPECT_EQ((*LogRing::Open(&region, kHeap))->received(), 1u) << i;
    region.base()[begin + i] ^= std::byte{0x10};
  }
  EXPECT_EQ((*LogRing::Open(&region, kHeap))->received(), 2u);
}

TEST(LogRingTest, RefusesAnotherVersionByName) {
  SimRegion region(kBytes);
  MakeRing(&region);
  auto* header = reinterpret_cast<ring_format::RingHeader*>(region.base());
  header->version = 4;
  const absl::Status refused = LogRing::Open(&region, kHeap).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("version 4"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("reads version 11"));
}

TEST(LogRingTest, RefusesACursorWithinAnEntry) {
  SimRegion region(kBytes);
  auto ring = MakeRing(&region);
  ASSERT_TRUE(AppendText(ring.get(), "five", 5).ok());
  AppliedMark mark(&region, offsetof(ring_format::RingHeader, applied));
  mark.Reset(3);
  EXPECT_TRUE(absl::IsDataLoss(LogRing::Open(&region, kHeap).status()));
}

TEST(LogRingTest, IsFullUntilCleaned) {
  SimRegion region(kBytes);
  auto ring = MakeRing(&region);
  const std::string large(ring->space().max_entry() - TextEntry(1, "").size(),
                          'x');
  uint64_t next = 1;
  absl::Status status;
  while (status.ok()) {
    status = AppendText(ring.get(), large);
    if (status.ok()) ++next;
    ASSERT_LT(next, 10u);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_TRUE(absl::IsInvalidArgument(AppendText(ring.get(), large + "x")));
  ring->MarkApplied(next - 1);
  ring->Clean(1);
  EXPECT_TRUE(AppendText(ring.get(), large).ok());
}

TEST(LogRingTest, WrapsManyTimesAndOpensAnywhere) {
  SimRegion region(kBytes);
  auto ring = MakeRing(&region);
  std::mt19937 random(5);
  uint64_t total = 0;
  for (uint64_t i = 1; total < 10 * kBytes; ++i) {
    const std::string text = Text(i);
    total += text.size();
    while (!AppendText(ring.get(), text).ok()) {
      ring->MarkApplied(ring->received());
      ring->Clean(ring->cleaned() + 1);
    }
    if (random() % 3 == 0) ring->MarkApplied(ring->received());
    if (random() % 400 != 0) continue;
    ring = *LogRing::Open(&region, kHeap);
    ASSERT_EQ(ring->received(), i);
    for (uint64_t s = ring->cleaned() + 1; s <= i; ++s) {
      ASSERT_EQ(TextOf(ring->EntryOf(s)), Text(s)) << s;
    }
  }
}

TEST(LogRingTest, ACrashLosesNoAcknowledgedEntry) {
  SimRegion region(kBytes);
  auto ring = MakeRing(&region);
  std::mt19937 random(9);
  uint64_t acknowledged = 0;
  uint64_t applied = 0;
  uint64_t cleaned = 0;
  int crashes = 0;
  region.SetDrainHook([&] {
    if (random() % 40 != 0) return;
    ++crashes;
    SimRegion after(region.CrashImage(random()));
    auto opened = LogRing::Open(&after, kHeap);
    ASSERT_TRUE(opened.ok()) << opened.status();
    // One append may be under way, and durable already.
    ASSERT_GE((*opened)->received(), acknowledged);
    ASSERT_LE((*opened)->received(), acknowledged + 1);
    ASSERT_LE((*opened)->applied(), applied);
    ASSERT_LE((*opened)->cleaned(), cleaned);
    for (uint64_t s = (*opened)->cleaned() + 1; s <= (*opened)->received();
         ++s) {
      ASSERT_EQ(TextOf((*opened)->EntryOf(s)), Text(s));
    }
  });
  for (uint64_t i = 1; i <= 1500; ++i) {
    while (!AppendText(ring.get(), Text(i)).ok()) {
      applied = ring->received();
      ring->MarkApplied(applied);
      cleaned += 1 + random() % 20;
      ring->Clean(cleaned);
    }
    acknowledged = i;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(crashes, 20);
}

TEST(LogRingTest, TruncateDropsForGood) {
  SimRegion region(kBytes);
  auto ring = MakeRing(&region);
  // Around the end of the region, so that the dropped entries include a wrap.
  for (uint64_t i = 1; i <= 60; ++i) {
    ASSERT_TRUE(AppendText(ring.get(), Text(i, 300000)).ok() || i > 50);
    if (ring->received() != i) break;
    if (i % 20 == 0) {
      ring->MarkApplied(i);
      ring->Clean(i);
    }
  }
  const uint64_t last = ring->received();
  const uint64_t used = ring->space().used();
  ASSERT_TRUE(AppendText(ring.get(), Text(last + 1, 100)).ok());
  ring->TruncateAfter(last);
  EXPECT_EQ(ring->received(), last);
  EXPECT_EQ(ring->space().used(), used);
  EXPECT_EQ((*LogRing::Open(&region, kHeap))->received(), last);
  ASSERT_TRUE(AppendText(ring.get(), Text(last + 1, 200)).ok());
  EXPECT_EQ(TextOf((*LogRing::Open(&region, kHeap))->EntryOf(last + 1)),
            Text(last + 1, 200));
}

// Fills the ring so far that the replacement of the last entry goes to the
// start.
void FillUpTo(LogRing* ring, uint64_t left) {
  while (ring->space().total() - ring->space().used() > left) {
    const uint64_t room = ring->space().total() - ring->space().used() - left;
    ASSERT_TRUE(
        AppendText(ring, std::string(std::min<uint64_t>(room, 12000), 'x'))
            .ok());
    ring->MarkApplied(ring->received());
  }
}

TEST(LogRingTest, AnEntryReplacesTheLast) {
  for (const bool wraps : {false, true}) {
    SimRegion region(LogRing::kMinTinyBytes);
    auto ring = *LogRing::Create(&region, kHeap, LogRing::kMinTinyBytes);
    ASSERT_TRUE(AppendText(ring.get(), std::string(9000, 'y')).ok());
    ring->MarkApplied(1);
    if (wraps) {
      FillUpTo(ring.get(), 6000);
      ring->Clean(1);
    }
    const uint64_t number = ring->received() + 1;
    ASSERT_TRUE(AppendText(ring.get(), std::string(3000, 'a'), 2).ok());
    const uint64_t used = ring->space().used();
    const TextBatch batch(std::string(3000, 'b'), 2);
    ASSERT_TRUE(ring->ReplaceLast(batch.Draft(number)).ok());
    for (int opened = 0; opened < 2; ++opened) {
      EXPECT_EQ(ring->received(), number + 1);
      EXPECT_EQ(TextOf(ring->EntryOf(number)), std::string(3000, 'b'));
      EXPECT_GT(ring->space().used(), used);
      ring->PersistApplied();
      ring = *LogRing::Open(&region, kHeap);
    }
    // The entry that it replaced is dropped with it.
    ring->TruncateAfter(number - 1);
    ring = *LogRing::Open(&region, kHeap);
    EXPECT_EQ(ring->received(), number - 1);
    ASSERT_TRUE(AppendText(ring.get(), "c").ok());
    ring->MarkApplied(number);
    ring->Clean(number);
    EXPECT_EQ(ring->space().used(), 0u);
  }
}

TEST(LogRingTest, ACrashLeavesTheOldOrTheNewEntry) {
  SimRegion region(LogRing::kMinTinyBytes);
  auto ring = *LogRing::Create(&region, kHeap, LogRing::kMinTinyBytes);
  ASSERT_TRUE(AppendText(ring.get(), "one").ok());
  ring->MarkApplied(1);
  ASSERT_TRUE(AppendText(ring.get(), "old").ok());
  int olds = 0, news = 0;
  const auto look = [&] {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      SimRegion after(region.CrashImage(seed));
      const auto found = *LogRing::Open(&after, kHeap);
      ASSERT_EQ(found->received(), 2u);
      const std::string text = TextOf(found->EntryOf(2));
      olds += text == "old";
      news += text == "new";
    }
  };
  region.SetDrainHook(look);
  ASSERT_TRUE(ring->ReplaceLast(TextBatch("new").Draft(2)).ok());
  region.SetDrainHook(nullptr);
  EXPECT_GT(olds, 0);
  EXPECT_GT(news, 0);
  EXPECT_EQ(olds + news, 50);
}

TEST(LogRingTest, RefusesForeignRegions) {
  SimRegion small(kBytes / 2);
  EXPECT_TRUE(absl::IsInvalidArgument(LogRing::Create(&small, kHeap).status()));
  SimRegion empty(kBytes);
  EXPECT_TRUE(
      absl::IsFailedPrecondition(LogRing::Open(&empty, kHeap).status()));
  SimRegion region(kBytes);
  MakeRing(&region);
  auto other = LogRing::Open(&region, {9});
  EXPECT_TRUE(absl::IsFailedPrecondition(other.status()));
  region.base()[24] ^= std::byte{1};
  EXPECT_TRUE(absl::IsDataLoss(LogRing::Open(&region, kHeap).status()));
}

TEST(LogRingTest, RestartsWithoutItsOldEntries) {
  SimRegion region(kBytes);
  auto ring = MakeRing(&region);
  for (uint64_t i = 1; i <= 5; ++i) {
    ASSERT_TRUE(AppendText(ring.get(), Text(i, 100)).ok());
  }
  // The new entry 3 ends where an old entry 4 begins that looks right.
  ring->Restart(0, 7);
  EXPECT_EQ(ring->received(), 0u);
  for (uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(AppendText(ring.get(), std::string(100, 'n')).ok());
  }
  auto again = LogRing::Open(&region, kHeap);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->received(), 3u);
  EXPECT_EQ(TextOf((*again)->EntryOf(3)), std::string(100, 'n'));
  (*again)->Restart(90, 8);
  ASSERT_TRUE(AppendText(again->get(), "x").ok());
  again = LogRing::Open(&region, kHeap);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->cleaned(), 90u);
  EXPECT_EQ((*again)->applied(), 90u);
  EXPECT_EQ((*again)->received(), 91u);
}

TEST(LogRingTest, APersistedAppliedCursorSurvivesACrash) {
  SimRegion region(kBytes);
  auto ring = MakeRing(&region);
  ASSERT_TRUE(AppendText(ring.get(), Text(1)).ok());
  ring->MarkApplied(1);
  ring->PersistApplied();
  for (uint64_t seed = 0; seed < 8; ++seed) {
    SimRegion after(region.CrashImage(seed));
    auto read = LogRing::Open(&after, kHeap);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ((*read)->applied(), 1u);
  }
}

}  // namespace
}  // namespace kamino::replica
