#include "client/backup_file.h"

#include <zstd.h>

#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::client {

using backup_file_format::Compression;
using backup_file_format::Frame;
using backup_file_format::FrameKind;
using backup_file_format::kFileVersion;
using backup_file_format::kMagic;
using backup_file_format::kMaxFrameBytes;
using backup_file_format::Prefix;
using kamino::v1::BackupHeader;
using kamino::v1::BackupTrailer;

namespace {

// The fastest level that still compresses well.
constexpr int kLevel = 1;

template <typename T>
absl::string_view BytesOf(const T& value, size_t length = sizeof(T)) {
  return {reinterpret_cast<const char*>(&value), length};
}

uint64_t ChecksumOf(const Prefix& prefix) {
  return BackupChecksum(BytesOf(prefix, offsetof(Prefix, checksum)));
}

uint64_t ChecksumOf(const Frame& frame, uint64_t seed) {
  return BackupChecksum(BytesOf(frame, offsetof(Frame, checksum)), seed);
}

}  // namespace

// --- Writing.

struct BackupWriter::Compressor {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ~Compressor() { ZSTD_freeCCtx(context); }
};

BackupWriter::BackupWriter(Write write, bool compress)
    : write_(std::move(write)),
      compressor_(compress ? std::make_unique<Compressor>() : nullptr) {}

BackupWriter::~BackupWriter() = default;

absl::Status BackupWriter::Put(absl::string_view bytes) {
  file_bytes_ += bytes.size();
  return write_(bytes);
}

absl::Status BackupWriter::PutFrame(FrameKind kind, Compression compression,
                                    absl::string_view bytes,
                                    size_t raw_length) {
  if (raw_length > kMaxFrameBytes || bytes.size() > kMaxFrameBytes) {
    return absl::InternalError(
        absl::StrCat("a piece of a backup has ", raw_length, " bytes"));
  }
  Frame frame = {};
  frame.kind = static_cast<uint32_t>(kind);
  frame.compression = static_cast<uint32_t>(compression);
  frame.length = static_cast<uint32_t>(bytes.size());
  frame.raw_length = static_cast<uint32_t>(raw_length);
  frame.data_checksum = BackupChecksum(bytes);
  frame.checksum = seed_ = ChecksumOf(frame, seed_);
  RETURN_IF_ERROR(Put(BytesOf(frame)));
  return Put(bytes);
}

absl::Status BackupWriter::Begin(const BackupHeader& header) {
  Prefix prefix = {kMagic, kFileVersion, 0, 0};
  prefix.checksum = seed_ = ChecksumOf(prefix);
  RETURN_IF_ERROR(Put(BytesOf(prefix)));
  const std::string bytes = header.SerializeAsString();
  return PutFrame(FrameKind::kHeader, Compression::kNone, bytes, bytes.size());
}

absl::Status BackupWriter::Add(absl::string_view records) {
  hash_.Add(records);
  if (compressor_ == nullptr) {
    return PutFrame(FrameKind::kRecords, Compression::kNone, records,
                    records.size());
  }
  compressed_.resize(ZSTD_compressBound(records.size()));
  const size_t length = ZSTD_compressCCtx(
      compressor_->context, compressed_.data(), compressed_.size(),
      records.data(), records.size(), kLevel);
  if (ZSTD_isError(length) != 0) {
    return absl::InternalError(
        absl::StrCat("zstd: ", ZSTD_getErrorName(length)));
  }
  return PutFrame(FrameKind::kRecords, Compression::kZstd,
                  absl::string_view(compressed_.data(), length),
                  records.size());
}

absl::Status BackupWriter::End(const BackupTrailer& trailer) {
  const std::string digest = hash_.Digest();
  if (digest != trailer.content_hash()) {
    return absl::DataLossError(
        absl::StrCat("the received backup differs from the one that the node "
                     "sent: its hash is ",
                     absl::BytesToHexString(digest), ", not ",
                     absl::BytesToHexString(trailer.content_hash())));
  }
  const std::string bytes = trailer.SerializeAsString();
  return PutFrame(FrameKind::kTrailer, Compression::kNone, bytes, bytes.size());
}

// --- Reading.

struct BackupReader::Decompressor {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ~Decompressor() { ZSTD_freeDCtx(context); }
};

BackupReader::BackupReader(Read read)
    : read_(std::move(read)), decompressor_(std::make_unique<Decompressor>()) {}

BackupReader::~BackupReader() = default;

absl::Status BackupReader::Damaged(absl::string_view what) const {
  return absl::DataLossError(
      absl::StrCat("the backup is damaged at byte ", frame_begin_, ": ", what));
}

absl::Status BackupReader::Get(char* to, size_t length) {
  ASSIGN_OR_RETURN(const size_t got, read_(to, length));
  offset_ += got;
  if (got == length) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the backup is cut short: it ends at byte ", offset_,
                   " without its trailer"));
}

absl::Status BackupReader::CheckPrefix(const Prefix& prefix,
                                       size_t length) const {
  if (length == 0) return Damaged("the file is empty");
  if (length < sizeof(prefix)) {
    return Damaged(
        absl::StrCat("it ends within its first bytes: it is cut short, or ",
                     "it is not a backup of Kamino"));
  }
  if (prefix.checksum != ChecksumOf(prefix)) {
    return Damaged(prefix.magic == kMagic
                       ? "the first bytes have a wrong checksum"
                       : "its first bytes are not those of a backup of Kamino");
  }
  if (prefix.magic != kMagic) {
    return Damaged("this is another kind of file");
  }
  if (prefix.version == kFileVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the backup has format version ", prefix.version,
      ", and this program reads version ", kFileVersion,
      "; its first bytes are sound: use the release that made it"));
}

