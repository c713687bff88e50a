#include "node/storage/media_age.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "node/storage/stamp_format.h"

namespace kamino::node {
namespace {

using stamp_format::kAppliedOffset;
using stamp_format::kStampOffset;
using stamp_format::StampLine;

uint64_t ChecksumOf(const StampLine& line) {
  return XXH3_64bits(&line, offsetof(StampLine, checksum));
}

absl::Status Older(absl::string_view old, absl::string_view than,
                   absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(
      old, " is older than ", than, ": ", why,
      "; put back copies that were made at one time, or move all of this "
      "node's files away: it then joins as a new node"));
}

std::string TellApplied(uint64_t old, uint64_t other) {
  return absl::StrCat("it has applied the mutations up to ", old,
                      ", the other one those up to ", other);
}

}  // namespace

uint64_t NextNonce(const MediaStamp& last, uint64_t salt) {
  const uint64_t words[] = {last.incarnation, last.nonce, salt};
  return std::max<uint64_t>(1, XXH3_64bits(words, sizeof(words)));
}

MediaAge::MediaAge(engine::Region* region, std::string name)
    : region_(region), name_(std::move(name)), mark_(region, kAppliedOffset) {}

void MediaAge::SetStamp(const MediaStamp& stamp) {
  StampLine line{};
  line.incarnation = stamp.incarnation;
  line.nonce = stamp.nonce;
  line.checksum = ChecksumOf(line);
  region_->CopyFlush(region_->base() + kStampOffset, &line, sizeof(line));
  region_->Drain();
}

absl::Status MediaAge::ReadStamp(MediaStamp* stamp) const {
  const auto& line =
      *reinterpret_cast<const StampLine*>(region_->base() + kStampOffset);
  *stamp = {line.incarnation, line.nonce};
  const bool none =
      line.incarnation == 0 && line.nonce == 0 && line.checksum == 0;
  if (none || line.checksum == ChecksumOf(line)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(name_, "'s stamp is damaged"));
}

absl::Status MediaAge::CheckStamp(const Ring& ring) const {
  MediaStamp stamp;
  absl::Status read = ReadStamp(&stamp);
  const bool renewing = ring.next_nonce != 0;
  // The crash came during its write.
  if (!read.ok() && renewing) return absl::OkStatus();
  RETURN_IF_ERROR(read);
  const MediaStamp next{ring.stamp.incarnation + 1, ring.next_nonce};
  if (stamp == ring.stamp || (renewing && stamp == next)) {
    return absl::OkStatus();
  }
  if (stamp == MediaStamp()) {
    return absl::FailedPreconditionError(absl::StrCat(
        name_, " was never opened, but according to ", ring.name,
        " it holds this node's data: one of them is from another time; put "
        "back copies that were made at one time, or move all of this node's "
        "files away: it then joins as a new node"));
  }
  const std::string times =
      absl::StrCat("they were last opened as incarnations ", stamp.incarnation,
                   " and ", ring.stamp.incarnation);
  if (stamp.incarnation < ring.stamp.incarnation) {
    return Older(name_, ring.name, times);
  }
  if (stamp.incarnation > ring.stamp.incarnation) {
    return Older(ring.name, name_, times);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      name_, " and ", ring.name, " are not of one node any more: incarnation ",
      stamp.incarnation,
      " ran on two copies of the files, and these two are not from the same "
      "copy; put back copies that were made at one time, or move all of this "
      "node's files away: it then joins as a new node"));
}

absl::Status MediaAge::Check(const Ring& ring) {
  RETURN_IF_ERROR(CheckStamp(ring));
  if (absl::Status read = mark_.Open(); !read.ok()) {
    return absl::DataLossError(absl::StrCat(name_, ": ", read.message()));
  }
  // Cleaned entries were durably applied before, in all regions.
  if (mark_.end() < std::max(ring.begin, ring.cleaned)) {
    return Older(name_, ring.name, TellApplied(mark_.end(), ring.end));
  }
  if (mark_.begin() > ring.end || mark_.end() > ring.received) {
    return Older(ring.name, name_, TellApplied(ring.end, mark_.end()));
  }
  return absl::OkStatus();
}

absl::Status MediaAge::CheckBeside(const MediaAge& other) const {
  if (mark_.end() < other.mark_.begin()) {
    return Older(name_, other.name_,
                 TellApplied(mark_.end(), other.mark_.begin()));
  }
  if (other.mark_.end() < mark_.begin()) {
    return Older(other.name_, name_,
                 TellApplied(other.mark_.end(), mark_.begin()));
  }
  return absl::OkStatus();
}

}  // namespace kamino::node
