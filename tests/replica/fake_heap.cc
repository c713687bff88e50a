#include "tests/replica/fake_heap.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace kamino::replica {

using engine::Intent;
using engine::IntentKind;
using engine::WriteSet;

namespace {

using Writes = std::vector<std::pair<char, std::string>>;

constexpr char kEnd[] = "after ";

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
  const Writes writes = WritesOf(chunk);
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
