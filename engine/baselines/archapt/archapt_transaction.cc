#include "engine/baselines/archapt/archapt_transaction.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/baselines/zeroed_block.h"

namespace kamino::engine {

using archapt_format::kLineBytes;
using heap_format::BlockHeader;

namespace {

absl::Status Lost(ObjectId id) {
  return absl::DataLossError(absl::StrCat(
      "the bytes of object ", id, " were lost in a crash, beyond repair"));
}

}  // namespace

// --- Reading and declaring.

absl::StatusOr<absl::Span<const std::byte>> ArchaptTransaction::Show(
    HeldObject& held) {
  if (held.allocated) return held.bytes;
  if (store_->IsLost(held.id)) return Lost(held.id);
  if (!held.claimed) store_->BeforeRead(held.id, &unsettled_);
  return held.bytes;
}

void ArchaptTransaction::Claim(HeldObject& held) {
  if (held.claimed || held.allocated) return;
  store_->BeforeWrite(held.id, &unsettled_);
  held.claimed = true;
}

absl::Status ArchaptTransaction::Append(absl::Span<const UndoDraft> drafts) {
  absl::Status appended = store_->ring_.Append(&own_, drafts);
  for (int attempt = 0; absl::IsResourceExhausted(appended); ++attempt) {
    // Others wait for these.
    FinishFlushes();
    if (!store_->MakeRoom(attempt)) return appended;
    appended = store_->ring_.Append(&own_, drafts);
  }
  if (appended.ok()) store_->Settle(&unsettled_);
  return appended;
}

absl::StatusOr<std::byte*> ArchaptTransaction::DeclareWrite(HeldObject& held,
                                                            uint32_t offset,
                                                            uint32_t length) {
  const Intent intent{held.id, offset, length};
  RETURN_IF_ERROR(DeclareWrites({&intent, 1}));
  return held.bytes.data() + offset;
}

absl::Status ArchaptTransaction::DeclareWrites(
    absl::Span<const Intent> writes) {
  ranges_.Expect(writes.size());
  std::vector<UndoDraft> drafts;
  std::vector<Range> fresh;
  for (const Intent& write : writes) {
    HeldObject& held = *this->held().Find(write.object);
    const size_t object = this->held().IndexOf(held);
    if (ranges_.Covering(object, write.offset, write.length) != nullptr) {
      continue;
    }
    if (store_->IsLost(held.id)) return Lost(held.id);
    Claim(held);
    drafts.push_back({held.id + write.offset,
                      held.bytes.subspan(write.offset, write.length)});
    fresh.push_back({object, write.offset, write.length});
  }
  RETURN_IF_ERROR(Append(drafts));
  for (const Range& range : fresh) ranges_.Add(range);
  return absl::OkStatus();
}

// --- Blocks.

absl::StatusOr<BaselineTransaction::NewObject> ArchaptTransaction::Take(
    uint32_t size) {
  const auto make_room = [this] {
    FinishFlushes();
    store_->FreeBlocks();
    return true;
  };
  ASSIGN_OR_RETURN(const ZeroedBlock block,
                   ReserveZeroed(&heap(), size, make_room));
  return NewObject{block.id, block.bytes};
}

absl::Status ArchaptTransaction::DeclareAlloc(HeldObject&) {
  states_change_ = true;
  return absl::OkStatus();
}

absl::Status ArchaptTransaction::DeclareFree(HeldObject&) {
  states_change_ = true;
  return absl::OkStatus();
}

// Headers change with the logical commit, so they are logged like data. What is
// freed is claimed here, where a drain follows: until one does, transactions
// that have stored to it are not durable, whoever waits for that.
absl::Status ArchaptTransaction::LogHeaders() {
  if (!states_change_) return absl::OkStatus();
  std::vector<UndoDraft> drafts;
  for (HeldObject& object : held()) {
    if (object.allocated == object.freed) continue;
    Claim(object);
    const BlockHeader* const header =
        heap_format::HeaderOf(region().base(), object.id);
    drafts.push_back({object.id - sizeof(BlockHeader),
                      {reinterpret_cast<const std::byte*>(&header->word),
                       sizeof(header->word)}});
  }
  return Append(drafts);
}

void ArchaptTransaction::ReleaseSpace(bool committed) {
  // What was there before and is freed waits for the physical commit.
  if (states_change_) {
    for (const HeldObject& object : held()) {
      if (object.allocated && (!committed || object.freed)) {
        heap().Release(object.id);
      }
    }
  }
  absl::InlinedVector<Access, 8> accesses;
  for (const HeldObject& object : held()) {
    if (object.bytes.empty() || object.freed) continue;
    if (object.allocated && !committed) continue;
    if (!store_->IsNews(object.id)) continue;
    accesses.push_back({object.id, static_cast<uint32_t>(object.bytes.size())});
  }
  if (!accesses.empty()) store_->HandOver(accesses);
}

// --- The end.

void ArchaptTransaction::FinishFlushes() {
  if (unsettled_.empty()) return;
  region().Drain();
  store_->Settle(&unsettled_);
}

std::vector<LogicalCommit::Object> ArchaptTransaction::Written() {
  std::vector<LogicalCommit::Object> written;
  std::vector<LineRanges> lines;
  for (const Range& range : ranges_) {
    if (lines.size() <= range.object) lines.resize(range.object + 1);
    lines[range.object].push_back(
        {range.offset / static_cast<uint32_t>(kLineBytes),
         static_cast<uint32_t>(LinesFor(range.offset + range.length))});
  }
  size_t index = 0;
  for (const HeldObject& object : held()) {
    const size_t at = index++;
    if (object.freed) continue;
    const auto bytes = static_cast<uint32_t>(object.bytes.size());
    if (object.allocated) {
      const auto all = static_cast<uint32_t>(LinesFor(bytes));
      written.push_back({object.id, bytes, {{0, all}}});
    } else if (at < lines.size() && !lines[at].empty()) {
      written.push_back({object.id, bytes, MergeRanges(std::move(lines[at]))});
    }
  }
  return written;
}

void ArchaptTransaction::FlushAll(std::vector<LogicalCommit::Object>* written) {
  for (LogicalCommit::Object& object : *written) {
    store_->FlushLines(object.id, object.bytes, object.lines);
    object.lines.clear();
  }
  region().Drain();
  store_->Settle(&unsettled_);
}

absl::Status ArchaptTransaction::MakeDurable(const CommitOptions& options) {
  RETURN_IF_ERROR(LogHeaders());
  LogicalCommit commit;
  commit.transaction = own_.transaction;
  commit.objects = Written();
  if (options.before_mark.has_value()) {
    if (!commit.objects.empty()) FlushAll(&commit.objects);
    RETURN_IF_ERROR((*options.before_mark)(write_set()));
  }
  FinishFlushes();
  uint64_t sequence;
  if (own_.transaction == 0) {
    // It has changed nothing; but what it has read may yet be taken back.
    sequence = store_->last_sequence();
    if (sequence <= store_->durable_sequence()) sequence = 0;
  } else {
    for (const HeldObject& object : held()) {
      if (object.allocated == object.freed) continue;
      heap().StoreState(object.id, object.allocated);
      commit.headers.push_back(object.id);
      if (object.freed) commit.freed.push_back(object.id);
    }
    sequence = store_->CommitLogically(std::move(commit));
  }
  if (options.durable_at != nullptr) *options.durable_at = sequence;
  return absl::OkStatus();
}

absl::Status ArchaptTransaction::TakeBack() {
  for (auto record = own_.records.rbegin(); record != own_.records.rend();
       ++record) {
    store_->ring_.TakeBack(*record);
  }
  if (own_.transaction != 0) {
    store_->ring_.AppendAborted(&own_);
    store_->Settle(&unsettled_);
  } else {
    FinishFlushes();
  }
  return absl::OkStatus();
}

}  // namespace kamino::engine
