#include "lab/archapt/undo_ring.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "engine/pmem/sim_region.h"
#include "engine/resource_error.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"

namespace kamino::engine {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kRing = 4096;
constexpr size_t kObjects = 64u << 10;

class UndoRingTest : public ::testing::Test {
 protected:
  UndoRing Make(Region* region) {
    UndoRing::Place place;
    place.header = reinterpret_cast<archapt_format::LogHeader*>(region->base());
    place.ring_begin = kLine;
    place.ring_end = kLine + kRing;
    place.objects.begin = kRing + kLine;
    place.objects.end = kObjects;
    return UndoRing(region, place, /*seed=*/5);
  }

  // Logs that many bytes at an address, and stores others there.
  absl::Status Change(UndoRing* ring, OwnUndo* own, uint64_t address,
                      const std::string& bytes) {
    std::byte* const at = region_.base() + address;
    absl::Status logged = ring->Append(own, {{address, {at, bytes.size()}}});
    if (logged.ok()) std::memcpy(at, bytes.data(), bytes.size());
    return logged;
  }
  std::string At(uint64_t address, size_t length) {
    return {reinterpret_cast<const char*>(region_.base() + address), length};
  }
  // A record needs the whole ring except a line, which the end takes. A commit
  // is in its way, behind a transaction that was under way.
  absl::Status FitsOnceTheOldestHasEnded(UndoRing* ring) {
    OwnUndo oldest, committed, large;
    EXPECT_TRUE(Change(ring, &oldest, 8192, "text").ok());
    EXPECT_TRUE(Change(ring, &committed, 8192, "more").ok());
    ring->AppendCommitted({committed.transaction}, /*watermark=*/17);
    const std::string bytes(
        kRing - kLine - sizeof(archapt_format::RecordHeader), 'x');
    EXPECT_EQ(ResourceOf(Change(ring, &large, 8192, bytes)), Resource::kLog);
    ring->PublishTail();
    ring->AppendAborted(&oldest);
    ring->PublishTail();
    return Change(ring, &large, 8192, bytes);
  }
  void RollBack(UndoRing* ring) {
    const auto contents = *ring->Scan();
    for (auto update = contents.updates.rbegin();
         update != contents.updates.rend(); ++update) {
      ring->RollBack(update->record);
    }
  }

