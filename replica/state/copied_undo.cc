#include "replica/state/copied_undo.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "replica/state/interrupted_blocks.h"

namespace kamino::replica {

using engine::Heap;
using engine::Intent;
using engine::IntentKind;
using engine::ObjectId;
using engine::WriteSet;

namespace {

// Entries that the copies may lack, and how many of them are copied at once at
// that limit: the core thread does nothing else meanwhile.
constexpr size_t kMaxWork = 128;
constexpr size_t kAtOnce = 32;

// A write set does not list writes to objects that it allocates.
std::vector<ObjectId> ObjectsOf(const WriteSet& write_set, IntentKind kind) {
  std::vector<ObjectId> objects;
  for (const Intent& intent : write_set) {
    if (intent.kind == kind) objects.push_back(intent.object);
  }
  return objects;
}

}  // namespace

CopiedUndo::CopiedUndo(Heap* heap, LogRing* ring, engine::UndoCopy* undo_copy)
    : heap_(heap),
      ring_(ring),
      undo_copy_(undo_copy),
      mark_(undo_copy->region(), kMarkOffset) {
  mark_.Reset(ring->applied());
  ring_->SetBeforeCleaned([this](uint64_t cleaned) { PropagateTo(cleaned); });
}

CopiedUndo::~CopiedUndo() { ring_->SetBeforeCleaned(nullptr); }

uint64_t CopiedUndo::NeededFor(const WriteSet& write_set) const {
  uint64_t needed = 0;
  for (const Intent& intent : write_set) {
    if (intent.kind == IntentKind::kAlloc) needed = std::max(needed, freed_);
    if (intent.kind != IntentKind::kWrite) continue;
    const auto found = written_.find(intent.object);
    if (found != written_.end()) needed = std::max(needed, found->second);
  }
  return needed;
}

absl::Status CopiedUndo::Prepare(const LogEntry& entry,
                                 const WriteSet& write_set) {
  CHECK_EQ(entry.first(), ring_->applied() + 1);
  PropagateTo(NeededFor(write_set));
  if (work_.size() >= kMaxWork) PropagateSome(ring_->applied(), kAtOnce);
  Work work;
  absl::Status pinned = Pin(write_set, &work);
  if (absl::IsResourceExhausted(pinned)) {
    PropagateTo(ring_->applied());
    pinned = Pin(write_set, &work);
  }
  if (absl::IsResourceExhausted(pinned)) {
    // Its own copies, between older ones that had to make room, leave no gap
    // that is large enough. All of them had room at the head.
    undo_copy_->EvictAll();
    pinned = Pin(write_set, &work);
  }
  RETURN_IF_ERROR(pinned);
  work.last = entry.last();
  work.write_set = write_set;
  work.freed = ObjectsOf(write_set, IntentKind::kFree);
  for (const Intent& intent : write_set) written_[intent.object] = work.last;
  if (!work.freed.empty()) freed_ = work.last;
  work_.push_back(std::move(work));
  return absl::OkStatus();
}

absl::Status CopiedUndo::Pin(const WriteSet& write_set, Work* work) {
  // The largest first, so that they do not fragment the free room.
  std::vector<std::pair<size_t, ObjectId>> objects;
  absl::flat_hash_set<ObjectId> seen;
  for (ObjectId id : ObjectsOf(write_set, IntentKind::kWrite)) {
    const auto payload = heap_->Payload(id);
    // Without a payload the entry cannot be executed.
    if (payload.ok() && seen.insert(id).second) {
      objects.emplace_back(payload->size(), id);
    }
  }
  std::stable_sort(
      objects.begin(), objects.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<ObjectId> ids;
  for (const auto& [size, id] : objects) ids.push_back(id);
  const std::vector<std::byte*> copies = undo_copy_->EnsureCopies(ids);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (copies[i] != nullptr) work->copies[ids[i]] = copies[i];
  }
  for (ObjectId id : ids) {
    if (work->copies.contains(id)) continue;
    const auto copy = undo_copy_->EnsureCopy(id);
    if (!copy.ok()) {
      Unpin(*work);
      work->copies.clear();
      return copy.status();
    }
    work->copies[id] = *copy;
  }
  return absl::OkStatus();
}

void CopiedUndo::Unpin(const Work& work) {
  for (const auto& [id, copy] : work.copies) undo_copy_->Unpin(id);
}

absl::Status CopiedUndo::RollBack() {
  ASSIGN_OR_RETURN(const InterruptedBlocks blocks, InterruptedBlocksOf(*ring_));
  if (!work_.empty() && work_.back().last > ring_->applied()) {
    const Work work = std::move(work_.back());
    work_.pop_back();
    for (const auto& [id, copy] : work.copies) {
      const size_t bytes = heap_->BlockPayload(id).size();
      heap_->region()->CopyFlush(heap_->region()->base() + id, copy, bytes);
    }
    heap_->region()->Drain();
    Unpin(work);
    Forget(work);
  }
  return RestoreBlocks(blocks, heap_);
}

void CopiedUndo::Forget(const Work& work) {
  for (const Intent& intent : work.write_set) {
    const auto found = written_.find(intent.object);
    if (found != written_.end() && found->second == work.last) {
      written_.erase(found);
    }
  }
}

void CopiedUndo::CopyChanges(const Work& work) {
  engine::Region* const region = undo_copy_->region();
  for (ObjectId id : work.freed) undo_copy_->Drop(id);
  for (const Intent& intent : work.write_set) {
    const ObjectId id = intent.object;
    if (std::find(work.freed.begin(), work.freed.end(), id) !=
        work.freed.end()) {
      continue;
    }
    std::byte* copy = nullptr;
    if (intent.kind == IntentKind::kAlloc) {
      copy = undo_copy_->CopyOfNew(id);
    } else if (const auto found = work.copies.find(id);
               found != work.copies.end()) {
      copy = found->second;
    }
    if (copy == nullptr) continue;
    region->CopyFlush(copy + intent.offset,
                      heap_->region()->base() + id + intent.offset,
                      intent.length);
  }
}

void CopiedUndo::PropagateSome(uint64_t sequence, size_t max) {
  const auto due = [&] {
    return !work_.empty() && work_.front().last <= sequence &&
           work_.front().last <= ring_->applied();
  };
  if (!due() || max == 0) return;
  ring_->PersistApplied();  // from here on it is not rolled back
  std::vector<Work> batch;
  while (due() && batch.size() < max) {
    batch.push_back(std::move(work_.front()));
    work_.pop_front();
    CopyChanges(batch.back());
  }
  undo_copy_->region()->Drain();
  mark_.Mark(batch.back().last);
  mark_.region()->Drain();
  mark_.OnDrained();
  for (const Work& work : batch) {
    Unpin(work);
    for (ObjectId id : work.freed) {
      if (!work.copies.contains(id)) undo_copy_->Unpin(id);
    }
    Forget(work);
  }
}

bool CopiedUndo::Propagate(size_t max) {
  PropagateSome(ring_->applied(), max);
  return !work_.empty() && work_.front().last <= ring_->applied();
}

// --- After a restart.

absl::Status RollBackByCopies(Heap* heap, const LogRing& ring,
                              engine::UndoCopy* undo_copy) {
  AppliedMark mark(undo_copy->region(), LocalUndo::kMarkOffset);
  RETURN_IF_ERROR(mark.Open());
  if (mark.end() < ring.cleaned()) {
    return absl::DataLossError(absl::StrCat(
        "the undo copy is damaged: it is up to date with mutation ", mark.end(),
        ", but the ring begins after ", ring.cleaned()));
  }
  absl::flat_hash_set<ObjectId> stale;  // copies that are stale or missing
  WriteSet interrupted;
  for (uint64_t last = std::min(mark.end(), ring.applied());
       last < ring.received();) {
    const LogEntry entry = ring.EntryOf(last + 1);
    last = entry.last();
    ASSIGN_OR_RETURN(const auto write_set, entry.WriteSet());
    if (last > ring.applied()) {
      interrupted.insert(interrupted.end(), write_set.begin(), write_set.end());
      continue;
    }
    for (const Intent& intent : write_set) stale.insert(intent.object);
  }
  ASSIGN_OR_RETURN(const InterruptedBlocks blocks, InterruptedBlocksOf(ring));
  for (const auto& [id, before] : blocks) {
    if (!before.allocated) stale.insert(id);  // it is new
  }
  RETURN_IF_ERROR(RestoreBlocks(blocks, heap));
  for (const Intent& intent : interrupted) {
    if (intent.kind != IntentKind::kWrite || stale.contains(intent.object)) {
      continue;
    }
    const auto payload = heap->Payload(intent.object);
    if (!payload.ok()) continue;  // it did not exist either
    const auto copy = undo_copy->Copy(intent.object);
    if (!copy.ok() || copy->size() != payload->size()) continue;
    heap->region()->CopyFlush(payload->data(), copy->data(), copy->size());
  }
  heap->region()->Drain();
  return absl::OkStatus();
}

}  // namespace kamino::replica
