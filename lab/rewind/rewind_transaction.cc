#include "lab/rewind/rewind_transaction.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "engine/baselines/zeroed_block.h"
#include "engine/heap/heap_format.h"
#include "engine/resource_error.h"
#include "glog/logging.h"
#include "lab/explore.h"

namespace kamino::engine {

using heap_format::BlockHeader;
using heap_format::BlockState;
using heap_format::MakeWord;
using heap_format::UnitsOf;
using rewind_format::RecordType;

namespace {

// Larger ones are not kept in memory.
constexpr size_t kMostPending = 4096;
// With more open ranges, each change is taken to meet one: then it is logged by
// itself, and its cost does not grow with their number.
constexpr size_t kMostOpen = 64;

}  // namespace

// --- Ranges.

bool RewindTransaction::MeetsOpen(const HeldObject& held, uint32_t offset,
                                  size_t length) {
  if (open_ranges_.size() > kMostOpen) return true;
  const size_t object = this->held().IndexOf(held);
  return std::any_of(
      open_ranges_.begin(), open_ranges_.end(), [&](const Range& range) {
        return range.object == object && range.offset < offset + length &&
               offset < uint64_t{range.offset} + range.length;
      });
}

void RewindTransaction::Open(Range* range) {
  if (!range->open && open_ranges_.size() <= kMostOpen) {
    open_ranges_.push_back(*range);
  }
  range->open = true;
}

Draft RewindTransaction::UpdateOf(const HeldObject& held, uint32_t offset,
                                  uint32_t length,
                                  const std::byte* new_bytes) const {
  Draft draft;
  draft.address = held.id + offset;
  draft.length = length;
  draft.old_bytes = held.bytes.data() + offset;
  // With force, recovery does not redo updates.
  if (!options().force) draft.new_bytes = new_bytes;
  return draft;
}

absl::Status RewindTransaction::WithRoom(
    absl::Duration wait, absl::FunctionRef<absl::Status()> append) {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> deadline;
  while (true) {
    absl::Status appended = append();
    if (ResourceOf(appended) != Resource::kLog) return appended;
    if (!deadline.has_value()) {
      deadline =
          Clock::now() + absl::ToChronoNanoseconds(std::min(wait, kForEver));
    } else if (Clock::now() >= *deadline) {
      return appended;
    }
    if (!store_->Checkpoint()) YieldProcessor();
  }
}

absl::Status RewindTransaction::Append(absl::Span<const Draft> drafts,
                                       absl::Duration wait) {
  return WithRoom(wait, [&] { return store_->log_.Append(&own_, drafts); });
}

absl::Status RewindTransaction::AppendEnd(absl::Span<const Draft> drafts,
                                          uint64_t sequence) {
  return WithRoom(options().log_wait, [&] {
    return store_->log_.AppendEnd(&own_, drafts, sequence);
  });
}

absl::StatusOr<std::byte*> RewindTransaction::DeclareWrite(HeldObject& held,
                                                           uint32_t offset,
                                                           uint32_t length) {
  const Intent intent{held.id, offset, length};
  RETURN_IF_ERROR(DeclareWrites({&intent, 1}));
  return held.bytes.data() + offset;
}

absl::Status RewindTransaction::DeclareWrites(absl::Span<const Intent> writes) {
  ranges_.Expect(writes.size());
  RETURN_IF_ERROR(CloseGroup());
  std::vector<Draft> drafts;
  std::vector<Range> fresh;
  for (const Intent& write : writes) {
    const HeldObject& held = *this->held().Find(write.object);
    if (Range* range = Covering(held, write.offset, write.length)) {
      Open(range);
      continue;
    }
    drafts.push_back(UpdateOf(held, write.offset, write.length, nullptr));
    fresh.push_back({this->held().IndexOf(held), write.offset, write.length});
    Open(&fresh.back());
  }
  RETURN_IF_ERROR(Append(drafts));
  for (const Range& range : fresh) ranges_.Add(range);
  return absl::OkStatus();
}

void RewindTransaction::Store(const HeldObject& held, uint32_t offset,
                              absl::Span<const std::byte> bytes) {
  std::byte* const to = held.bytes.data() + offset;
  if (options().force) {
    region().CopyFlush(to, bytes.data(), bytes.size());
  } else {
    std::memcpy(to, bytes.data(), bytes.size());
  }
}

absl::Status RewindTransaction::Put(HeldObject& held, uint32_t offset,
                                    absl::Span<const std::byte> bytes) {
  const auto length = static_cast<uint32_t>(bytes.size());
  if (Range* range = Covering(held, offset, length)) {
    // With force the range is flushed here. This comes before the group closes,
    // which adds ranges and so may move this one.
    if (!options().force) Open(range);
    RETURN_IF_ERROR(CloseGroup());
    Store(held, offset, bytes);
    return absl::OkStatus();
  }
  // Pending bytes are stored later, after stores through a pointer that the
  // caller may have.
  if (batches() && bytes.size() <= kMostPending &&
      !MeetsOpen(held, offset, bytes.size())) {
    pending_.push_back(
        {this->held().IndexOf(held), offset, {bytes.begin(), bytes.end()}});
    return pending_.size() < options().group ? absl::OkStatus() : CloseGroup();
  }
  RETURN_IF_ERROR(CloseGroup());
  const Draft update = UpdateOf(held, offset, length, bytes.data());
  RETURN_IF_ERROR(Append({&update, 1}));
  ranges_.Add({this->held().IndexOf(held), offset, length, false});
  Store(held, offset, bytes);
  return absl::OkStatus();
}

// --- Groups.

void RewindTransaction::AddPending(std::vector<Draft>* drafts) {
  for (const Pending& one : pending_) {
    drafts->push_back(UpdateOf(held()[one.object], one.offset,
                               static_cast<uint32_t>(one.bytes.size()),
                               one.bytes.data()));
  }
}

// In order: they may overlap.
void RewindTransaction::StorePending() {
  for (const Pending& one : pending_) {
    Store(held()[one.object], one.offset, one.bytes);
    ranges_.Add({one.object, one.offset,
                 static_cast<uint32_t>(one.bytes.size()), false});
  }
  pending_.clear();
}

absl::Status RewindTransaction::CloseGroup(absl::Duration wait) {
  if (pending_.empty()) return absl::OkStatus();
  std::vector<Draft> drafts;
  AddPending(&drafts);
  RETURN_IF_ERROR(Append(drafts, wait));
  StorePending();
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<const std::byte>> RewindTransaction::Show(
    HeldObject& held) {
  const size_t object = this->held().IndexOf(held);
  const bool any = std::any_of(
      pending_.begin(), pending_.end(),
      [object](const Pending& one) { return one.object == object; });
  if (!any) return held.bytes;
  // Reading needs no room; the next change will wait for it, or say that there
  // is none.
  const absl::Status closed = CloseGroup(/*wait=*/absl::ZeroDuration());
  if (closed.ok()) return held.bytes;
  if (!absl::IsResourceExhausted(closed)) return closed;
  std::vector<std::byte> shown(held.bytes.begin(), held.bytes.end());
  for (const Pending& one : pending_) {
    if (one.object != object) continue;
    std::copy(one.bytes.begin(), one.bytes.end(), shown.begin() + one.offset);
  }
  overlays_.push_back(std::move(shown));
  return overlays_.back();
}

// --- Blocks.

absl::StatusOr<BaselineTransaction::NewObject> RewindTransaction::Take(
    uint32_t size) {
  const auto make_room = [this] {
    store_->Checkpoint();
    return true;
  };
  ASSIGN_OR_RETURN(const ZeroedBlock block,
                   ReserveZeroed(&heap(), size, make_room));
  return NewObject{block.id, block.bytes};
}

absl::Status RewindTransaction::DeclareAlloc(HeldObject&) {
  states_change_ = true;
  return absl::OkStatus();
}

absl::Status RewindTransaction::DeclareFree(HeldObject&) {
  states_change_ = true;
  return absl::OkStatus();
}

void RewindTransaction::AddHeaders(std::vector<Draft>* drafts) {
  if (!states_change_) return;
  headers_.clear();
  for (const HeldObject& object : held()) {
    if (object.allocated == object.freed) continue;
    const uint64_t word =
        heap_format::HeaderOf(region().base(), object.id)->word;
    const BlockState to =
        object.allocated ? BlockState::kAllocated : BlockState::kFree;
    headers_.push_back(
        {held().IndexOf(object), {word, MakeWord(to, UnitsOf(word))}});
  }
  for (const Header& header : headers_) {
    const HeldObject& object = held()[header.object];
    Draft draft;
    draft.type = object.freed ? RecordType::kDelete : RecordType::kUpdate;
    draft.address = object.id - sizeof(BlockHeader);
    draft.length = sizeof(uint64_t);
    draft.old_bytes = reinterpret_cast<const std::byte*>(&header.words[0]);
    if (!options().force) {
      draft.new_bytes = reinterpret_cast<const std::byte*>(&header.words[1]);
    }
    drafts->push_back(draft);
  }
}

void RewindTransaction::StoreHeaders() {
  for (const Header& header : headers_) {
    const HeldObject& object = held()[header.object];
    heap().states().Store(object.id, object.allocated);
    if (options().force) heap().states().Flush(object.id);
  }
}

void RewindTransaction::FlushNew() {
  if (!states_change_) return;
  for (const HeldObject& object : held()) {
    if (!object.allocated || object.freed) continue;
    region().Flush(object.bytes.data(), object.bytes.size());
  }
}

void RewindTransaction::KeepBlocks(bool committed) {
  if (!states_change_) return;
  for (const HeldObject& object : held()) {
    const bool free = committed ? object.freed : object.allocated;
    if (free) own_.freed.push_back(object.id);
  }
  blocks_kept_ = true;
}

void RewindTransaction::ReleaseSpace(bool committed) {
  for (ObjectId block : freed_) heap().Release(block);
  if (!states_change_ || blocks_kept_) return;
  for (const HeldObject& object : held()) {
    if (committed ? object.freed : object.allocated) heap().Release(object.id);
  }
}

// --- The end.

void RewindTransaction::AddOpen(std::vector<Draft>* drafts) {
  for (const Range& range : ranges_) {
    const HeldObject& object = held()[range.object];
    if (!range.open || object.freed) continue;
    Draft draft;
    draft.address = object.id + range.offset;
    draft.length = range.length;
    draft.new_bytes = object.bytes.data() + range.offset;
    drafts->push_back(draft);
  }
}

absl::Status RewindTransaction::CommitUnforced(const CommitOptions& options) {
  // Pending bytes come after the open ranges that they may overlap.
  std::vector<Draft> drafts;
  AddOpen(&drafts);
  AddPending(&drafts);
  AddHeaders(&drafts);
  FlushNew();
  if (options.before_mark.has_value()) {
    RETURN_IF_ERROR(Append(drafts));
    headers_logged_ = !headers_.empty();
    StorePending();
    drafts.clear();
    RETURN_IF_ERROR((*options.before_mark)(write_set()));
  }
  RETURN_IF_ERROR(AppendEnd(drafts, options.sequence));
  StorePending();
  StoreHeaders();
  KeepBlocks(/*committed=*/true);
  store_->log_.Finished(&own_);
  return absl::OkStatus();
}

absl::Status RewindTransaction::CommitForced(const CommitOptions& options) {
  std::vector<Draft> drafts;
  AddPending(&drafts);
  AddHeaders(&drafts);
  RETURN_IF_ERROR(Append(drafts));
  headers_logged_ = !headers_.empty();
  StorePending();
  for (const Range& range : ranges_) {
    const HeldObject& object = held()[range.object];
    if (!range.open || object.freed) continue;
    region().Flush(object.bytes.data() + range.offset, range.length);
  }
  FlushNew();
  StoreHeaders();
  region().Drain();
  if (options.before_mark.has_value()) {
    RETURN_IF_ERROR((*options.before_mark)(write_set()));
  }
  RETURN_IF_ERROR(AppendEnd({}, options.sequence));
  KeepBlocks(/*committed=*/true);
  if (this->options().keeps_finished()) {
    store_->log_.Finished(&own_);
  } else {
    freed_ = store_->log_.Clear(&own_);
  }
  return absl::OkStatus();
}

absl::Status RewindTransaction::MakeDurable(const CommitOptions& options) {
  if (write_set().empty()) {
    return options.before_mark.has_value() ? (*options.before_mark)(write_set())
                                           : absl::OkStatus();
  }
  return store_->options_.force ? CommitForced(options)
                                : CommitUnforced(options);
}

absl::Status RewindTransaction::TakeBack() {
  pending_.clear();
  if (own_.records.empty()) {
    store_->log_.Drop(&own_);
    return absl::OkStatus();
  }
  Reached(LabBranch::kRewindUndoes);
  store_->log_.Find(own_);
  // With force, each is durable in its place before the next is named.
  const size_t most = options().force || !batches() ? 1 : options().group;
  std::vector<const LogRecord*> undone;
  const std::vector<LogRecord> records = own_.records;
  const auto undo = [&] {
    store_->log_.AppendCompensations(&own_, undone);
    for (const LogRecord* record : undone) {
      std::byte* const to = region().base() + record->address;
      if (options().force) {
        region().CopyFlush(to, record->old_bytes, record->length);
        region().Drain();
      } else {
        std::memcpy(to, record->old_bytes, record->length);
      }
    }
    undone.clear();
  };
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (record->old_bytes == nullptr) continue;
    undone.push_back(&*record);
    if (undone.size() == most) undo();
  }
  if (!undone.empty()) undo();
  store_->log_.AppendAborted(&own_);
  if (headers_logged_) KeepBlocks(/*committed=*/false);
  if (options().force) {
    freed_ = store_->log_.Clear(&own_);
  } else {
    store_->log_.Finished(&own_);
  }
  return absl::OkStatus();
}

}  // namespace kamino::engine
