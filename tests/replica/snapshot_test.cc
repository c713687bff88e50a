// Snapshots of regions into strings and back; the format's guarantees, bit by
// bit.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/pmem/sim_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replica/state/snapshot_reader.h"
#include "replica/state/snapshot_writer.h"

namespace kamino::replica {
namespace {

using engine::SimRegion;
using engine::TrackedRegion;
using snapshot_format::Header;
using snapshot_format::Kind;
using snapshot_format::Record;
using ::testing::HasSubstr;

constexpr size_t kPage = TrackedRegion::kPageBytes;
constexpr size_t kBegin = 3 * kPage;
constexpr size_t kBytes = 300 * kPage + 128;
constexpr SnapshotScope kScope = {.begin = kBegin};

class SnapshotTest : public testing::Test {
 protected:
  void Store(size_t offset, size_t length) {
    std::string bytes(length, '\0');
    for (char& c : bytes) c = static_cast<char>(random_());
    source_.CopyFlush(source_.base() + offset, bytes.data(), length);
  }
  // Moves up to `most` records to the reader.
  size_t Move(SnapshotWriter* writer, size_t most) {
    size_t moved = 0;
    while (moved < most && (*writer->WriteRecord(&reader_)) > 0) ++moved;
    return moved;
  }
  bool Equal() const {
    return std::memcmp(source_.base() + kBegin, target_.base() + kBegin,
                       kBytes - kBegin) == 0;
  }

