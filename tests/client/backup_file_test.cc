// Backups as files: reading returns what was written, and any change of the
// file is noticed.
#include "client/backup_file.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"

namespace kamino::client {
namespace {

using kamino::v1::BackupHeader;
using kamino::v1::BackupTrailer;
using ::testing::HasSubstr;

constexpr uint64_t kSequence = 1000;

std::string Records(int from, int to) {
  std::string records;
  for (int i = from; i < to; ++i) {
    const std::string key = absl::StrCat("key", 1000 + i);
    AppendBackupRecord({key, std::string(static_cast<size_t>(i), 'v'),
                        static_cast<uint64_t>(i + 1)},
                       &records);
  }
  return records;
}

BackupHeader Header() {
  BackupHeader header;
  header.set_backup_id("0123456789abcdef");
  header.set_sequence(kSequence);
  return header;
}

BackupTrailer TrailerOf(const std::vector<std::string>& parts, int objects) {
  ContentHash hash;
  BackupTrailer trailer;
  uint64_t bytes = 0;
  for (const std::string& part : parts) {
    hash.Add(part);
    bytes += part.size();
  }
  trailer.set_objects(static_cast<uint64_t>(objects));
  trailer.set_bytes(bytes);
  trailer.set_content_hash(hash.Digest());
  return trailer;
}

std::string Write(const std::vector<std::string>& parts,
                  const BackupTrailer& trailer, bool compress = false) {
  std::string file;
  BackupWriter writer(
      [&file](absl::string_view bytes) {
        absl::StrAppend(&file, bytes);
        return absl::OkStatus();
      },
      compress);
  EXPECT_TRUE(writer.Begin(Header()).ok());
  for (const std::string& part : parts) EXPECT_TRUE(writer.Add(part).ok());
  EXPECT_TRUE(writer.End(trailer).ok());
  EXPECT_EQ(writer.file_bytes(), file.size());
  return file;
}

std::string WriteSample(bool compress = false) {
  const std::vector<std::string> parts = {Records(0, 20), Records(20, 50)};
  return Write(parts, TrailerOf(parts, 50), compress);
}

// With another trailer that has right checksums.
std::string WithTrailer(const std::string& file, const BackupTrailer& trailer) {
  using backup_file_format::Frame;
  const std::string old =
      TrailerOf({Records(0, 20), Records(20, 50)}, 50).SerializeAsString();
  const size_t at = file.size() - old.size() - sizeof(Frame);
  // The previous frame ends where this one begins.
  const size_t before = at - Records(20, 50).size() - sizeof(Frame);
  Frame last;
  Frame frame;
  std::memcpy(&last, file.data() + before, sizeof(last));
  std::memcpy(&frame, file.data() + at, sizeof(frame));
  const std::string bytes = trailer.SerializeAsString();
  frame.length = frame.raw_length = static_cast<uint32_t>(bytes.size());
  frame.data_checksum = BackupChecksum(bytes);
  frame.checksum = BackupChecksum(
      {reinterpret_cast<const char*>(&frame), offsetof(Frame, checksum)},
      last.checksum);
  return file.substr(0, at) +
         std::string(reinterpret_cast<const char*>(&frame), sizeof(frame)) +
         bytes;
}

// The records read from it, or the error.
absl::StatusOr<std::string> Read(const std::string& file) {
  size_t at = 0;
  BackupReader reader([&](char* to, size_t most) -> absl::StatusOr<size_t> {
    const size_t got = std::min(most, file.size() - at);
    std::memcpy(to, file.data() + at, got);
    at += got;
    return got;
  });
  auto header = reader.Begin();
  if (!header.ok()) return header.status();
  std::string all;
  while (true) {
    auto records = reader.Next();
    if (!records.ok()) return records.status();
    if (records->empty()) return all;
    absl::StrAppend(&all, *records);
  }
}

TEST(BackupFileTest, ReadsTheRecordsThatWereWritten) {
  for (const bool compress : {false, true}) {
    auto read = Read(WriteSample(compress));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, Records(0, 50));
  }
  EXPECT_LT(WriteSample(true).size(), WriteSample(false).size());
  EXPECT_EQ(*Read(Write({}, TrailerOf({}, 0))), "");
}

TEST(BackupFileTest, TheHashDoesNotDependOnTheChunks) {
  EXPECT_EQ(TrailerOf({Records(0, 50)}, 50).content_hash(),
            TrailerOf({Records(0, 7), Records(7, 50)}, 50).content_hash());
  EXPECT_NE(TrailerOf({Records(0, 49)}, 50).content_hash(),
            TrailerOf({Records(0, 50)}, 50).content_hash());
}

TEST(BackupFileTest, EveryFlippedBitIsDetected) {
  for (const bool compress : {false, true}) {
    const std::string good = WriteSample(compress);
    for (size_t place = 0; place < good.size(); ++place) {
      std::string bad = good;
      bad[place] = static_cast<char>(bad[place] ^ (1 << (place % 8)));
      EXPECT_TRUE(absl::IsDataLoss(Read(bad).status())) << "byte " << place;
    }
  }
}

TEST(BackupFileTest, EveryTruncationIsDetected) {
  const std::string good = WriteSample();
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_TRUE(absl::IsDataLoss(Read(good.substr(0, length)).status()))
        << length << " bytes";
  }
  EXPECT_THAT(std::string(Read(good + "?").status().message()),
              HasSubstr("bytes follow its end"));
}

