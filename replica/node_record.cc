#include "replica/node_record.h"

#include <xxhash.h>

#include <cstring>

#include "replica/ring_format.h"

namespace kamino::replica {
namespace {

using membership::Condition;
using ring_format::RecordLine;

// Whether a restart leaves it as it is: the others are found out after it.
bool Outlasts(Condition condition) {
  return condition == Condition::kFresh || condition == Condition::kReceiving ||
         condition == Condition::kBehind || condition == Condition::kSound;
}

uint64_t ChecksumOf(const RecordLine& line) {
  return XXH3_64bits(&line, offsetof(RecordLine, checksum));
}

RecordLine* LinesOf(engine::Region* region) {
  static_assert(NodeRecord::kOffset >= sizeof(ring_format::RingHeader));
  static_assert(NodeRecord::kOffset + 2 * sizeof(RecordLine) <=
                ring_format::kHeaderBytes);
  return reinterpret_cast<RecordLine*>(region->base() + NodeRecord::kOffset);
}

}  // namespace

void NodeRecord::Create(const NodeState& state) {
  std::memset(static_cast<void*>(LinesOf(region_)), 0, 2 * sizeof(RecordLine));
  region_->Persist(LinesOf(region_), 2 * sizeof(RecordLine));
  state_ = state;
  serial_ = 1;
  Write(0);
}

absl::Status NodeRecord::Open() {
  const RecordLine* best = nullptr;
  for (int i = 0; i < 2; ++i) {
    const RecordLine& line = LinesOf(region_)[i];
    if (line.serial == 0 || line.checksum != ChecksumOf(line) ||
        !Outlasts(static_cast<Condition>(line.condition))) {
      continue;
    }
    if (best != nullptr && line.serial <= best->serial) continue;
    best = &line;
    current_line_ = i;
  }
  if (best == nullptr) {
    return absl::DataLossError("the node's record in the ring is damaged");
  }
  serial_ = best->serial;
  state_.incarnation = best->incarnation;
  state_.view_id = best->view_id;
  state_.condition = static_cast<Condition>(best->condition);
  state_.was_head = best->was_head != 0;
  return absl::OkStatus();
}

void NodeRecord::Update(const NodeState& state) {
  state_ = state;
  ++serial_;
  Write(1 - current_line_);
}

void NodeRecord::Write(int index) {
  RecordLine line{};
  line.serial = serial_;
  line.incarnation = state_.incarnation;
  line.view_id = state_.view_id;
  line.condition = static_cast<uint32_t>(state_.condition);
  line.was_head = state_.was_head ? 1 : 0;
  line.checksum = ChecksumOf(line);
  RecordLine* place = LinesOf(region_) + index;
  region_->CopyFlush(place, &line, sizeof(line));
  region_->Drain();
  current_line_ = index;
}

}  // namespace kamino::replica