  std::mt19937 random_{1};
  TrackedRegion source_{std::make_unique<SimRegion>(kBytes)};
  SimRegion target_{kBytes};
  SnapshotReader reader_{&target_, kScope};
};

TEST_F(SnapshotTest, IncludesConcurrentChanges) {
  Store(kBegin + 5, 60 * kPage);
  Store(200 * kPage, 10 * kPage);
  // The target's former content is gone, also where the source has zeros.
  std::memset(target_.base() + kBegin, 0x77, kBytes - kBegin);
  SnapshotWriter writer(&source_, kScope, 5);
  EXPECT_EQ(writer.BytesLeft(), kBytes - kBegin);
  for (int i = 0; i < 50; ++i) {
    Store(kBegin + random_() % (kBytes - kBegin - 100), 100);
    EXPECT_LE(Move(&writer, 1), 1u);
  }
  EXPECT_GT(writer.BytesLeft(), 0u);
  Move(&writer, SIZE_MAX);
  EXPECT_EQ(writer.BytesLeft(), 0u);
  EXPECT_TRUE(Equal());
  EXPECT_FALSE(reader_.end().has_value());
  Store(kBegin + 7, 2);  // between the last record and the end
  ASSERT_TRUE(writer.Finish(9, &reader_).ok());
  EXPECT_TRUE(Equal());
  EXPECT_EQ(reader_.end(), 9u);
  EXPECT_EQ(*reader_.Finish(), 9u);
  EXPECT_GT(reader_.bytes_stored(), kBytes - kBegin);
  // Bytes before the scope belong to each node itself.
  EXPECT_EQ(target_.base()[kBegin - 1], std::byte{0});
}

// The changes that a heap with everything else lacks.
TEST_F(SnapshotTest, ASnapshotOfChangesHasOnlyThose) {
  Store(kBegin, kBytes - kBegin);
  std::memcpy(target_.base(), source_.base(), kBytes);
  engine::PageSet changed(source_.pages());
  source_.Collect(&changed);
  Store(70 * kPage + 5, 10);
  Store(kBytes - 3, 3);
  source_.Collect(nullptr);
  engine::BlockChanges states(kBytes);
  states.Note(71 * kPage + 64, true);  // of a page that has not changed
  states.Note(70 * kPage + 128, true);
  states.Note(70 * kPage + 192, false);
  engine::BlockMap blocks(kBytes);
  blocks.Set(70 * kPage + 192, true);
  blocks.Set(70 * kPage + 640, true);
  SnapshotReader reader(&target_, kScope, &blocks);
  SnapshotWriter writer(&source_, kScope, 5, changed, &states);
  EXPECT_EQ(writer.BytesLeft(), 2 * kPage);
  EXPECT_EQ(*writer.WriteRecord(&reader), kPage);
  EXPECT_TRUE(blocks.Has(70 * kPage + 128));
  EXPECT_FALSE(blocks.Has(70 * kPage + 192));
  EXPECT_TRUE(blocks.Has(70 * kPage + 640));
  Store(70 * kPage + 100, 1);  // again
  states.Note(70 * kPage + 128, false);
  engine::PageSet wanted(source_.pages());
  wanted.Add(0);  // is each heap's own
  wanted.Add(9);
  std::memset(target_.base() + 9 * kPage, 0, 40);
  writer.Add(wanted);
  while ((*writer.WriteRecord(&reader)) > 0) {
  }
  EXPECT_FALSE(blocks.Has(70 * kPage + 128));
  EXPECT_FALSE(blocks.Has(71 * kPage + 64));
  ASSERT_TRUE(writer.Finish(9, &reader).ok());
  EXPECT_EQ(*reader.Finish(), 9u);
  EXPECT_TRUE(Equal());
  EXPECT_LT(reader.bytes_stored(), 5 * kPage);
}

// Each is refused in place of the other.
TEST_F(SnapshotTest, ASnapshotOfChangesIsNotWhole) {
  engine::BlockMap blocks(kBytes);
  SnapshotReader of_changes(&target_, kScope, &blocks);
  {
    SnapshotWriter writer(&source_, kScope, 5);
    EXPECT_TRUE(absl::IsDataLoss(writer.WriteRecord(&of_changes).status()));
  }
  engine::PageSet changed(source_.pages());
  changed.Add(10);
  engine::BlockChanges states(kBytes);
  states.Note(10 * kPage + 64, true);
  std::string bytes;
  {
    SnapshotWriter writer(&source_, kScope, 5, changed, &states);
    StringSink sink(&bytes);
    ASSERT_TRUE(writer.WriteRecord(&sink).ok());
  }
  EXPECT_TRUE(absl::IsDataLoss(reader_.Append(bytes)));
}

TEST_F(SnapshotTest, LeavesOutUnusedPagesUntilTheyAreUsed) {
  Store(kBegin, kBytes - kBegin);
  SnapshotWriter writer(
      &source_, kScope, 0,
      {{10 * kPage - 1, 20 * kPage + 1}, {kBytes - 256, kBytes}});
  EXPECT_EQ(writer.BytesLeft(), kBytes - kBegin - 10 * kPage);
  Move(&writer, SIZE_MAX);
  EXPECT_EQ(writer.BytesLeft(), 0u);
  EXPECT_FALSE(Equal());
  EXPECT_EQ(target_.base()[15 * kPage], std::byte{0});
  for (size_t page = 10; page < 20; ++page) Store(page * kPage, kPage);
  EXPECT_EQ(Move(&writer, SIZE_MAX), 10u);
  EXPECT_TRUE(Equal());
}

// A stream cut at records has pieces of at most this size, the first with the
// header, and one of exactly this size.
TEST_F(SnapshotTest, PiecesHaveABound) {
  Store(kBegin, kBytes - kBegin);
  SnapshotWriter writer(&source_, kScope, 0);
  size_t largest = 0;
  for (bool more = true; more;) {
    std::string piece;
    StringSink sink(&piece);
    more = (*writer.WriteRecord(&sink)) > 0;
    largest = std::max(largest, piece.size());
  }
  EXPECT_EQ(largest, snapshot_format::kMaxPieceBytes);
  EXPECT_EQ(snapshot_format::kMaxPieceBytes, 64u + 40u + (64u << 10));
}

// --- The format.

// Some bytes, zeros, bytes again; one page is written twice.
class SmallSnapshotTest : public testing::Test {
 protected:
  static constexpr size_t kSmall = 6 * kPage;
  static constexpr SnapshotScope kSmallScope = {
      .chain_id = 1, .cluster = {0xc1, 0xc2}, .begin = kPage};

  SmallSnapshotTest() {
    TrackedRegion source(std::make_unique<SimRegion>(kSmall));
    const auto store = [&](size_t offset, const std::string& bytes) {
      source.CopyFlush(source.base() + offset, bytes.data(), bytes.size());
    };
    store(kPage, "first");
    store(kSmall - 3, "end");
    SnapshotWriter writer(&source, kSmallScope, 7);
    StringSink sink(&bytes_);
    while (*writer.WriteRecord(&sink) > 0) Cut();
    store(kPage + 1, "IRST");
    EXPECT_GT(*writer.WriteRecord(&sink), 0u);
    Cut();
    EXPECT_TRUE(writer.Finish(8, &sink).ok());
    content_.assign(reinterpret_cast<const char*>(source.base()), kSmall);
  }
  void Cut() { cuts_.push_back(bytes_.size()); }

