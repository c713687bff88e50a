// Reads and writes backups as a stream of bytes. The reader checks each piece
// before it returns any of it. docs/formats/backup_file.md.
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
  // Receives all bytes. Its errors are returned unchanged.
  using Write = std::function<absl::Status(absl::string_view bytes)>;

  // `compress`: compress the records with zstd.
  BackupWriter(Write write, bool compress);
  ~BackupWriter();
  BackupWriter(const BackupWriter&) = delete;
  BackupWriter& operator=(const BackupWriter&) = delete;

  absl::Status Begin(const kamino::v1::BackupHeader& header);
  absl::Status Add(absl::string_view records);
  // kDataLoss: the records do not have the hash that the node sent.
  absl::Status End(const kamino::v1::BackupTrailer& trailer);

  uint64_t file_bytes() const { return file_bytes_; }

 private:
  absl::Status Put(absl::string_view bytes);
  absl::Status PutFrame(backup_file_format::FrameKind kind,
                        backup_file_format::Compression compression,
                        absl::string_view bytes, size_t raw_length);

  const Write write_;
  struct Compressor;
  const std::unique_ptr<Compressor> compressor_;  // null: uncompressed
  std::string compressed_;
  ContentHash hash_;
  uint64_t seed_ = 0;  // for the next frame's checksum
  uint64_t file_bytes_ = 0;
};

// Not thread-safe.
class BackupReader {
 public:
  // Fills `to` and returns the number of bytes read, which is smaller than the
  // size of `to` only at the end of the file.
  using Read = std::function<absl::StatusOr<size_t>(char* to, size_t most)>;

  explicit BackupReader(Read read);
  ~BackupReader();
  BackupReader(const BackupReader&) = delete;
  BackupReader& operator=(const BackupReader&) = delete;

  // Reads the header. kFailedPrecondition: the file is intact but has a version
  // that this program does not support. Otherwise as Next, also for a file that
  // is not a backup.
  absl::StatusOr<kamino::v1::BackupHeader> Begin();

  // Returns the next whole records, in key order, valid until the next call.
  // Empty: the end, and the whole file is intact. kDataLoss: corruption; the
  // message says which kind, and at which byte. Read errors are returned
  // unchanged.
  absl::StatusOr<absl::string_view> Next();

  // Valid after the end.
  const kamino::v1::BackupTrailer& trailer() const { return trailer_; }
  // So far.
  uint64_t objects() const { return objects_; }
  uint64_t record_bytes() const { return record_bytes_; }
  uint64_t file_bytes() const { return offset_; }

 private:
  absl::Status Damaged(absl::string_view what) const;
  // `length`: bytes of the prefix that the file has.
  absl::Status CheckPrefix(const backup_file_format::Prefix& prefix,
                           size_t length) const;
  // Reads exactly `length` bytes, or returns kDataLoss.
  absl::Status Get(char* to, size_t length);
  // Reads the next frame into frame_ and data_.
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
  uint64_t offset_ = 0;       // in the file, of the next read
  uint64_t frame_begin_ = 0;  // of the present frame
  uint64_t objects_ = 0;
  uint64_t record_bytes_ = 0;
  kamino::v1::BackupTrailer trailer_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_BACKUP_FILE_H_
