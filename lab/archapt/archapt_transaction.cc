#include "lab/archapt/archapt_transaction.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/baselines/zeroed_block.h"
#include "engine/resource_error.h"

namespace kamino::engine {

using archapt_format::kLineBytes;
using heap_format::BlockHeader;

namespace {

absl::Status Lost(ObjectId id) {
  return absl::DataLossError(absl::StrCat(
      "the bytes of object ", id, " were lost in a crash, beyond repair"));
}

// The whole lines of a write to an object of `bytes` bytes; the last line of
// the object counts as whole at its end.
LineRange WholeLines(const Intent& write, size_t bytes) {
  const uint64_t end = uint64_t{write.offset} + write.length;
  const uint64_t first = LinesFor(write.offset);
  const uint64_t behind = end == bytes ? LinesFor(end) : end / kLineBytes;
  return {static_cast<uint32_t>(first),
          static_cast<uint32_t>(std::max(first, behind))};
}

}  // namespace

// --- Reading and declaring.

absl::StatusOr<absl::Span<const std::byte>> ArchaptTransaction::Show(
    HeldObject& held) {
  if (held.allocated) return held.bytes;
  if (store_.media->lost.Has(held.id)) return Lost(held.id);
  return held.bytes;
}

void ArchaptTransaction::Claim(HeldObject& held, const LineRange& logged) {
  if (held.claimed || held.allocated) return;
  taken_.Take(held.id, logged);
  held.claimed = true;
}

absl::Status ArchaptTransaction::Append(absl::Span<const UndoDraft> drafts) {
  // Nothing is drained then, so nothing is settled.
  if (drafts.empty()) return absl::OkStatus();
  absl::Status appended = ring().Append(&own_, drafts);
  for (int attempt = 0; !appended.ok(); ++attempt) {
    // Others wait for these.
    taken_.Finish();
    // Room that other transactions give back does not help a record that never
    // fits.
    if (ResourceOf(appended) != Resource::kLog) return appended;
    if (!store_.room->MakeRoom(attempt)) return appended;
    appended = ring().Append(&own_, drafts);
  }
  if (!appended.ok()) return appended;
  taken_.Settle();
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
  absl::InlinedVector<UndoDraft, 4> drafts;
  absl::InlinedVector<Range, 4> fresh;
  for (const Intent& write : writes) {
    if (store_.media->lost.Has(write.object)) return Lost(write.object);
  }
  for (const Intent& write : writes) {
    HeldObject& held = *this->held().Find(write.object);
    const size_t object = this->held().IndexOf(held);
    if (ranges_.Covering(object, write.offset, write.length) != nullptr) {
      continue;
    }
    Claim(held, WholeLines(write, held.bytes.size()));
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
    taken_.Finish();
    store_.room->FreeBlocks();
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

absl::Status ArchaptTransaction::DeclareFree(HeldObject& held) {
  states_change_ = true;
  Claim(held, {});
  // Nothing is logged before the commit, and others wait for what is taken.
  taken_.Finish();
  return absl::OkStatus();
}

// Headers change with the logical commit, so they are logged like data.
absl::Status ArchaptTransaction::LogHeaders() {
  if (!states_change_) return absl::OkStatus();
  absl::InlinedVector<UndoDraft, 4> drafts;
  for (const HeldObject& object : held()) {
    if (object.allocated == object.freed) continue;
    const BlockHeader* const header =
        heap_format::HeaderOf(region().base(), object.id);
    drafts.push_back({object.id - sizeof(BlockHeader),
                      {reinterpret_cast<const std::byte*>(&header->word),
                       sizeof(header->word)}});
  }
  return Append(drafts);
}

void ArchaptTransaction::ReleaseSpace(bool committed) {
  // The space of older objects that were freed waits for the physical commit.
  if (states_change_) {
    for (const HeldObject& object : held()) {
      if (object.allocated && (!committed || object.freed)) {
        heap().Release(object.id);
      }
    }
  }
  // The commit notes the objects that the transaction has stored to.
  for (const HeldObject& object : held()) {
    if (object.bytes.empty() || object.allocated || object.claimed) continue;
    store_.advancer->Note(
        {object.id, static_cast<uint32_t>(object.bytes.size())});
  }
  if (own_.transaction != 0) store_.advancer->AdvanceIfLate();
}

// --- The end.

void ArchaptTransaction::ListWritten(LogicalCommit* commit) {
  absl::InlinedVector<LineRanges, 4> lines;
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
    const Access access{object.id, static_cast<uint32_t>(object.bytes.size())};
    if (object.allocated) {
      const auto all = static_cast<uint32_t>(LinesFor(access.bytes));
      commit->objects.push_back({access, {{0, all}}});
    } else if (at < lines.size() && !lines[at].empty()) {
      commit->objects.push_back({access, MergeRanges(std::move(lines[at]))});
    }
  }
}

void ArchaptTransaction::FlushAll(LogicalCommit* commit) {
  for (LogicalCommit::Object& one : commit->objects) {
    FlushLines(&region(), one.object.id, one.object.bytes, one.lines);
    one.lines.clear();
  }
  region().Drain();
}

// It has changed nothing; but the transactions it read may yet be rolled back.
absl::Status ArchaptTransaction::EndReading(const CommitOptions& options) {
  taken_.Finish();
  if (options.before_mark.has_value()) {
    RETURN_IF_ERROR((*options.before_mark)(write_set()));
  }
  if (options.durable_at != nullptr) {
    const uint64_t sequence = store_.backlog->commits.last();
    const bool durable = sequence <= store_.progress->durable();
    *options.durable_at = durable ? 0 : sequence;
  }
  return absl::OkStatus();
}

uint64_t ArchaptTransaction::CommitLogically(LogicalCommit commit) {
  Backlog& backlog = *store_.backlog;
  MutexLock lock(&backlog.mutex);
  return backlog.commits.Append(std::move(commit), &backlog.pending);
}

absl::Status ArchaptTransaction::MakeDurable(const CommitOptions& options) {
  RETURN_IF_ERROR(LogHeaders());
  if (own_.transaction == 0) return EndReading(options);
  LogicalCommit commit;
  commit.transaction = own_.transaction;
  ListWritten(&commit);
  taken_.Finish();
  if (options.before_mark.has_value()) {
    if (!commit.objects.empty()) FlushAll(&commit);
    RETURN_IF_ERROR((*options.before_mark)(write_set()));
  }
  for (const HeldObject& object : held()) {
    if (object.allocated == object.freed) continue;
    heap().states().Store(object.id, object.allocated);
    commit.headers.push_back(object.id);
    if (object.freed) commit.freed.push_back(object.id);
  }
  const uint64_t sequence = CommitLogically(std::move(commit));
  if (options.durable_at != nullptr) *options.durable_at = sequence;
  return absl::OkStatus();
}

absl::Status ArchaptTransaction::RollBack() {
  for (auto record = own_.records.rbegin(); record != own_.records.rend();
       ++record) {
    ring().RollBack(*record);
  }
  if (own_.transaction != 0) ring().AppendAborted(&own_);
  taken_.Finish();
  return absl::OkStatus();
}

}  // namespace kamino::engine
