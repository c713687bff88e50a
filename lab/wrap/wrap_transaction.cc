#include "lab/wrap/wrap_transaction.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/baselines/zeroed_block.h"
#include "engine/heap/heap_format.h"
#include "glog/logging.h"

namespace kamino::engine {

using heap_format::BlockHeader;
using heap_format::BlockState;

// --- Ranges.

void WrapTransaction::AddRange(const HeldObject& held, uint32_t offset,
                               uint32_t length, bool open) {
  const std::byte* const bytes = held.bytes.data() + offset;
  ranges_.Add(
      {this->held().IndexOf(held), offset, length, open, before_.size()});
  before_.insert(before_.end(), bytes, bytes + length);
}

absl::Status WrapTransaction::Log(const HeldObject& object, uint32_t offset,
                                  absl::Span<const std::byte> bytes) {
  return store_->log_.Append(&wrap_, object.id + offset, bytes);
}

absl::StatusOr<std::byte*> WrapTransaction::DeclareWrite(HeldObject& held,
                                                         uint32_t offset,
                                                         uint32_t length) {
  Range* const range =
      ranges_.Covering(this->held().IndexOf(held), offset, length);
  if (range != nullptr) {
    range->open = true;
  } else {
    AddRange(held, offset, length, /*open=*/true);
  }
  return held.bytes.data() + offset;
}

absl::Status WrapTransaction::DeclareWrites(absl::Span<const Intent> writes) {
  ranges_.Expect(writes.size());
  for (const Intent& write : writes) {
    RETURN_IF_ERROR(
        DeclareWrite(*held().Find(write.object), write.offset, write.length)
            .status());
  }
  return absl::OkStatus();
}

absl::Status WrapTransaction::Put(HeldObject& held, uint32_t offset,
                                  absl::Span<const std::byte> bytes) {
  const auto length = static_cast<uint32_t>(bytes.size());
  Range* const range =
      ranges_.Covering(this->held().IndexOf(held), offset, length);
  if (range != nullptr) {
    range->open = true;
  } else {
    // Logged before open ranges are, at the commit: those show what is last.
    RETURN_IF_ERROR(Log(held, offset, bytes));
    AddRange(held, offset, length, /*open=*/false);
  }
  std::memcpy(held.bytes.data() + offset, bytes.data(), bytes.size());
  return absl::OkStatus();
}

// --- Blocks.

absl::StatusOr<BaselineTransaction::NewObject> WrapTransaction::Take(
    uint32_t size) {
  const auto make_room = [this] {
    store_->Retire(SIZE_MAX);
    return true;
  };
  ASSIGN_OR_RETURN(const ZeroedBlock block,
                   ReserveZeroed(&heap(), size, make_room));
  return NewObject{block.id, block.bytes};
}

absl::Status WrapTransaction::DeclareAlloc(HeldObject&) {
  states_change_ = true;
  return absl::OkStatus();
}

absl::Status WrapTransaction::DeclareFree(HeldObject&) {
  states_change_ = true;
  return absl::OkStatus();
}

void WrapTransaction::StoreStates() {
  if (!states_change_) return;
  for (const HeldObject& object : held()) {
    if (object.allocated != object.freed) {
      heap().states().Store(object.id, object.allocated);
    }
    if (object.freed) wrap_.freed.push_back(object.id);
  }
}

void WrapTransaction::ReleaseSpace(bool committed) {
  // Freed blocks are released when the wrap has retired.
  if (committed || !states_change_) return;
  for (const HeldObject& object : held()) {
    if (object.allocated) heap().Release(object.id);
  }
}

// --- The end.

absl::Status WrapTransaction::LogOpenRanges() {
  for (const Range& range : ranges_) {
    const HeldObject& object = held()[range.object];
    if (!range.open || object.freed) continue;
    RETURN_IF_ERROR(Log(object, range.offset,
                        object.bytes.subspan(range.offset, range.length)));
  }
  return absl::OkStatus();
}

absl::Status WrapTransaction::LogNewObjects() {
  if (!states_change_) return absl::OkStatus();
  for (const HeldObject& object : held()) {
    if (!object.allocated || object.freed) continue;
    RETURN_IF_ERROR(Log(object, 0, object.bytes));
  }
  return absl::OkStatus();
}

absl::Status WrapTransaction::LogStates() {
  if (!states_change_) return absl::OkStatus();
  const std::byte* const base = heap().region()->base();
  for (const HeldObject& object : held()) {
    if (object.allocated == object.freed) continue;
    const uint64_t header = object.id - sizeof(BlockHeader);
    uint64_t word;
    std::memcpy(&word, base + header, sizeof(word));
    word = heap_format::MakeWord(
        object.allocated ? BlockState::kAllocated : BlockState::kFree,
        heap_format::UnitsOf(word));
    RETURN_IF_ERROR(store_->log_.Append(
        &wrap_, header,
        {reinterpret_cast<const std::byte*>(&word), sizeof(word)}));
  }
  return absl::OkStatus();
}

absl::Status WrapTransaction::MakeDurable(const CommitOptions& options) {
  if (options.sequence > wrap_format::kSequenceMask) {
    return absl::InvalidArgumentError(
        absl::StrCat("sequence ", options.sequence, ": WrAP records ",
                     wrap_format::kSequenceMask, " at the most"));
  }
  if (write_set().empty()) {
    CHECK(!wrap_.open()) << "a commit after an error";
    return options.before_mark.has_value() ? (*options.before_mark)(write_set())
                                           : absl::OkStatus();
  }
  WrapLog& log = store_->log_;
  RETURN_IF_ERROR(log.Open(&wrap_));
  RETURN_IF_ERROR(LogOpenRanges());
  RETURN_IF_ERROR(LogNewObjects());
  RETURN_IF_ERROR(LogStates());
  if (options.before_mark.has_value()) {
    log.Drain(&wrap_);
    RETURN_IF_ERROR((*options.before_mark)(write_set()));
  }
  log.Close(&wrap_, options.sequence);
  StoreStates();
  log.HandOver(std::move(wrap_));
  return absl::OkStatus();
}

absl::Status WrapTransaction::RollBack() {
  std::vector<const Range*> ranges;
  for (const Range& range : ranges_) ranges.push_back(&range);
  // Newest first: they may overlap.
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
    const HeldObject& object = held()[(*range)->object];
    std::memcpy(object.bytes.data() + (*range)->offset,
                before_.data() + (*range)->before, (*range)->length);
  }
  store_->log_.Forget(&wrap_);
  return absl::OkStatus();
}

}  // namespace kamino::engine
