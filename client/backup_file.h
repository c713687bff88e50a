// Backups as a stream of bytes: written and read piece by piece, each checked
// before anything of it is used. docs/formats/backup_file.md.
#ifndef KAMINO_CLIENT_BACKUP_FILE_H_
#define KAMINO_CLIENT_BACKUP_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/backup_file_format.h"
#include "kamino/v1/backup.pb.h"
#include "proto/backup_records.h"

namespace kamino::client {

// Not thread-safe.
class BackupWriter {
 public:
  // Takes all the bytes. Its errors pass unchanged.
  using Write = std::function<absl::Status(absl::string_view bytes)>;

  // `compress`: records go through zstd.
  BackupWriter(Write write, bool compress);
  ~BackupWriter();
  BackupWriter(const BackupWriter&) = delete;
  BackupWriter& operator=(const BackupWriter&) = delete;

  absl::Status Begin(const kamino::v1::BackupHeader& header);
  absl::Status Add(absl::string_view records);
  // kDataLoss: what came is not what the node has sent, by its hash.
  absl::Status End(const kamino::v1::BackupTrailer& trailer);

  uint64_t file_bytes() const { return file_bytes_; }

 private:
  absl::Status Put(absl::string_view bytes);
  absl::Status PutFrame(backup_file_format::FrameKind kind,
                        backup_file_format::Compression compression,
                        absl::string_view bytes, size_t raw_length);

  const Write write_;
  struct Compressor;
  const std::unique_ptr<Compressor> compressor_;  // null: as they are
  std::string compressed_;
  ContentHash hash_;
  uint64_t seed_ = 0;  // of the next frame's checksum
  uint64_t file_bytes_ = 0;
};

// Not thread-safe.
class BackupReader {
 public:
  // Fills `to` as far as there are bytes, and returns how many there were: less
  // than its size only at the end.
  using Read = std::function<absl::StatusOr<size_t>(char* to, size_t most)>;

  explicit BackupReader(Read read);
  ~BackupReader();
  BackupReader(const BackupReader&) = delete;
  BackupReader& operator=(const BackupReader&) = delete;

  // The begin. kFailedPrecondition: a sound one of a version that this program
  // does not read. Else as Next; also where there is no trace of a backup.
  absl::StatusOr<kamino::v1::BackupHeader> Begin();

  // The next records, whole ones, in key order; they stay until the next call.
  // Empty: this was the end, and all of it is good. kDataLoss: damaged; says
  // what, and at which byte. Errors of reading pass unchanged.
  absl::StatusOr<absl::string_view> Next();

  // After the end.
  const kamino::v1::BackupTrailer& trailer() const { return trailer_; }
  // So far.
  uint64_t objects() const { return objects_; }
  uint64_t record_bytes() const { return record_bytes_; }
  uint64_t file_bytes() const { return offset_; }

 private:
  absl::Status Damaged(absl::string_view what) const;
  // `length`: of it, that the file has.
  absl::Status CheckPrefix(const backup_file_format::Prefix& prefix,
                           size_t length) const;
  // All of it, or kDataLoss.
  absl::Status Get(char* to, size_t length);
  // Into frame_ and data_.
  absl::Status GetFrame();
  absl::Status Decompress();
  absl::Status CheckRecords();
  absl::Status CheckEnd();

  const Read read_;
  struct Decompressor;
  const std::unique_ptr<Decompressor> decompressor_;
  backup_file_format::Frame frame_ = {};
  std::string data_;
  std::string raw_;
  absl::string_view bytes_;  // the frame's, decompressed
  std::string last_key_;
  ContentHash hash_;
  uint64_t sequence_ = 0;
  uint64_t seed_ = 0;
  uint64_t offset_ = 0;       // in the file, of what is read next
  uint64_t frame_begin_ = 0;  // of the frame that is looked at
  uint64_t objects_ = 0;
  uint64_t record_bytes_ = 0;
  kamino::v1::BackupTrailer trailer_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_BACKUP_FILE_H_
