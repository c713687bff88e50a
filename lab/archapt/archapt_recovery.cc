// The order of the steps matters (section 3.3, post-crash processing):
//
//   1. Sealed matrices are verified and repaired. Their sums are of the state
//      that was sealed, committed physically or not. So this comes before any
//      rollback, which a later repair would revert.
//   2. All their objects are flushed, and the matrices no longer count. A
//      rollback under a matrix that counts would look like a loss to the next
//      recovery.
//   3. Transactions that are not committed physically are rolled back, newest
//      first.
//
// An object that is beyond repair is not lost if its last transaction is rolled
// back: only lines that this one stored to can be wrong, and their old bytes
// are logged. Losses are kept in the matrices' slots, so that the next recovery
// knows of them as well.
#include "lab/archapt/archapt_recovery.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/baselines/log_seed.h"
#include "lab/explore.h"

namespace kamino::engine {

using archapt_format::kLineBytes;
using archapt_format::kSlotBytes;
using archapt_format::LogHeader;

namespace {

// The part of the log area for slots.
constexpr size_t kSlotsPart = 8;

class Recovery {
 public:
  Recovery(Heap* heap, UndoRing* ring, MatrixTable* table)
      : heap_(heap), region_(heap->region()), ring_(ring), table_(table) {}

  absl::StatusOr<ArchaptRecovery> Run();

 private:
  void NoteRolledBack();
  bool IsRolledBack(const MatrixColumn& column) const;
  void RepairAll();
  void InvalidateAll();
  void RollBack();
  void Account();

  Heap* const heap_;
  Region* const region_;
  UndoRing* const ring_;
  MatrixTable* const table_;
  UndoContents log_;
  std::vector<MatrixTable::Found> matrices_;
  // Ranges that are rolled back: end to begin.
  std::multimap<uint64_t, uint64_t> rolled_back_;
  ArchaptRecovery result_;
};

void Recovery::NoteRolledBack() {
  for (const UndoContents::Update& update : log_.updates) {
    const uint64_t begin = update.record.address;
    rolled_back_.emplace(begin + update.record.length, begin);
  }
}

// Whether its last transaction is.
bool Recovery::IsRolledBack(const MatrixColumn& column) const {
  for (auto range = rolled_back_.upper_bound(column.id);
       range != rolled_back_.end(); ++range) {
    // Ranges of one object end within it.
    if (range->second < column.id + column.bytes.size()) return true;
    if (range->first > column.id + column.bytes.size()) break;
  }
  return false;
}

void Recovery::RepairAll() {
  for (MatrixTable::Found& found : matrices_) {
    if (found.sums == nullptr) {
      Reached(LabBranch::kArchaptLostBefore);
      continue;
    }
    const Repair repair = RepairMatrix(
        found.matrix, table_->seed(), found.sums,
        [this](std::byte* to, const std::byte* from, size_t length) {
          region_->CopyFlush(to, from, length);
        });
    if (repair.repaired_lines > 0) Reached(LabBranch::kArchaptRepairs);
    result_.report.repaired_lines += repair.repaired_lines;
    for (size_t j = 0; j < found.matrix.columns.size(); ++j) {
      if ((repair.lost >> j & 1) == 0) continue;
      if (!IsRolledBack(found.matrix.columns[j])) {
        Reached(LabBranch::kArchaptLoses);
        found.lost |= uint64_t{1} << j;
      } else {
        Reached(LabBranch::kArchaptLossIsRolledBack);
      }
    }
    // Memory may have survived what the medium was not asked to keep.
    for (const MatrixColumn& column : found.matrix.columns) {
      region_->Flush(column.bytes.data(), column.bytes.size());
    }
  }
  region_->Drain();
}

void Recovery::InvalidateAll() {
  for (const MatrixTable::Found& found : matrices_) {
    if (found.sums != nullptr) table_->SetLost(found.slot, found.lost);
  }
  region_->Drain();
}

void Recovery::RollBack() {
  for (auto update = log_.updates.rbegin(); update != log_.updates.rend();
       ++update) {
    Reached(LabBranch::kArchaptRollsBack);
    ring_->RollBack(update->record);
  }
  region_->Drain();
}

// Lists the lost objects that still exist, after all other recovery.
void Recovery::Account() {
  for (const MatrixTable::Found& found : matrices_) {
    uint64_t lost = 0;
    for (size_t j = 0; j < found.matrix.columns.size(); ++j) {
      const ObjectId id = found.matrix.columns[j].id;
      if ((found.lost >> j & 1) == 0 || !heap_->Payload(id).ok()) continue;
      lost |= uint64_t{1} << j;
      result_.lost.push_back({id, found.slot, j});
      result_.report.lost_objects.push_back(id);
    }
    if (lost != found.lost) table_->SetLost(found.slot, lost);
  }
  region_->Drain();
  std::sort(result_.report.lost_objects.begin(),
            result_.report.lost_objects.end());
}

absl::StatusOr<ArchaptRecovery> Recovery::Run() {
  ASSIGN_OR_RETURN(log_, ring_->Scan());
  if (ring_->is_new()) RETURN_IF_ERROR(table_->Format());
  ASSIGN_OR_RETURN(matrices_, table_->Read());
  result_.report.last_sequence = log_.watermark;
  result_.report.rolled_back = log_.transactions;
  result_.given = log_.given;
  NoteRolledBack();
  RepairAll();
  InvalidateAll();
  RollBack();
  Account();
  ring_->Reset(log_.watermark, log_.given);
  return std::move(result_);
}

}  // namespace

absl::StatusOr<size_t> SlotsOf(size_t log_bytes) {
  const size_t slots = log_bytes / kSlotsPart / kSlotBytes;
  const size_t ring = sizeof(LogHeader) + slots * kSlotBytes;
  if (log_bytes < ring + UndoRing::kLeastBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the heap has ", log_bytes,
                     " bytes for Archapt's log: make the heap larger"));
  }
  if (log_bytes > ring + UndoRing::kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the heap has ", log_bytes,
                     " bytes for Archapt's log, whose ring has at most ",
                     UndoRing::kMostBytes, ": make the queue shorter"));
  }
  return slots;
}

absl::StatusOr<ArchaptLayout> LayoutOf(const Heap& heap) {
  const absl::Span<std::byte> area = heap.log_area();
  ASSIGN_OR_RETURN(const size_t slots, SlotsOf(area.size()));
  const size_t ring = sizeof(LogHeader) + slots * kSlotBytes;
  const uint64_t begin = area.data() - heap.region()->base();
  ArchaptLayout layout;
  layout.seed = LogSeed(heap.uuid());
  layout.slots_begin = begin + sizeof(LogHeader);
  layout.slots = slots;
  layout.ring.header = reinterpret_cast<LogHeader*>(area.data());
  layout.ring.ring_begin = begin + ring;
  layout.ring.ring_end = begin + area.size() / kLineBytes * kLineBytes;
  layout.ring.objects.begin = heap.objects_begin();
  layout.ring.objects.end = heap.objects_end();
  return layout;
}

absl::StatusOr<ArchaptRecovery> RecoverArchapt(Heap* heap, UndoRing* ring,
                                               MatrixTable* table) {
  return Recovery(heap, ring, table).Run();
}

}  // namespace kamino::engine