  // The reader's answer to `bytes`, in pieces of `piece` bytes. Before an error
  // it has stored the undamaged records, and nothing else.
  absl::Status Read(absl::string_view bytes, size_t piece = SIZE_MAX) {
    SimRegion target(kSmall);
    SnapshotReader reader(&target, kSmallScope);
    absl::Status status;
    for (size_t at = 0; status.ok() && at < bytes.size();) {
      const absl::string_view next = bytes.substr(at, piece);
      status = reader.Append(next);
      EXPECT_LE(reader.bytes_kept(),
                snapshot_format::kMaxDataBytes + sizeof(Record));
      at += next.size();
    }
    const std::string stored(reinterpret_cast<const char*>(target.base()),
                             kSmall);
    if (status.ok()) status = reader.Finish().status();
    if (status.ok()) {
      EXPECT_EQ(stored, content_);
    } else {
      EXPECT_EQ(reader.Append("").ok(), reader.Append("more").ok());
      EXPECT_EQ(stored, StoredBy(reader.bytes_stored()));
    }
    return status;
  }

  // The target after that many bytes of the heap in whole records.
  std::string StoredBy(uint64_t bytes) {
    auto& known = stored_by_[bytes];
    if (!known.empty()) return known;
    SimRegion target(kSmall);
    SnapshotReader reader(&target, kSmallScope);
    size_t from = 0;
    for (size_t i = 0; i < cuts_.size() && reader.bytes_stored() < bytes; ++i) {
      EXPECT_TRUE(
          reader.Append(absl::string_view(bytes_).substr(from, cuts_[i] - from))
              .ok());
      from = cuts_[i];
    }
    EXPECT_EQ(reader.bytes_stored(), bytes);
    return known = std::string(reinterpret_cast<const char*>(target.base()),
                               kSmall);
  }

  // The record that begins at `at`, with its checksum corrected after `change`.
  std::string Forge(size_t at, void (*change)(Record*)) {
    std::string forged = bytes_;
    uint64_t before;
    std::memcpy(&before, &forged[offsetof(Header, checksum)], sizeof(before));
    EXPECT_EQ(at, sizeof(Header)) << "only the first follows the header";
    Record record;
    std::memcpy(&record, &forged[at], sizeof(record));
    change(&record);
    record.checksum = ChecksumOf(before, record);
    std::memcpy(&forged[at], &record, sizeof(record));
    return forged;
  }
  std::string ForgeHeader(void (*change)(Header*)) {
    std::string forged = bytes_;
    Header header;
    std::memcpy(&header, forged.data(), sizeof(header));
    change(&header);
    header.checksum = ChecksumOf(header);
    std::memcpy(&forged[0], &header, sizeof(header));
    return forged;
  }