  SimRegion region_{kObjects};
};

TEST_F(UndoRingTest, UnfinishedTransactionsAreRolledBackInReverse) {
  UndoRing ring = Make(&region_);
  OwnUndo one, two, three;
  ASSERT_TRUE(Change(&ring, &one, 8192, "aaaa").ok());
  ASSERT_TRUE(Change(&ring, &two, 9000, std::string(500, 'x')).ok());
  ASSERT_TRUE(Change(&ring, &one, 8192, "bbbb").ok());
  ring.AppendCommitted({two.transaction}, /*watermark=*/17);
  ASSERT_TRUE(Change(&ring, &three, 8194, "cccc").ok());
  UndoRing after = Make(&region_);
  const auto contents = after.Scan();
  ASSERT_TRUE(contents.ok());
  EXPECT_EQ(contents->watermark, 17u);
  EXPECT_EQ(contents->updates.size(), 3u);
  EXPECT_EQ(contents->transactions, 2u);
  EXPECT_EQ(contents->given, 19u);
  RollBack(&after);
  EXPECT_EQ(At(8192, 6), std::string(6, '\0'));
  EXPECT_EQ(At(9000, 500), std::string(500, 'x'));
  after.Reset(17, 20);
  EXPECT_TRUE(after.Scan()->updates.empty());
  EXPECT_EQ(after.Scan()->watermark, 17u);
  EXPECT_EQ(after.Scan()->given, 20u);
}

TEST_F(UndoRingTest, AbortedTransactionsAreNotRolledBackAgain) {
  UndoRing ring = Make(&region_);
  OwnUndo own;
  ASSERT_TRUE(Change(&ring, &own, 8192, "aaaa").ok());
  ring.RollBack(own.records[0]);
  ring.AppendAborted(&own);
  EXPECT_EQ(own.transaction, 0u);
  EXPECT_TRUE(ring.Scan()->updates.empty());
}

// Around the end of the ring many times, with records that wrap.
TEST_F(UndoRingTest, RecordsWrapAround) {
  UndoRing ring = Make(&region_);
  std::string last(1000, '\0');
  for (int i = 1; i < 200; ++i) {
    OwnUndo own;
    const std::string bytes(1000, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(Change(&ring, &own, 8192, bytes).ok()) << i;
    const auto contents = Make(&region_).Scan();
    ASSERT_TRUE(contents.ok()) << contents.status();
    ASSERT_EQ(contents->updates.size(), 1u);
    RollBack(&ring);
    ASSERT_EQ(At(8192, 1000), last);
    std::memcpy(region_.base() + 8192, bytes.data(), bytes.size());
    last = bytes;
    ring.AppendCommitted({own.transaction}, i);
    ring.PublishTail();
    ASSERT_EQ(Make(&region_).Scan()->watermark, static_cast<uint64_t>(i));
  }
}

TEST_F(UndoRingTest, AFullRingIsAnErrorAndEndsStillFit) {
  UndoRing ring = Make(&region_);
  OwnUndo owns[8];
  size_t i = 0;
  absl::Status status;
  while (status.ok()) {
    status = Change(&ring, &owns[i], 8192 + 64 * i, std::string(300, 'x'));
    i = (i + 1) % 8;
  }
  EXPECT_EQ(ResourceOf(status), Resource::kLog) << status;
  OwnUndo large;
  EXPECT_EQ(ResourceOf(Change(&ring, &large, 8192, std::string(kRing, 'y'))),
            Resource::kTransaction);
  EXPECT_EQ(large.transaction, 0u);
  std::vector<uint64_t> committed;
  for (int k = 0; k < 4; ++k) committed.push_back(owns[k].transaction);
  ring.AppendCommitted(committed, 4);
  for (int k = 4; k < 8; ++k) {
    for (auto record = owns[k].records.rbegin();
         record != owns[k].records.rend(); ++record) {
      ring.RollBack(*record);
    }
    ring.AppendAborted(&owns[k]);
  }
  EXPECT_TRUE(ring.Scan()->updates.empty());
  ring.PublishTail();
  EXPECT_TRUE(Change(&ring, &large, 8192, std::string(2000, 'z')).ok());
}

// No further commit would advance the watermark.
TEST_F(UndoRingTest, AbortsAloneDoNotFillTheRing) {
  UndoRing ring = Make(&region_);
  OwnUndo own;
  ASSERT_TRUE(Change(&ring, &own, 8192, "text").ok());
  ring.AppendCommitted({own.transaction}, /*watermark=*/17);
  ring.PublishTail();
  for (int i = 0; i < 100; ++i) {
    OwnUndo other;
    absl::Status done = Change(&ring, &other, 9000, std::string(300, 'x'));
    if (!done.ok()) {
      ASSERT_EQ(ResourceOf(done), Resource::kLog);
      ring.PublishTail();
      done = Change(&ring, &other, 9000, std::string(300, 'x'));
    }
    ASSERT_TRUE(done.ok()) << done << " after " << i;
    ring.RollBack(other.records[0]);
    ring.AppendAborted(&other);
    ring.PublishTail();
    ASSERT_EQ(Make(&region_).Scan()->watermark, 17u);
    ASSERT_TRUE(Make(&region_).Scan()->updates.empty());
  }
}

// Also while the oldest transaction keeps the tail in place.
TEST_F(UndoRingTest, ALargeRecordFitsOnceTheOldestTransactionEnds) {
  UndoRing ring = Make(&region_);
  EXPECT_TRUE(FitsOnceTheOldestHasEnded(&ring).ok());
}

TEST_F(UndoRingTest, PlantedFaultRefusesALargeRecord) {
  faults::Planted planted("archapt-wanted-room-forgotten");
  UndoRing ring = Make(&region_);
  EXPECT_EQ(ResourceOf(FitsOnceTheOldestHasEnded(&ring)), Resource::kLog);
}

// A transaction may use the whole ring except a line, whatever was committed
// before.
TEST_F(UndoRingTest, ATransactionMayUseTheWholeRing) {
  constexpr size_t kMost = kRing - kLine - sizeof(archapt_format::RecordHeader);
  UndoRing ring = Make(&region_);
  for (uint64_t sequence = 1; sequence < 4; ++sequence) {
    OwnUndo own;
    EXPECT_EQ(
        ResourceOf(Change(&ring, &own, 8192, std::string(kMost + 1, 'x'))),
        Resource::kTransaction);
    absl::Status done = Change(&ring, &own, 8192, std::string(kMost, 'x'));
    if (sequence > 1) {
      EXPECT_EQ(ResourceOf(done), Resource::kLog) << done;
      ring.PublishTail();
      done = Change(&ring, &own, 8192, std::string(kMost, 'x'));
    }
    ASSERT_TRUE(done.ok()) << done;
    ring.AppendCommitted({own.transaction}, sequence);
    ring.PublishTail();
    EXPECT_EQ(Make(&region_).Scan()->watermark, sequence);
  }
}

// A crash cuts the last batch short; anything else is damage.
TEST_F(UndoRingTest, AHoleIsDamage) {
  UndoRing ring = Make(&region_);
  OwnUndo own;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(Change(&ring, &own, 8192, "text").ok());
  }
  const auto last_line = own.records[4].line;
  const auto damage = [&](uint64_t line) {
    SimRegion::Image image(region_.base(), region_.base() + region_.size());
    image[kLine + line * kLine + 9] ^= std::byte{1};
    SimRegion damaged(image);
    return Make(&damaged).Scan();
  };
  for (uint64_t line = 0; line < last_line; ++line) {
    EXPECT_TRUE(absl::IsDataLoss(damage(line).status())) << line;
  }
  ASSERT_TRUE(damage(last_line).ok());
  EXPECT_EQ(damage(last_line)->updates.size(), 4u);
  // Any part of a single batch may be missing.
  OwnUndo other;
  std::byte* const at = region_.base() + 8192;
  ASSERT_TRUE(ring.Append(&other, {{8192, {at, 8}}, {8200, {at + 8, 8}}}).ok());
  EXPECT_TRUE(damage(other.records[0].line).ok());
  EXPECT_EQ(damage(other.records[0].line)->updates.size(), 5u);
}

// Although no later record reveals the hole; and also where a transaction under
// way keeps the tail in place.
TEST_F(UndoRingTest, ALostCommitNamedInTheHeaderIsDamage) {
  for (const bool held_up : {true, false}) {
    region_.Reset(SimRegion::Image(region_.size()).data());
    UndoRing ring = Make(&region_);
    OwnUndo open, one, two;
    if (held_up) {
      ASSERT_TRUE(Change(&ring, &open, 9000, "open").ok());
    }
    ASSERT_TRUE(Change(&ring, &one, 8192, "text").ok());
    ring.AppendCommitted({one.transaction}, /*watermark=*/17);
    ring.PublishTail();
    ASSERT_TRUE(Change(&ring, &two, 8200, "text").ok());
    // Too many numbers for one line.
    std::vector<uint64_t> numbers(10, two.transaction);
    const uint64_t line = held_up ? 4 : 3;
    ring.AppendCommitted(numbers, /*watermark=*/27);
    const auto damage = [&](uint64_t at_line, bool zeros) {
      SimRegion::Image image(region_.durable(),
                             region_.durable() + region_.size());
      std::byte* const at = &image[kLine + at_line * kLine];
      at[9] ^= std::byte{1};
      if (zeros) std::fill_n(at, kLine, std::byte{0});
      SimRegion damaged(image);
      return Make(&damaged).Scan();
    };
    // No other record refers to it.
    EXPECT_EQ(damage(line, false)->watermark, 17u);
    EXPECT_EQ(Make(&region_).Scan()->watermark, 27u);
    ring.PublishTail();
    for (const bool zeros : {false, true}) {
      for (uint64_t at : {line, line + 1}) {
        const auto scanned = damage(at, zeros);
        EXPECT_TRUE(absl::IsDataLoss(scanned.status())) << at;
      }
      EXPECT_EQ(damage(line + 2, zeros)->watermark, 27u);
    }
  }
}

// A record's layout and type must match the format's page.
TEST_F(UndoRingTest, ARecordOfUnknownTypeIsAnError) {
  constexpr uint64_t kSeed = 5;
  UndoRing ring = Make(&region_);
  OwnUndo own;
  ASSERT_TRUE(Change(&ring, &own, 8192, "text").ok());
  ASSERT_TRUE(Change(&ring, &own, 8200, "text").ok());
  std::byte* const at = region_.base() + kLine + kLine;  // the second one
  for (uint32_t type : {1, 0, 4, 255}) {
    archapt_format::RecordHeader header;
    std::memcpy(&header, at, sizeof(header));
    header.type_and_batch = type << 24;
    const uint64_t number = 1;
    const uint64_t line_seed = XXH3_64bits_withSeed(
        reinterpret_cast<const char*>(&header) + 8, 32 - 8, kSeed);
    header.line =
        number << 16 |
        (XXH3_64bits_withSeed(&number, sizeof(number), line_seed) & 0xffff);
    header.check = XXH3_64bits_withSeed(
        &header, 32, kSeed ^ XXH3_64bits(at + sizeof(header), 4));
    std::memcpy(at, &header, sizeof(header));
    const auto scanned = Make(&region_).Scan();
    if (type == 1) {
      ASSERT_TRUE(scanned.ok()) << scanned.status();
      EXPECT_EQ(scanned->updates.size(), 2u);
    } else {
      EXPECT_TRUE(absl::IsDataLoss(scanned.status())) << type;
    }
  }
}

// Each line of these old bytes could be a record that continues to the ring's
// end: checking all of them would take hours.
TEST_F(UndoRingTest, OldBytesThatLookLikeRecordsDoNotSlowTheScan) {
  constexpr size_t kLarge = 16u << 20;
  constexpr uint64_t kLines = kLarge / kLine;
  SimRegion region(2 * kLarge + kLine);
  UndoRing::Place place;
  place.header = reinterpret_cast<archapt_format::LogHeader*>(region.base());
  place.ring_begin = kLine;
  place.ring_end = place.objects.begin = kLine + kLarge;
  place.objects.end = region.size();
  UndoRing ring(&region, place, /*seed=*/5);
  std::byte* const data = region.base() + place.objects.begin;
  const size_t length = kLarge - 2 * kLine;
  for (uint64_t line = 1; line < kLines - 2; ++line) {
    archapt_format::RecordHeader header{};
    header.line = line << 16;
    header.length = static_cast<uint32_t>((kLines - line - 1) * kLine);
    header.type_and_batch = 1u << 24;
    std::memcpy(data + line * kLine - sizeof(header), &header, sizeof(header));
  }
  OwnUndo own;
  ASSERT_TRUE(ring.Append(&own, {{place.objects.begin, {data, length}}}).ok());
  // A crash has kept everything except its beginning.
  region.base()[kLine + 9] ^= std::byte{1};
  const auto scanned = UndoRing(&region, place, /*seed=*/5).Scan();
  ASSERT_TRUE(scanned.ok()) << scanned.status();
  EXPECT_TRUE(scanned->updates.empty());
}

// Nothing would be rolled back; and later, records of an older life would be.
TEST_F(UndoRingTest, ALostHeaderIsDamage) {
  UndoRing first = Make(&region_);
  OwnUndo own;
  ASSERT_TRUE(Change(&first, &own, 8192, "aaaa").ok());
  EXPECT_TRUE(Make(&region_).Scan().ok()) << "it is new as yet";
  UndoRing second = Make(&region_);
  RollBack(&second);
  second.Reset(5, 5);
  OwnUndo other;
  ASSERT_TRUE(Change(&second, &other, 8192, "bbbb").ok());
  std::memset(region_.base(), 0, sizeof(archapt_format::LogHeader));
  EXPECT_TRUE(absl::IsDataLoss(Make(&region_).Scan().status()));
}

TEST_F(UndoRingTest, ADamagedHeaderIsAnError) {
  UndoRing ring = Make(&region_);
  OwnUndo own;
  ASSERT_TRUE(Change(&ring, &own, 8192, "text").ok());
  ring.Reset(9, 12);
  for (size_t at : {0, 3, 8, 12, 24, 29}) {
    SimRegion::Image image(region_.base(), region_.base() + region_.size());
    image[at] ^= std::byte{4};
    SimRegion damaged(image);
    EXPECT_TRUE(absl::IsDataLoss(Make(&damaged).Scan().status())) << at;
  }
}

}  // namespace
}  // namespace kamino::engine
