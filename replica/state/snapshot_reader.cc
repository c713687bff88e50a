#include "replica/state/snapshot_reader.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::replica {

using snapshot_format::BlocksOfPage;
using snapshot_format::ClusterUuid;
using snapshot_format::Header;
using snapshot_format::Kind;
using snapshot_format::kMaxDataBytes;
using snapshot_format::kMaxZeroBytes;
using snapshot_format::kVersion;
using snapshot_format::Record;

namespace {

template <typename Part>
Part PartOf(absl::string_view bytes) {
  Part part;
  std::memcpy(&part, bytes.data(), sizeof(part));
  return part;
}

}  // namespace

absl::Status SnapshotReader::Damaged(absl::string_view what) const {
  return absl::DataLossError(absl::StrCat("the snapshot is damaged at byte ",
                                          taken_, ", in record ", records_ + 1,
                                          ": ", what));
}

absl::Status SnapshotReader::CheckHeader(const Header& header) const {
  const uint64_t magic = blocks_ == nullptr ? snapshot_format::kMagic
                                            : snapshot_format::kChangesMagic;
  if (header.magic != magic) {
    return absl::DataLossError(absl::StrCat(
        "this is not a ", blocks_ == nullptr ? "snapshot" : "record of changes",
        ": its magic number is wrong"));
  }
  // Before the checksum, which another version may compute differently.
  if (header.version != kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the snapshot is of version ", header.version,
                     "; this program reads version ", kVersion));
  }
  if (header.checksum != ChecksumOf(header)) {
    return absl::DataLossError("the snapshot's header is damaged");
  }
  if (header.chain_id != scope_.chain_id) {
    return absl::FailedPreconditionError(
        absl::StrCat("the snapshot is of chain ", header.chain_id,
                     ", and the heap of chain ", scope_.chain_id));
  }
  const ClusterUuid unknown = {};
  if (header.cluster != scope_.cluster && header.cluster != unknown &&
      scope_.cluster != unknown) {
    return absl::FailedPreconditionError("the snapshot is of another cluster");
  }
  if (header.heap_bytes != region_->size() || header.begin != scope_.begin) {
    return absl::FailedPreconditionError(
        absl::StrCat("the snapshot is of a heap of ", header.heap_bytes,
                     " bytes, from ", header.begin, " on; this one has ",
                     region_->size(), ", from ", scope_.begin, " on"));
  }
  return absl::OkStatus();
}

// The checks that need no data.
absl::Status SnapshotReader::CheckRecord(const Record& record) const {
  if (record.checksum != ChecksumOf(checksum_, record)) {
    return Damaged("its checksum is wrong");
  }
  if (record.reserved != 0) return Damaged("a reserved field is used");
  if (record.kind == Kind::kEnd) {
    if (record.length == records_ && record.offset >= begun_at_) {
      return absl::OkStatus();
    }
    return Damaged(absl::StrCat(
        "it ends after mutation ", record.offset, " and ", record.length,
        " records; it was begun after mutation ", begun_at_));
  }
  if (record.kind == Kind::kBlocks && blocks_ != nullptr) {
    if (record.length == sizeof(BlocksOfPage) &&
        record.offset % engine::kBlockMapPageBytes == 0 &&
        record.offset < region_->size()) {
      return absl::OkStatus();
    }
    return Damaged(absl::StrCat(record.length, " bytes at ", record.offset,
                                " are not the blocks of a page"));
  }
  return CheckPlace(record);
}

