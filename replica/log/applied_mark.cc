#include "replica/log/applied_mark.h"

#include <xxhash.h>

namespace kamino::replica {
namespace {

using ring_format::AppliedLine;

uint64_t ChecksumOf(const AppliedLine& line) {
  return XXH3_64bits(&line, offsetof(AppliedLine, checksum));
}

}  // namespace

void AppliedMark::Write() {
  AppliedLine& line = lines_[line_];
  line.begin = begin_;
  line.end = end_;
  line.checksum = ChecksumOf(line);
  region_->Flush(&line, sizeof(line));
}

void AppliedMark::Reset(uint64_t sequence) {
  begin_ = end_ = sequence;
  // One after the other: a crash leaves one readable.
  for (int i = 0; i < 2; ++i) {
    Write();
    region_->Drain();
    line_ = 1 - line_;
  }
  drained_ = true;
}

absl::Status AppliedMark::Open() {
  bool found = false;
  for (int i = 0; i < 2; ++i) {
    const AppliedLine& line = lines_[i];
    if (line.checksum != ChecksumOf(line) || line.begin > line.end) continue;
    if (found && line.end <= end_) continue;
    found = true;
    begin_ = line.begin;
    end_ = line.end;
    line_ = 1 - i;
  }
  drained_ = true;
  if (found) return absl::OkStatus();
  return absl::DataLossError("the applied mark is damaged");
}

void AppliedMark::Mark(uint64_t sequence) {
  if (drained_) begin_ = end_;
  drained_ = false;
  end_ = sequence;
  Write();
}

void AppliedMark::OnDrained() {
  if (drained_) return;
  drained_ = true;
  line_ = 1 - line_;
}

}  // namespace kamino::replica
