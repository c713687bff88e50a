// Files that claim to be backups.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/backup_file.h"
#include "glog/logging.h"
#include "proto/backup_records.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace kamino::fuzz {
namespace {

using client::BackupReader;
using client::BackupWriter;
using client::backup_file_format::Frame;
using client::backup_file_format::kMaxFrameBytes;
using client::backup_file_format::Prefix;

template <typename T>
absl::string_view FieldsOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), offsetof(T, checksum)};
}

// Corrects every checksum, like a deliberate forgery.
std::string Forge(std::string file) {
  Prefix prefix;
  if (file.size() < sizeof(prefix)) return file;
  std::memcpy(&prefix, file.data(), sizeof(prefix));
  uint64_t seed = prefix.checksum = BackupChecksum(FieldsOf(prefix));
  std::memcpy(file.data(), &prefix, sizeof(prefix));
  size_t at = sizeof(prefix);
  while (file.size() - at >= sizeof(Frame)) {
    Frame frame;
    std::memcpy(&frame, &file[at], sizeof(frame));
    const absl::string_view data =
        absl::string_view(file).substr(at + sizeof(frame), frame.length);
    frame.data_checksum = BackupChecksum(data);
    seed = frame.checksum = BackupChecksum(FieldsOf(frame), seed);
    std::memcpy(&file[at], &frame, sizeof(frame));
    at += sizeof(frame) + data.size();
  }
  return file;
}

// It ends, and what it hands out are whole records.
void Run(absl::string_view bytes) {
  Input input(bytes);
  const bool forged = input.Number(1) % 2 == 1;
  std::string file(input.Bytes(bytes.size()));
  if (forged) file = Forge(std::move(file));
  size_t at = 0;
  BackupReader reader([&](char* to, size_t most) -> absl::StatusOr<size_t> {
    CHECK_LE(most, kMaxFrameBytes);
    const size_t got = std::min(most, file.size() - at);
    std::memcpy(to, file.data() + at, got);
    at += got;
    return got;
  });
  const auto header = reader.Begin();
  if (!header.ok()) return;
  uint64_t objects = 0;
  while (true) {
    const auto records = reader.Next();
    if (!records.ok()) {
      CHECK(absl::IsDataLoss(records.status())) << records.status();
      return;
    }
    if (records->empty()) break;
    absl::string_view left = *records;
    BackupRecord record;
    while (!left.empty()) {
      CHECK(TakeBackupRecord(&left, &record));
      ++objects;
    }
  }
  CHECK_EQ(reader.trailer().objects(), objects);
  CHECK_EQ(at, file.size());
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const bool compress : {false, true}) {
    for (const char how : {0, 1}) {
      std::string seed = {how};
      BackupWriter writer(
          [&seed](absl::string_view piece) {
            absl::StrAppend(&seed, piece);
            return absl::OkStatus();
          },
          compress);
      kamino::v1::BackupHeader header;
      header.set_sequence(100);
      CHECK(writer.Begin(header).ok());
      std::string records;
      for (int i = 0; i < 3; ++i) {
        AppendBackupRecord({absl::StrCat("key", i), "value", 7}, &records);
      }
      CHECK(writer.Add(records).ok());
      kamino::v1::BackupTrailer trailer;
      ContentHash hash;
      hash.Add(records);
      trailer.set_objects(3);
      trailer.set_bytes(records.size());
      trailer.set_content_hash(hash.Digest());
      CHECK(writer.End(trailer).ok());
      seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

}  // namespace

Target BackupTarget() { return {"backup", Run, Seeds, MutateBytes}; }

}  // namespace kamino::fuzz