absl::StatusOr<BackupHeader> BackupReader::Begin() {
  Prefix prefix = {};
  ASSIGN_OR_RETURN(const size_t got,
                   read_(reinterpret_cast<char*>(&prefix), sizeof(prefix)));
  offset_ += got;
  RETURN_IF_ERROR(CheckPrefix(prefix, got));
  seed_ = prefix.checksum;
  RETURN_IF_ERROR(GetFrame());
  BackupHeader header;
  if (frame_.kind != static_cast<uint32_t>(FrameKind::kHeader) ||
      !header.ParseFromArray(bytes_.data(), static_cast<int>(bytes_.size()))) {
    return Damaged("its header is missing");
  }
  if (header.backup_id().size() != kBackupIdBytes) {
    return Damaged(
        absl::StrCat("its id has ", header.backup_id().size(), " bytes"));
  }
  sequence_ = header.sequence();
  if (sequence_ >= kBackupSequenceEnd) {
    return Damaged(
        absl::StrCat("its sequence number is too large: ", sequence_));
  }
  return header;
}

absl::Status BackupReader::GetFrame() {
  frame_begin_ = offset_;
  RETURN_IF_ERROR(Get(reinterpret_cast<char*>(&frame_), sizeof(frame_)));
  // Checked before the length is used.
  if (frame_.checksum != ChecksumOf(frame_, seed_)) {
    return Damaged("a frame's header has a wrong checksum");
  }
  seed_ = frame_.checksum;
  if (frame_.length > kMaxFrameBytes || frame_.raw_length > kMaxFrameBytes) {
    return Damaged(
        absl::StrCat("a frame is too long: ", frame_.length, " bytes"));
  }
  data_.resize(frame_.length);
  RETURN_IF_ERROR(Get(data_.data(), data_.size()));
  if (frame_.data_checksum != BackupChecksum(data_)) {
    return Damaged("a frame's data has a wrong checksum");
  }
  return Decompress();
}

absl::Status BackupReader::Decompress() {
  switch (static_cast<Compression>(frame_.compression)) {
    case Compression::kNone:
      if (frame_.raw_length != frame_.length) break;
      bytes_ = data_;
      return absl::OkStatus();
    case Compression::kZstd: {
      raw_.resize(frame_.raw_length);
      const size_t length =
          ZSTD_decompressDCtx(decompressor_->context, raw_.data(), raw_.size(),
                              data_.data(), data_.size());
      if (ZSTD_isError(length) != 0 || length != raw_.size()) break;
      bytes_ = raw_;
      return absl::OkStatus();
    }
    default:
      return Damaged(absl::StrCat("unknown compression ", frame_.compression));
  }
  return Damaged("a frame cannot be decompressed to its length");
}

absl::Status BackupReader::CheckRecords() {
  absl::string_view left = bytes_;
  absl::string_view last = last_key_;
  while (!left.empty()) {
    BackupRecord record;
    if (!TakeBackupRecord(&left, &record)) {
      return Damaged(absl::StrCat("object ", objects_, " is cut off"));
    }
    if (record.key <= last) {
      return Damaged(absl::StrCat("object ", objects_, " is out of order"));
    }
    if (record.version == 0 || record.version > sequence_) {
      return Damaged(absl::StrCat("object ", objects_, " has version ",
                                  record.version, ", in a backup at ",
                                  sequence_));
    }
    last = record.key;
    ++objects_;
  }
  last_key_ = std::string(last);
  record_bytes_ += bytes_.size();
  hash_.Add(bytes_);
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> BackupReader::Next() {
  RETURN_IF_ERROR(GetFrame());
  switch (static_cast<FrameKind>(frame_.kind)) {
    case FrameKind::kRecords:
      if (bytes_.empty()) return Damaged("a frame without objects");
      RETURN_IF_ERROR(CheckRecords());
      return bytes_;
    case FrameKind::kTrailer:
      RETURN_IF_ERROR(CheckEnd());
      return absl::string_view();
    default:
      return Damaged(absl::StrCat("unknown kind of frame ", frame_.kind));
  }
}

absl::Status BackupReader::CheckEnd() {
  if (!trailer_.ParseFromArray(bytes_.data(),
                               static_cast<int>(bytes_.size()))) {
    return Damaged("its trailer is missing");
  }
  if (trailer_.objects() != objects_ || trailer_.bytes() != record_bytes_) {
    return Damaged(absl::StrCat("it has ", objects_, " objects of ",
                                record_bytes_, " bytes, and its trailer says ",
                                trailer_.objects(), " of ", trailer_.bytes()));
  }
  if (trailer_.content_hash() != hash_.Digest()) {
    return Damaged("the hash of all objects differs from the trailer's");
  }
  char more = 0;
  frame_begin_ = offset_;
  ASSIGN_OR_RETURN(const size_t got, read_(&more, 1));
  return got == 0 ? absl::OkStatus() : Damaged("bytes follow its end");
}

}  // namespace kamino::client