absl::Status SnapshotReader::CheckPlace(const Record& record) const {
  if (record.kind != Kind::kData && record.kind != Kind::kZeros) {
    return Damaged(absl::StrCat("unknown kind of record: ",
                                static_cast<uint32_t>(record.kind)));
  }
  const uint64_t most =
      record.kind == Kind::kData ? kMaxDataBytes : kMaxZeroBytes;
  const uint64_t size = region_->size();
  if (record.length == 0 || record.length > most ||
      record.offset < scope_.begin || record.offset > size ||
      record.length > size - record.offset) {
    return Damaged(
        absl::StrCat(record.length, " bytes at ", record.offset,
                     " do not lie within the heap, or are more than ", most));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> SnapshotReader::PartBytes(
    absl::string_view bytes) const {
  if (!begun_) return sizeof(Header);
  if (end_.has_value()) {
    return absl::DataLossError(
        absl::StrCat("bytes follow the end of the snapshot, at byte ", taken_));
  }
  if (bytes.size() < sizeof(Record)) return sizeof(Record);
  const auto record = PartOf<Record>(bytes);
  RETURN_IF_ERROR(CheckRecord(record));
  const bool has_data =
      record.kind == Kind::kData || record.kind == Kind::kBlocks;
  return sizeof(Record) + (has_data ? record.length : 0);
}

absl::Status SnapshotReader::TakePart(absl::string_view part) {
  if (!begun_) {
    const auto header = PartOf<Header>(part);
    RETURN_IF_ERROR(CheckHeader(header));
    begun_ = true;
    begun_at_ = header.sequence;
    checksum_ = header.checksum;
  } else {
    const auto record = PartOf<Record>(part);
    const absl::string_view data = part.substr(sizeof(Record));
    if (record.data != snapshot_format::ChecksumOf(data)) {
      return Damaged("its data's checksum is wrong");
    }
    if (record.kind == Kind::kEnd) {
      end_ = record.offset;
    } else if (record.kind == Kind::kBlocks) {
      TakeBlocks(record, data);
    } else {
      Store(record, data);
    }
    ++records_;
    checksum_ = record.checksum;
  }
  taken_ += part.size();
  return absl::OkStatus();
}

void SnapshotReader::Store(const Record& record, absl::string_view data) {
  std::byte* const place = region_->base() + record.offset;
  if (record.kind == Kind::kData) {
    region_->CopyFlush(place, data.data(), data.size());
  } else if (!snapshot_format::AreZeros(place, record.length)) {
    region_->ZeroFlush(place, record.length);
  }
  bytes_stored_ += record.length;
}

void SnapshotReader::TakeBlocks(const Record& record, absl::string_view data) {
  const auto blocks = PartOf<BlocksOfPage>(data);
  const size_t page = record.offset / engine::kBlockMapPageBytes;
  blocks_->set_word(page, (blocks_->word(page) & ~blocks.touched) |
                              (blocks.allocated & blocks.touched));
}

absl::Status SnapshotReader::Take(absl::string_view bytes) {
  while (!bytes.empty()) {
    // A part that has arrived as a whole is taken in place.
    ASSIGN_OR_RETURN(const size_t needed,
                     PartBytes(kept_.empty() ? bytes : kept_));
    const size_t next = std::min(bytes.size(), needed - kept_.size());
    if (kept_.empty() && next == needed) {
      RETURN_IF_ERROR(TakePart(bytes.substr(0, next)));
    } else {
      kept_.append(bytes.data(), next);
      // A record's header may have just become complete, which tells its size.
      ASSIGN_OR_RETURN(const size_t whole, PartBytes(kept_));
      if (kept_.size() == whole) {
        RETURN_IF_ERROR(TakePart(kept_));
        kept_.clear();
      }
    }
    bytes.remove_prefix(next);
  }
  return absl::OkStatus();
}

absl::Status SnapshotReader::Append(absl::string_view bytes) {
  if (status_.ok()) status_ = Take(bytes);
  return status_;
}

absl::StatusOr<uint64_t> SnapshotReader::Finish() const {
  RETURN_IF_ERROR(status_);
  if (end_.has_value()) return *end_;
  return absl::DataLossError(
      absl::StrCat("the snapshot is cut short: it ends after ",
                   taken_ + kept_.size(), " bytes, without an end record"));
}

}  // namespace kamino::replica