TEST(BackupFileTest, ErrorsTellForeignFilesFromTruncatedOnes) {
  const auto none = Read("this is no backup at all, but some text");
  EXPECT_TRUE(absl::IsDataLoss(none.status())) << none.status();
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("not those of a backup"));
  const auto cut = Read(WriteSample().substr(0, 500));
  EXPECT_TRUE(absl::IsDataLoss(cut.status())) << cut.status();
  EXPECT_THAT(std::string(cut.status().message()), HasSubstr("cut short"));
}

// Its prefix is sound, so it does not count as damaged.
TEST(BackupFileTest, AnUnknownVersionIsReported) {
  using backup_file_format::Prefix;
  std::string newer = WriteSample();
  Prefix prefix;
  std::memcpy(&prefix, newer.data(), sizeof(prefix));
  prefix.version = 2;
  std::memcpy(newer.data(), &prefix, sizeof(prefix));
  EXPECT_TRUE(absl::IsDataLoss(Read(newer).status())) << Read(newer).status();
  prefix.checksum = BackupChecksum(
      {reinterpret_cast<const char*>(&prefix), offsetof(Prefix, checksum)});
  std::memcpy(newer.data(), &prefix, sizeof(prefix));
  const auto read = Read(newer);
  EXPECT_TRUE(absl::IsFailedPrecondition(read.status())) << read.status();
  EXPECT_THAT(std::string(read.status().message()),
              HasSubstr("format version 2"));
}

// A restore would continue above it.
TEST(BackupFileTest, AnImpossibleSequenceIsRefused) {
  for (const uint64_t sequence :
       {kBackupSequenceEnd - 1, kBackupSequenceEnd, ~uint64_t{0}}) {
    std::string file;
    BackupWriter writer(
        [&file](absl::string_view bytes) {
          absl::StrAppend(&file, bytes);
          return absl::OkStatus();
        },
        /*compress=*/false);
    BackupHeader header = Header();
    header.set_sequence(sequence);
    ASSERT_TRUE(writer.Begin(header).ok());
    ASSERT_TRUE(writer.End(TrailerOf({}, 0)).ok());
    EXPECT_EQ(Read(file).ok(), sequence < kBackupSequenceEnd) << sequence;
  }
}

TEST(BackupFileTest, MisplacedChunksAreDetected) {
  const std::vector<std::string> parts = {Records(0, 20), Records(20, 50)};
  const std::string one = Write(parts, TrailerOf(parts, 50));
  // Without its first piece, and with the two pieces swapped.
  const std::string header(one.substr(0, one.find("key1000") - 48));
  const size_t first = sizeof(backup_file_format::Frame) + parts[0].size();
  EXPECT_FALSE(Read(header + one.substr(header.size() + first)).ok());
  const std::vector<std::string> turned = {parts[1], parts[0]};
  EXPECT_THAT(
      std::string(
          Read(Write(turned, TrailerOf(turned, 50))).status().message()),
      HasSubstr("out of order"));
  const std::vector<std::string> later = {Records(0, 1200)};
  EXPECT_THAT(
      std::string(
          Read(Write(later, TrailerOf(later, 1200))).status().message()),
      HasSubstr("has version"));
}

TEST(BackupFileTest, CountsAndHashAreCompared) {
  const std::vector<std::string> parts = {Records(0, 20)};
  EXPECT_THAT(
      std::string(Read(Write(parts, TrailerOf(parts, 21))).status().message()),
      HasSubstr("20 objects"));
  BackupWriter writer([](absl::string_view) { return absl::OkStatus(); },
                      /*compress=*/false);
  ASSERT_TRUE(writer.Begin(Header()).ok());
  ASSERT_TRUE(writer.Add(parts[0]).ok());
  EXPECT_TRUE(absl::IsDataLoss(writer.End(TrailerOf({}, 20))));
}

// A reader that does not compare them accepts damaged files.
TEST(BackupFileTest, PlantedFaultsAreDetected) {
  const std::string good = WriteSample();
  std::string bad = good;
  const size_t value = good.find("vvvv");
  bad[value] = 'w';
  EXPECT_FALSE(Read(bad).ok());
  {
    faults::Planted fault("backup-takes-damaged-chunks");
    // The hash of the whole file is another barrier.
    EXPECT_THAT(std::string(Read(bad).status().message()),
                HasSubstr("hash of all"));
  }
  BackupTrailer other = TrailerOf({Records(0, 20), Records(20, 50)}, 50);
  other.set_content_hash(std::string(ContentHash::kBytes, 'x'));
  const std::string mixed = WithTrailer(good, other);
  EXPECT_FALSE(Read(mixed).ok());
  {
    faults::Planted fault("backup-takes-another-content");
    EXPECT_TRUE(Read(mixed).ok());
  }
}

}  // namespace
}  // namespace kamino::client
