#include "replica/log/node_record.h"

#include <xxhash.h>

#include <cstring>
#include <utility>

#include "replica/log/ring_format.h"

namespace kamino::replica {
namespace {

using membership::Condition;
using ring_format::kRecordOffsets;
using ring_format::RecordLine;

// Whether a restart keeps the condition: others are determined after it.
bool Outlasts(Condition condition) {
  return condition == Condition::kFresh || condition == Condition::kReceiving ||
         condition == Condition::kBehind || condition == Condition::kSound;
}

uint64_t ChecksumOf(const RecordLine& line) {
  return XXH3_64bits(&line, offsetof(RecordLine, checksum));
}

static_assert(sizeof(ring_format::RingHeader) <= kRecordOffsets[0]);
static_assert(kRecordOffsets[0] + 2 * sizeof(RecordLine) <= kRecordOffsets[1]);
static_assert(kRecordOffsets[1] + 2 * sizeof(RecordLine) <=
              ring_format::kHeaderBytes);

RecordLine* LineOf(const engine::Region* region, int version, int copy) {
  return reinterpret_cast<RecordLine*>(region->base() + kRecordOffsets[copy]) +
         version;
}

bool IsValid(const RecordLine& line) {
  return line.serial != 0 && line.checksum == ChecksumOf(line) &&
         Outlasts(static_cast<Condition>(line.condition));
}

bool IsEmpty(const RecordLine& line) {
  constexpr RecordLine kNone{};
  return std::memcmp(&line, &kNone, sizeof(line)) == 0;
}

// The readable part of a version.
struct Found {
  const RecordLine* line = nullptr;  // null: no copy is readable
  bool whole = false;                // both copies are readable and equal
  bool empty = false;                // it was never written

  uint64_t serial() const { return line == nullptr ? 0 : line->serial; }
};

Found Find(const engine::Region* region, int version) {
  const RecordLine& first = *LineOf(region, version, 0);
  const RecordLine& second = *LineOf(region, version, 1);
  Found found;
  found.empty = IsEmpty(second) && !IsValid(first);
  if (IsValid(first) && IsValid(second)) {
    found.line = first.serial >= second.serial ? &first : &second;
    found.whole = first.serial == second.serial;
  } else if (IsValid(first) || IsValid(second)) {
    found.line = IsValid(first) ? &first : &second;
  }
  return found;
}

absl::Status Damaged() {
  return absl::DataLossError("the node's record in the ring is damaged");
}

}  // namespace

std::string BytesOf(const Uuid& uuid) {
  if (uuid == Uuid{}) return "";
  return std::string(uuid.begin(), uuid.end());
}

Uuid UuidFrom(const std::string& bytes) {
  Uuid uuid = {};
  if (bytes.size() == uuid.size()) {
    std::memcpy(uuid.data(), bytes.data(), uuid.size());
  }
  return uuid;
}

void NodeRecord::Create(const NodeState& state) {
  for (int version = 0; version < 2; ++version) {
    for (int copy = 0; copy < 2; ++copy) {
      RecordLine* line = LineOf(region_, version, copy);
      std::memset(static_cast<void*>(line), 0, sizeof(*line));
      region_->Flush(line, sizeof(*line));
    }
  }
  region_->Drain();
  state_ = state;
  serial_ = 1;
  Write(0);
}

absl::Status NodeRecord::Open() {
  const Found found[2] = {Find(region_, 0), Find(region_, 1)};
  const int newer = found[1].serial() > found[0].serial() ? 1 : 0;
  const Found& best = found[newer];
  const Found& other = found[1 - newer];
  if (best.line == nullptr) return Damaged();
  if (other.line == nullptr) {
    // Only a version that was never written may be missing.
    if (!other.empty || best.serial() != 1) return Damaged();
  } else if (other.serial() + 1 != best.serial()) {
    // After a crash during an update the second copy is two versions old.
    return Damaged();
  }
  serial_ = best.line->serial;
  state_.incarnation = best.line->incarnation;
  state_.view_id = best.line->view_id;
  state_.condition = static_cast<Condition>(best.line->condition);
  state_.was_head = best.line->was_head != 0;
  state_.nonce = best.line->nonce;
  state_.next_nonce = best.line->next_nonce;
  state_.disputed = best.line->disputed;
  state_.disputed_whole = best.line->disputed_whole != 0;
  state_.redone = best.line->redone;
  const uint64_t(&announced)[3] = best.line->announced;
  state_.announced = {announced[0], announced[1], announced[2]};
  state_.restarts = best.line->restarts;
  state_.ended_in_order = best.line->ended_in_order != 0;
  std::memcpy(state_.heap_id.data(), best.line->heap_id, sizeof(Uuid));
  std::memcpy(state_.cluster_uuid.data(), best.line->cluster_uuid,
              sizeof(Uuid));
  state_.epoch = best.line->epoch;
  state_.boot = best.line->boot;
  state_.alone = best.line->alone != 0;
  state_.local_undo = best.line->local_undo != 0;
  state_.view_digest = best.line->view_digest;
  current_ = newer;
  if (!best.whole) Write(newer);
  return absl::OkStatus();
}

void NodeRecord::UpdateLater(const NodeState& state,
                             std::function<void()> before) {
  state_ = state;
  before_update_ = std::move(before);
}

void NodeRecord::Update(const NodeState& state) {
  if (auto before = std::exchange(before_update_, nullptr)) before();
  state_ = state;
  ++serial_;
  Write(1 - current_);
}

void NodeRecord::Write(int version) {
  RecordLine line{};
  line.serial = serial_;
  line.incarnation = state_.incarnation;
  line.view_id = state_.view_id;
  line.condition = static_cast<uint32_t>(state_.condition);
  line.was_head = state_.was_head ? 1 : 0;
  line.nonce = state_.nonce;
  line.next_nonce = state_.next_nonce;
  line.disputed = state_.disputed;
  line.disputed_whole = state_.disputed_whole ? 1 : 0;
  line.redone = state_.redone;
  line.announced[0] = state_.announced.client_id;
  line.announced[1] = state_.announced.number;
  line.announced[2] = state_.announced.digest;
  line.restarts = state_.restarts;
  line.ended_in_order = state_.ended_in_order ? 1 : 0;
  std::memcpy(line.heap_id, state_.heap_id.data(), sizeof(Uuid));
  std::memcpy(line.cluster_uuid, state_.cluster_uuid.data(), sizeof(Uuid));
  line.epoch = state_.epoch;
  line.boot = state_.boot;
  line.alone = state_.alone ? 1 : 0;
  line.local_undo = state_.local_undo ? 1 : 0;
  line.view_digest = state_.view_digest;
  line.checksum = ChecksumOf(line);
  for (int copy = 0; copy < 2; ++copy) {
    region_->CopyFlush(LineOf(region_, version, copy), &line, sizeof(line));
    region_->Drain();
  }
  current_ = version;
}

}  // namespace kamino::replica
