#include "replica/state/scrub_record.h"

#include <xxhash.h>

#include <cstring>

#include "glog/logging.h"
#include "replica/state/scrub_format.h"

namespace kamino::replica {
namespace {

using scrub_format::kSourceBytes;
using scrub_format::ScrubLine;

uint64_t ChecksumOf(const ScrubLine& line) {
  return XXH3_64bits(&line, offsetof(ScrubLine, checksum));
}

bool IsEmpty(const ScrubLine& line) {
  constexpr ScrubLine kNone{};
  return std::memcmp(&line, &kNone, sizeof(line)) == 0;
}

ScrubState StateOf(const ScrubLine& line) {
  ScrubState state;
  state.copied = line.copied != 0;
  state.source = std::string(line.source, strnlen(line.source, kSourceBytes));
  if (line.doubt != 0) state.unresolved = line.doubt - 1;
  return state;
}

}  // namespace

ScrubRecord::ScrubRecord(engine::Region* region, size_t offset)
    : region_(region), offset_(offset) {
  const auto* lines =
      reinterpret_cast<const ScrubLine*>(region_->base() + offset_);
  bool damaged = false;
  for (int i : {0, 1}) {
    if (IsEmpty(lines[i])) continue;
    if (lines[i].checksum != ChecksumOf(lines[i])) {
      damaged = true;
    } else if (lines[i].serial > serial_) {
      serial_ = lines[i].serial;
      state_ = StateOf(lines[i]);
    }
  }
  if (!damaged) return;
  LOG(WARNING) << "the record of this heap's origin cannot be read; the heap "
                  "counts as a copy until all of it is compared";
  state_.copied = true;
  state_.source.clear();
}

void ScrubRecord::Update(const ScrubState& state) {
  state_ = state;
  ScrubLine line{};
  line.serial = ++serial_;
  line.doubt = state.unresolved.has_value() ? *state.unresolved + 1 : 0;
  line.copied = state.copied ? 1 : 0;
  if (state.source.size() < kSourceBytes) {
    std::memcpy(line.source, state.source.data(), state.source.size());
  }
  line.checksum = ChecksumOf(line);
  std::byte* const place =
      region_->base() + offset_ + serial_ % 2 * sizeof(ScrubLine);
  region_->CopyFlush(place, &line, sizeof(line));
  region_->Drain();
}

}  // namespace kamino::replica
