#include "tests/replica/fake_heap.h"

#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "replica/errors.h"
#include "tests/replica/text_entry.h"

namespace kamino::replica {

using engine::Intent;
using engine::WriteSet;

namespace {

constexpr char kEnd[] = "after ";
constexpr uint64_t kWrongHash = 13;  // the wrong result of diverging nodes

char ObjectOf(uint64_t id) {
  return static_cast<char>('a' + id / FakeHeap::kSpacing - 1);
}

bool Exists(uint64_t id) {
  return id % FakeHeap::kSpacing == 0 && ObjectOf(id) >= 'a' &&
         ObjectOf(id) <= 'z';
}

}  // namespace

FakeHeap::FakeHeap(LogRing* ring, NodeRecord* record, ScrubRecord* scrub_record)
    : ring_(ring), record_(record), scrub_record_(scrub_record) {
  if (scrub_record->state().copied) {
    range_states_.Reset(RangeStates::Origin::kCopied);
  }
}

uint64_t FakeHeap::RangeOf(engine::ObjectId id) const {
  return ObjectOf(id) <= 'm' ? 0 : 1;
}

// A readable digest: 1 and the values' digits, if they are numbers.
uint64_t FakeHeap::Digest(uint64_t range) {
  uint64_t digest = 1;
  for (const auto& [object, value] : objects) {
    if ((object <= 'm') != (range == 0)) continue;
    for (char c : value) digest = digest * 10 + static_cast<uint64_t>(c - '0');
  }
  return digest;
}

std::string FakeHeap::Text() const {
  if (objects.empty()) return "nothing";
  std::string text;
  for (const auto& [object, value] : objects) {
    absl::StrAppend(&text, text.empty() ? "" : " ", std::string(1, object), "=",
                    value);
  }
  return text;
}

void FakeHeap::Write(char object, const std::string& value) {
  objects[object] = value;
  if (sending_) unsent_.insert(object);
}

void FakeHeap::ExecutePart(absl::string_view text, size_t writes) {
  for (const auto& [object, value] : WritesOf(text)) {
    if (writes-- == 0) return;
    Write(object, value);
  }
}

absl::StatusOr<uint64_t> FakeHeap::Execute(const LogEntry& entry) {
  if (lacks_procedure) return Try(entry);
  if (falters_after.has_value()) {
    ExecutePart(TextOf(entry), *std::exchange(falters_after, std::nullopt));
    return absl::DataLossError("diverged: it touches what the head did not");
  }
  for (const auto& [object, value] : WritesOf(TextOf(entry))) {
    range_states_.OnWritten(object <= 'm' ? 0 : 1);
  }
  ExecutePart(TextOf(entry), std::numeric_limits<size_t>::max());
  return Try(entry);
}

absl::StatusOr<uint64_t> FakeHeap::Try(const LogEntry& entry) {
  if (lacks_procedure) {
    return MakeError(kamino::v1::REASON_UNKNOWN_PROCEDURE,
                     "no procedure is named f");
  }
  return diverges ? kWrongHash : entry.image_hash();
}

absl::StatusOr<absl::string_view> FakeHeap::ImageOf(const Intent& intent) {
  if (!Exists(intent.object)) {
    return absl::InvalidArgumentError("there is no such object");
  }
  return objects[ObjectOf(intent.object)];
}

absl::Status FakeHeap::ReadIntent(const Intent& intent, std::string* bytes) {
  const auto there = ImageOf(intent);
  if (there.ok()) *bytes = std::string(*there);
  return there.status();
}

absl::Status FakeHeap::BeginRepair(const WriteSet&, bool) {
  return absl::OkStatus();
}

absl::Status FakeHeap::RepairIntent(const Intent& intent,
                                    absl::string_view bytes, RepairDirection) {
  if (!Exists(intent.object)) return absl::DataLossError("no such object");
  repaired_.push_back(intent.object);
  Write(ObjectOf(intent.object), std::string(bytes));
  return absl::OkStatus();
}

void FakeHeap::EndRepair(bool confirmed) {
  for (engine::ObjectId object : std::exchange(repaired_, {})) {
    if (!confirmed) OnBorrowed(object);
  }
}

void FakeHeap::BeginSending(uint64_t) {
  sending_ = true;
  unsent_.clear();
  for (const auto& [object, value] : objects) unsent_.insert(object);
}

size_t FakeHeap::NextChunk(std::string* chunk) {
  if (unsent_.empty()) return 0;
  const char object = *unsent_.begin();
  unsent_.erase(unsent_.begin());
  absl::StrAppend(chunk, std::string(1, object),
                  std::exchange(damages_next_chunk, false) ? "?" : "=",
                  objects[object]);
  return 1;
}

void FakeHeap::FinishSending(uint64_t sequence, std::string* chunk) {
  absl::StrAppend(chunk, kEnd, sequence);
}

void FakeHeap::EndSending() { sending_ = false; }

void FakeHeap::BeginReceiving() {
  objects.clear();
  NodeState state = record_->state();
  state.condition = membership::Condition::kReceiving;
  record_->Update(state);
}

absl::StatusOr<StateCopy::Taken> FakeHeap::Take(absl::string_view chunk) {
  Taken taken;
  uint64_t end;
  if (absl::ConsumePrefix(&chunk, kEnd) && absl::SimpleAtoi(chunk, &end)) {
    taken.end = end;
    return taken;
  }
  const auto writes = WritesOf(chunk);
  if (writes.empty()) return absl::DataLossError("a chunk is damaged");
  objects[writes[0].first] = writes[0].second;
  taken.bytes = 1;
  return taken;
}

absl::Status FakeHeap::FinishReceiving(uint64_t sequence) {
  ring_->Restart(sequence, static_cast<uint32_t>(record_->serial()));
  NodeState state = record_->state();
  state.condition = membership::Condition::kBehind;
  record_->Update(state);
  return absl::OkStatus();
}

}  // namespace kamino::replica
