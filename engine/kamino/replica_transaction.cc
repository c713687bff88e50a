#include "engine/kamino/replica_transaction.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/heap/allocator.h"
#include "engine/heap/heap_format.h"
#include "engine/kamino/checksum.h"

namespace kamino::engine {

using heap_format::PayloadBytes;
using heap_format::UnitsFor;

namespace {

// Declarations prefetched ahead: enough work to hide a few reads of memory.
constexpr size_t kAhead = 4;

}  // namespace

void ReplicaTransaction::PrefetchExpected(size_t index) const {
  const Intent& intent = expected_[index];
  constexpr uint64_t kLine = 64;
  constexpr uint32_t kMost = 1024;  // hardware prefetching covers the rest
  // The range is not checked yet.
  const uint64_t end = uint64_t{intent.offset} + std::min(intent.length, kMost);
  for (uint64_t at = intent.offset; at < end; at += kLine) {
    heap_->Prefetch(intent.object, at);
  }
}

ReplicaTransaction::ReplicaTransaction(Heap* heap, const WriteSet& write_set)
    : heap_(heap), expected_(write_set) {
  declared_.reserve(write_set.size());
  for (size_t i = 0; i < std::min(kAhead, write_set.size()); ++i) {
    PrefetchExpected(i);
  }
}

ReplicaTransaction::~ReplicaTransaction() = default;

absl::Status ReplicaTransaction::Expect(const Intent& intent) {
  if (next_ < expected_.size() && expected_[next_] == intent) {
    ++next_;
    declared_.push_back(intent);
    if (next_ + kAhead <= expected_.size()) {
      PrefetchExpected(next_ + kAhead - 1);
    }
    return absl::OkStatus();
  }
  return Diverged(intent);
}

absl::Status ReplicaTransaction::Diverged(const Intent& intent) const {
  return absl::DataLossError(
      absl::StrCat("diverged: declaration ", next_, " of ", expected_.size(),
                   " is of object ", intent.object, " [", intent.offset, " + ",
                   intent.length, "), kind ", static_cast<int>(intent.kind),
                   ", which the head's execution did not touch then"));
}

absl::StatusOr<absl::Span<const std::byte>> ReplicaTransaction::Read(
    ObjectId id) {
  if (freed_.contains(id)) {
    return absl::NotFoundError(absl::StrCat("no object has the id ", id));
  }
  return Find(id);
}

absl::StatusOr<std::byte*> ReplicaTransaction::Write(ObjectId id,
                                                     uint32_t offset,
                                                     uint32_t length) {
  ASSIGN_OR_RETURN(auto payload, Read(id));
  if (offset > payload.size() || length > payload.size() - offset) {
    return Diverged({id, offset, length, IntentKind::kWrite});
  }
  if (!allocated_.contains(id)) {
    RETURN_IF_ERROR(Expect({id, offset, length, IntentKind::kWrite}));
  }
  return Open(id).data() + offset;
}

absl::Status ReplicaTransaction::OverwriteBoth(
    ObjectId id, uint32_t offset, absl::Span<const std::byte> head,
    absl::Span<const std::byte> bytes) {
  ASSIGN_OR_RETURN(
      auto target,
      Write(id, offset, static_cast<uint32_t>(head.size() + bytes.size())));
  // `bytes` first: they may lie in the target.
  if (!bytes.empty()) {
    std::memmove(target + head.size(), bytes.data(), bytes.size());
  }
  if (!head.empty()) std::memcpy(target, head.data(), head.size());
  return absl::OkStatus();
}

absl::StatusOr<ObjectId> ReplicaTransaction::Alloc(uint32_t size) {
  // The head took the least capacity that serves this size.
  if (next_ >= expected_.size() ||
      expected_[next_].kind != IntentKind::kAlloc || size == 0 ||
      size > kMaxObjectBytes ||
      expected_[next_].length != PayloadBytes(SizeClass(UnitsFor(size)))) {
    return Diverged({kNullObject, 0, size, IntentKind::kAlloc});
  }
  const Intent intent = expected_[next_];
  RETURN_IF_ERROR(Make(intent));
  RETURN_IF_ERROR(Expect(intent));
  allocated_.insert(intent.object);
  return intent.object;
}

absl::Status ReplicaTransaction::Make(const Intent& intent) {
  RETURN_IF_ERROR(heap_->ReserveAt(intent.object, intent.length));
  const absl::Span<std::byte> payload = heap_->BlockPayload(intent.object);
  std::memset(payload.data(), 0, payload.size());
  heap_->states().MarkAllocated(intent.object);
  return absl::OkStatus();
}

absl::Status ReplicaTransaction::Free(ObjectId id) {
  ASSIGN_OR_RETURN(auto payload, Read(id));
  absl::Status expected =
      Expect({id, 0, static_cast<uint32_t>(payload.size()), IntentKind::kFree});
  if (expected.ok()) freed_.insert(id);
  return expected;
}

absl::Status ReplicaTransaction::Commit(const CommitOptions& options) {
  if (next_ != expected_.size()) {
    return absl::DataLossError(absl::StrCat(
        "diverged: ", next_, " declarations, where the head's execution made ",
        expected_.size()));
  }
  Store();
  if (options.before_mark.has_value()) {
    RETURN_IF_ERROR((*options.before_mark)(declared_));
  }
  Finish();
  return absl::OkStatus();
}

void ReplicaTransaction::Store() {
  for (const Intent& intent : declared_) {
    if (intent.kind == IntentKind::kFree) {
      heap_->states().MarkFree(intent.object);
    } else if (!freed_.contains(intent.object)) {
      heap_->region()->Flush(
          heap_->BlockPayload(intent.object).data() + intent.offset,
          intent.length);
    }
  }
  heap_->region()->Drain();
}

void ReplicaTransaction::Finish() {
  // In the head's order, so that this allocator has the same ready blocks as
  // the head's. Otherwise it must cut others out of free space, and each cut
  // waits for the medium: a session's thousand slots took seconds on a disk.
  for (const Intent& intent : declared_) {
    if (intent.kind == IntentKind::kFree) heap_->Release(intent.object);
  }
}

uint64_t ReplicaTransaction::HashImage(
    absl::Span<const uint32_t> filled) const {
  return HashAfterImage(
      expected_, filled, [this](ObjectId id) -> absl::Span<const std::byte> {
        const auto payload = Find(id);
        return payload.ok() ? *payload : absl::Span<std::byte>();
      });
}

absl::Status ReplicaTransaction::Abort() { return absl::OkStatus(); }

const WriteSet& ReplicaTransaction::write_set() const { return declared_; }

// --- Without effect.

absl::StatusOr<absl::Span<std::byte>> TrialTransaction::Find(
    ObjectId id) const {
  const auto found = payloads_.find(id);
  if (found == payloads_.end()) return heap()->Payload(id);
  return absl::MakeSpan(*found->second);
}

absl::Span<std::byte> TrialTransaction::Open(ObjectId id) {
  Payload& payload = payloads_[id];
  if (payload == nullptr) {
    const absl::Span<std::byte> there = heap()->BlockPayload(id);
    payload =
        std::make_unique<std::vector<std::byte>>(there.begin(), there.end());
  }
  return absl::MakeSpan(*payload);
}

absl::Status TrialTransaction::Make(const Intent& intent) {
  payloads_[intent.object] =
      std::make_unique<std::vector<std::byte>>(intent.length);
  return absl::OkStatus();
}

}  // namespace kamino::engine
