#include "tests/replica/fake_heap.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace kamino::replica {

using engine::Intent;
using engine::IntentKind;
using engine::WriteSet;
using kamino::internal::v1::StateChunk;

namespace {

using Writes = std::vector<std::pair<char, std::string>>;

// What is no write, as a mere name of an operation, touches nothing.
Writes WritesOf(absl::string_view operation) {
  Writes writes;
  for (absl::string_view word : absl::StrSplit(operation, ' ')) {
    if (word.size() < 2 || word[1] != '=') continue;
    writes.emplace_back(word[0], std::string(word.substr(2)));
  }
  return writes;
}

uint64_t IdOf(char object) { return FakeHeap::kSpacing * (object - 'a' + 1); }

char ObjectOf(uint64_t id) {
  return static_cast<char>('a' + id / FakeHeap::kSpacing - 1);
}

bool Exists(uint64_t id) {
  return id % FakeHeap::kSpacing == 0 && ObjectOf(id) >= 'a' &&
         ObjectOf(id) <= 'z';
}

}  // namespace

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

void FakeHeap::ExecutePart(absl::string_view operation, size_t writes) {
  for (const auto& [object, value] : WritesOf(operation)) {
    if (writes-- == 0) return;
    Write(object, value);
  }
}

absl::Status FakeHeap::Execute(uint64_t, uint32_t,
                               absl::string_view operation) {
  if (diverges) return absl::DataLossError("diverged");
  for (const auto& [object, value] : WritesOf(operation)) Write(object, value);
  return absl::OkStatus();
}

absl::StatusOr<WriteSet> FakeHeap::WriteSetOf(absl::string_view operation) {
  WriteSet intents;
  for (const auto& [object, value] : WritesOf(operation)) {
    intents.push_back({IdOf(object), 0, static_cast<uint32_t>(value.size()),
                       IntentKind::kWrite});
  }
  return intents;
}

absl::Status FakeHeap::ReadIntent(const Intent& intent, std::string* bytes) {
  if (!Exists(intent.object)) {
    return absl::InvalidArgumentError("there is no such object");
  }
  *bytes = objects[ObjectOf(intent.object)];
  return absl::OkStatus();
}

absl::Status FakeHeap::BeginMending(const WriteSet&) {
  return absl::OkStatus();
}

absl::Status FakeHeap::MendIntent(const Intent& intent, absl::string_view bytes,
                                  Mend) {
  if (!Exists(intent.object)) return absl::DataLossError("no such object");
  Write(ObjectOf(intent.object), std::string(bytes));
  return absl::OkStatus();
}

void FakeHeap::BeginSending() {
  sending_ = true;
  unsent_.clear();
  for (const auto& [object, value] : objects) unsent_.insert(object);
}

bool FakeHeap::NextChunk(StateChunk* chunk) {
  if (unsent_.empty()) return false;
  const char object = *unsent_.begin();
  unsent_.erase(unsent_.begin());
  chunk->set_offset(IdOf(object));
  chunk->set_data(objects[object]);
  chunk->set_checksum(damages_next_chunk ? 0 : chunk->data().size());
  damages_next_chunk = false;
  return true;
}

void FakeHeap::EndSending() { sending_ = false; }

void FakeHeap::BeginReceiving() {
  objects.clear();
  NodeState state = record_->state();
  state.condition = membership::Condition::kReceiving;
  record_->Update(state);
}

absl::Status FakeHeap::Take(const StateChunk& chunk) {
  if (!Exists(chunk.offset()) || chunk.checksum() != chunk.data().size()) {
    return absl::DataLossError("a chunk is damaged");
  }
  objects[ObjectOf(chunk.offset())] = chunk.data();
  return absl::OkStatus();
}

absl::Status FakeHeap::FinishReceiving(uint64_t sequence) {
  ring_->Restart(sequence, static_cast<uint32_t>(record_->serial()));
  NodeState state = record_->state();
  state.condition = membership::Condition::kBehind;
  record_->Update(state);
  return absl::OkStatus();
}

}  // namespace kamino::replica