  std::string bytes_;
  std::string content_;       // of the source, at the end
  std::vector<size_t> cuts_;  // where records end
  std::map<uint64_t, std::string> stored_by_;
};

// docs/formats/snapshot.md has these bytes.
TEST_F(SmallSnapshotTest, LayoutIsTheDocumentedOne) {
  const auto hex = [this](size_t at, size_t length) {
    return absl::BytesToHexString(bytes_.substr(at, length));
  };
  EXPECT_EQ(hex(0, 56),
            "4b6e617073686f74"
            "01000000"
            "01000000"
            "c1c20000000000000000000000000000"
            "0060000000000000"
            "0010000000000000"
            "0700000000000000");
  EXPECT_EQ(hex(64, 24),
            "01000000"
            "00000000"
            "0010000000000000"
            "0010000000000000");
  EXPECT_EQ(bytes_.substr(104, 5), "first");
  const size_t zeros = cuts_[0];
  EXPECT_EQ(zeros, 104 + kPage);
  EXPECT_EQ(hex(zeros, 24),
            "02000000"
            "00000000"
            "0020000000000000"
            "0030000000000000");
  EXPECT_EQ(cuts_[1], zeros + sizeof(Record));
  EXPECT_EQ(hex(bytes_.size() - sizeof(Record), 24),
            "03000000"
            "00000000"
            "0800000000000000"
            "0400000000000000");
  EXPECT_TRUE(Read(bytes_).ok());
}

TEST_F(SmallSnapshotTest, MayComeInPiecesOfAnySize) {
  for (size_t piece = 1; piece < 200; ++piece) {
    EXPECT_TRUE(Read(bytes_, piece).ok()) << piece;
  }
  for (size_t piece : {kPage, kPage + 40, 2 * kPage, bytes_.size()}) {
    EXPECT_TRUE(Read(bytes_, piece).ok()) << piece;
  }
}

TEST_F(SmallSnapshotTest, EveryFlippedBitIsRefused) {
  for (size_t bit = 0; bit < bytes_.size() * 8; ++bit) {
    std::string damaged = bytes_;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const absl::Status read = Read(damaged);
    ASSERT_TRUE(absl::IsDataLoss(read) || absl::IsFailedPrecondition(read))
        << "bit " << bit << ": " << read;
    ASSERT_THAT(std::string(read.message()), HasSubstr("snapshot"));
  }
}

// Otherwise a reader waits for data that never comes: nothing follows the last
// record of a tail that believes it has sent all.
TEST_F(SmallSnapshotTest, ADamagedRecordHeaderIsRefusedBeforeItsData) {
  std::vector<size_t> heads = {sizeof(Header)};
  heads.insert(heads.end(), cuts_.begin(), cuts_.end());
  for (const size_t head : heads) {
    for (size_t bit = 0; bit < sizeof(Record) * 8; ++bit) {
      std::string damaged = bytes_.substr(0, head + sizeof(Record));
      damaged[head + bit / 8] ^= static_cast<char>(1 << bit % 8);
      SimRegion target(kSmall);
      SnapshotReader reader(&target, kSmallScope);
      EXPECT_TRUE(absl::IsDataLoss(reader.Append(damaged)))
          << "bit " << bit << " at " << head;
    }
  }
}

TEST_F(SmallSnapshotTest, EveryTruncationIsRefused) {
  for (size_t length = 0; length < bytes_.size(); ++length) {
    const absl::Status read = Read(absl::string_view(bytes_).substr(0, length));
    ASSERT_TRUE(absl::IsDataLoss(read)) << length << ": " << read;
    ASSERT_THAT(std::string(read.message()), HasSubstr("cut short"));
  }
  const absl::Status longer = Read(bytes_ + "x");
  EXPECT_TRUE(absl::IsDataLoss(longer));
  EXPECT_THAT(std::string(longer.message()), HasSubstr("follow the end"));
}

// Each record is sound by itself.
TEST_F(SmallSnapshotTest, RecordsThatAreLostDoubledOrExchangedAreRefused) {
  const auto part = [this](size_t from, size_t to) {
    return bytes_.substr(from, to - from);
  };
  ASSERT_EQ(cuts_.size(), 4u);
  const std::string header = part(0, sizeof(Header));
  const std::string first = part(sizeof(Header), cuts_[0]);
  const std::string second = part(cuts_[0], cuts_[1]);
  const std::string rest = part(cuts_[1], bytes_.size());
  const std::string end = part(cuts_[3], bytes_.size());
  ASSERT_TRUE(Read(header + first + second + rest).ok());
  EXPECT_TRUE(absl::IsDataLoss(Read(header + second + rest)));
  EXPECT_TRUE(absl::IsDataLoss(Read(header + first + rest)));
  EXPECT_TRUE(absl::IsDataLoss(Read(header + first + first + second + rest)));
  EXPECT_TRUE(absl::IsDataLoss(Read(header + second + first + rest)));
  EXPECT_TRUE(absl::IsDataLoss(Read(header + first + second + end)));
  EXPECT_TRUE(absl::IsDataLoss(Read(header + end)));
}

TEST_F(SmallSnapshotTest, ASnapshotOfAnotherHeapIsRefused) {
  const struct {
    void (*change)(Header*);
    const char* text;
  } cases[] = {
      {[](Header* h) { h->magic ^= 1; }, "this is not a snapshot"},
      {[](Header* h) { h->version = 2; },
       "of version 2; this program reads version 1"},
      {[](Header* h) { h->chain_id = 3; },
       "of chain 3, and the heap of chain 1"},
      {[](Header* h) { h->cluster[15] = 9; }, "of another cluster"},
      {[](Header* h) { h->heap_bytes += kPage; },
       "of a heap of 28672 bytes, from 4096 on; this one has 24576"},
      {[](Header* h) { h->begin = 0; },
       "from 0 on; this one has 24576, from 4096 on"},
  };
  for (const auto& one : cases) {
    EXPECT_THAT(std::string(Read(ForgeHeader(one.change)).message()),
                HasSubstr(one.text));
  }
}

TEST_F(SmallSnapshotTest, AnUnknownClusterMatchesAny) {
  SimRegion target(kSmall);
  SnapshotReader reader(&target, {.begin = kPage});
  EXPECT_TRUE(reader.Append(bytes_).ok());
  EXPECT_EQ(*reader.Finish(), 8u);
}

// Checksums keep out mistakes, not malice.
TEST_F(SmallSnapshotTest, NothingIsStoredOutsideTheHeap) {
  const struct {
    void (*change)(Record*);
    const char* text;
  } cases[] = {
      {[](Record* r) { r->kind = Kind{9}; }, "unknown kind of record: 9"},
      {[](Record* r) { r->reserved = 1; }, "reserved"},
      {[](Record* r) { r->offset = 0; }, "4096 bytes at 0 do not lie within"},
      {[](Record* r) { r->offset = kSmall; }, "do not lie within"},
      {[](Record* r) { r->offset = kSmall - kPage + 1; }, "do not lie within"},
      {[](Record* r) { r->offset = ~uint64_t{0}; }, "do not lie within"},
      {[](Record* r) { r->length = 0; }, "do not lie within"},
      {[](Record* r) { r->length = ~uint64_t{0}; }, "do not lie within"},
      {[](Record* r) { *r = {Kind::kEnd, 0, 6, 0, 0, 0}; },
       "ends after mutation 6 and 0 records; it was begun after mutation 7"},
      {[](Record* r) { *r = {Kind::kEnd, 0, 8, 1, 0, 0}; },
       "ends after mutation 8 and 1 records"},
  };
  for (const auto& one : cases) {
    // From its head alone: the reader waits for no further byte.
    const std::string forged = Forge(sizeof(Header), one.change);
    const absl::Status read = Read(absl::string_view(forged).substr(0, 104));
    EXPECT_TRUE(absl::IsDataLoss(read));
    EXPECT_THAT(std::string(read.message()), HasSubstr(one.text));
    EXPECT_THAT(std::string(read.message()),
                HasSubstr("at byte 64, in record"));
  }
}

// Nor does a reader wait for more than a record may have, even where there is
// room.
TEST(LargeHeapTest, AnOversizedRecordIsRefusedByItsHeader) {
  SimRegion target(17 << 20);
  for (Record record :
       {Record{Kind::kData, 0, 0, snapshot_format::kMaxDataBytes + 1, 0, 0},
        Record{Kind::kZeros, 0, 0, snapshot_format::kMaxZeroBytes + 1, 0, 0}}) {
    Header header = {};
    header.magic = snapshot_format::kMagic;
    header.version = snapshot_format::kVersion;
    header.chain_id = 1;
    header.heap_bytes = target.size();
    header.checksum = ChecksumOf(header);
    record.checksum = ChecksumOf(header.checksum, record);
    SnapshotReader reader(&target, {});
    EXPECT_TRUE(
        reader.Append({reinterpret_cast<const char*>(&header), sizeof(header)})
            .ok());
    const absl::Status taken =
        reader.Append({reinterpret_cast<const char*>(&record), sizeof(record)});
    EXPECT_TRUE(absl::IsDataLoss(taken));
    EXPECT_THAT(std::string(taken.message()),
                HasSubstr(absl::StrCat("more than ", record.length - 1)));
  }
}

// A full disk ends it.
TEST_F(SmallSnapshotTest, AnErrorOfTheSinkIsPassedOn) {
  struct Full final : ByteSink {
    absl::Status Append(absl::string_view bytes) override {
      if (bytes.size() > room) return absl::ResourceExhaustedError("full");
      room -= bytes.size();
      return absl::OkStatus();
    }
    size_t room = 0;
  };
  for (size_t room = 0; room < bytes_.size() - kPage - 40; room += 16) {
    TrackedRegion source(std::make_unique<SimRegion>(kSmall));
    std::memset(source.base() + kPage, 1, kPage);
    std::memset(source.base() + kSmall - 1, 1, 1);
    SnapshotWriter writer(&source, kSmallScope, 7);
    Full full;
    full.room = room;
    EXPECT_TRUE(absl::IsResourceExhausted(writer.Finish(7, &full))) << room;
  }
}

}  // namespace
}  // namespace kamino::replica
