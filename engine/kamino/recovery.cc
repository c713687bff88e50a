// How recovery decides the state of an object.
//
// Let T be the last transaction in the log that names an object O. A later
// transaction could lock O only when T was completely in the undo copy; so T's
// effects may be incomplete only if T is the last one for all its objects, and
// earlier transactions do not matter:
//   - T's checksum is right: T has committed and its bytes are in the heap.
//     They stay, and are copied to the undo copy. The rest of O is taken from
//     the undo copy: an unfinished transaction may have stored there.
//   - It is wrong: T did not commit, or it did, is in the undo copy, and an
//     unfinished transaction has overwritten its bytes. In both cases O is
//     taken from the undo copy.
// An unfinished transaction has an intent for every object it stored to, so
// only objects with an intent need to be examined.
//
// Whether T had committed in the second case shows afterwards: if it had, its
// objects have its result, or its blocks are gone, which its locks would have
// prevented.
#include "engine/kamino/recovery.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/explore.h"
#include "engine/kamino/checksum.h"
#include "engine/kamino/undo_log.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

using commit_log_format::Entry;
using commit_log_format::kDataFirst;
using commit_log_format::kKindMask;

ObjectId ObjectOf(const Entry& entry) { return entry.object_kind & ~kKindMask; }
IntentKind KindOf(const Entry& entry) {
  return static_cast<IntentKind>(entry.object_kind & kKindMask);
}

class Recovery {
 public:
  Recovery(Heap* heap, UndoCopy* undo_copy, CommitLog* log,
           StickyIntents* sticky)
      : heap_(heap), undo_copy_(undo_copy), log_(log), sticky_(sticky) {}

  absl::StatusOr<uint64_t> Run(
      const std::function<absl::Status(uint64_t)>& tell);

 private:
  // Loads the blocks that log and intents name, from media.
  absl::Status LoadHeap();
  bool LastForAll(const CommitRecord& record) const;
  // Whether everything that the record names matches it.
  bool Matches(const CommitRecord& record) const;
  // Whether its locks were released: a block it names is another one by now.
  bool WasDone(const CommitRecord& record) const;
  std::optional<uint64_t> ChecksumOf(
      const Entry& entry, const absl::flat_hash_set<ObjectId>& freed) const;
  void Complete(const CommitRecord& record);
  void CopyToUndoCopy(ObjectId id, bool is_new, uint32_t offset,
                      uint32_t length);
  absl::Status Restore(ObjectId id);

  const std::byte* At(ObjectId id) const {
    return heap_->region()->base() + id;
  }
  void Mark(ObjectId id, bool allocated);

  Heap* const heap_;
  UndoCopy* const undo_copy_;
  CommitLog* const log_;
  StickyIntents* const sticky_;

  std::vector<CommitRecord> records_;
  std::vector<ObjectId> suspects_;  // objects with an intent
  Heap::Blocks blocks_;
  absl::flat_hash_map<ObjectId, uint64_t> last_;  // position, by object
  bool marked_ = false;  // states of blocks have changed
};

absl::Status Recovery::LoadHeap() {
  std::vector<ObjectId> wanted = suspects_;
  for (const CommitRecord& record : records_) {
    for (const Entry& entry : record.entries) {
      wanted.push_back(ObjectOf(entry));
      last_[ObjectOf(entry)] = record.position;
    }
  }
  std::sort(wanted.begin(), wanted.end());
  ASSIGN_OR_RETURN(blocks_, heap_->Load(wanted));
  return absl::OkStatus();
}

bool Recovery::LastForAll(const CommitRecord& record) const {
  for (const Entry& entry : record.entries) {
    if (last_.at(ObjectOf(entry)) != record.position) return false;
  }
  return true;
}

std::optional<uint64_t> Recovery::ChecksumOf(
    const Entry& entry, const absl::flat_hash_set<ObjectId>& freed) const {
  const ObjectId id = ObjectOf(entry);
  const auto block = blocks_.find(id);
  if (block == blocks_.end()) return std::nullopt;
  const Heap::Block& there = block->second;
  const bool whole = entry.length == there.capacity;
  switch (KindOf(entry)) {
    case IntentKind::kFree:
      if (!whole) return std::nullopt;
      return 0;
    case IntentKind::kAlloc: {
      if (!whole || entry.offset > there.capacity) return std::nullopt;
      if (freed.contains(id)) return 0;
      const std::byte* rest = At(id) + entry.offset;
      const std::byte* end = At(id) + there.capacity;
      if (std::any_of(rest, end,
                      [](std::byte b) { return b != std::byte{}; })) {
        return std::nullopt;
      }
      return XXH3_64bits(At(id), entry.offset);
    }
    case IntentKind::kWrite:
      if (freed.contains(id)) return 0;
      if (!there.allocated || entry.offset > there.capacity ||
          entry.length > there.capacity - entry.offset) {
        return std::nullopt;
      }
      return XXH3_64bits(At(id) + entry.offset, entry.length);
  }
  return std::nullopt;
}

bool Recovery::Matches(const CommitRecord& record) const {
  absl::flat_hash_set<ObjectId> freed;
  for (const Entry& entry : record.entries) {
    if (KindOf(entry) == IntentKind::kFree) freed.insert(ObjectOf(entry));
  }
  uint64_t data = 0;
  for (const Entry& entry : record.entries) {
    const auto hash = ChecksumOf(entry, freed);
    if (!hash.has_value()) return false;
    if (!freed.contains(ObjectOf(entry))) data = FoldHash(data, *hash);
  }
  return data == record.data;
}

bool Recovery::WasDone(const CommitRecord& record) const {
  for (const Entry& entry : record.entries) {
    const auto block = blocks_.find(ObjectOf(entry));
    if (block == blocks_.end()) return true;
    const uint32_t capacity = block->second.capacity;
    if (KindOf(entry) == IntentKind::kWrite
            ? entry.offset > capacity || entry.length > capacity - entry.offset
            : entry.length != capacity) {
      return true;
    }
  }
  return false;
}

void Recovery::Mark(ObjectId id, bool allocated) {
  Heap::Block& block = blocks_[id];
  if (block.allocated == allocated) return;
  block.allocated = allocated;
  marked_ = true;
  if (allocated) {
    heap_->states().MarkAllocated(id);
  } else {
    heap_->states().MarkFree(id);
  }
}

void Recovery::Complete(const CommitRecord& record) {
  absl::flat_hash_set<ObjectId> freed;
  for (const Entry& entry : record.entries) {
    if (KindOf(entry) == IntentKind::kFree) freed.insert(ObjectOf(entry));
  }
  for (ObjectId id : freed) {
    Mark(id, false);
    undo_copy_->Drop(id);
  }
  for (const Entry& entry : record.entries) {
    const ObjectId id = ObjectOf(entry);
    if (freed.contains(id)) continue;
    const bool is_new = KindOf(entry) == IntentKind::kAlloc;
    if (is_new) Mark(id, true);
    CopyToUndoCopy(id, is_new, is_new ? 0 : entry.offset, entry.length);
  }
}

void Recovery::CopyToUndoCopy(ObjectId id, bool is_new, uint32_t offset,
                              uint32_t length) {
  std::byte* copy = nullptr;
  if (is_new) {
    copy = undo_copy_->CopyOfNew(id);
  } else if (auto there = undo_copy_->Copy(id); there.ok()) {
    copy = there->data();
  }
  if (copy == nullptr) return;
  undo_copy_->region()->CopyFlush(copy + offset, At(id) + offset, length);
}

absl::Status Recovery::Restore(ObjectId id) {
  const auto block = blocks_.find(id);
  // Freed, but its intent still exists.
  if (block == blocks_.end() || !block->second.allocated) {
    Reached(Branch::kRestoredFreed);
    return absl::OkStatus();
  }
  auto copy = undo_copy_->Copy(id);
  if (!copy.ok()) return copy.status();
  const uint32_t capacity = block->second.capacity;
  if (copy->size() != capacity) {
    return absl::DataLossError(
        absl::StrCat("the undo copy is damaged: its copy of object ", id,
                     " has ", copy->size(), " bytes, the object ", capacity));
  }
  const bool differs = std::memcmp(At(id), copy->data(), capacity) != 0;
  Reached(differs ? Branch::kRestoredObject : Branch::kRestoredNothing);
  if (differs) {
    heap_->region()->CopyFlush(heap_->region()->base() + id, copy->data(),
                               capacity);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Recovery::Run(
    const std::function<absl::Status(uint64_t)>& tell) {
  records_ = log_->Scan();
  suspects_ = sticky_->Scan();
  RETURN_IF_ERROR(LoadHeap());
  uint64_t last_sequence = log_->last_sequence();
  std::vector<const CommitRecord*> completed;
  std::vector<const CommitRecord*> in_doubt;
  for (const CommitRecord& record : records_) {
    const bool last = LastForAll(record);
    const bool matches = last && Matches(record);
    Reached(!last     ? Branch::kRecordOld
            : matches ? Branch::kRecordMatches
                      : Branch::kRecordInDoubt);
    if (matches) {
      Complete(record);
      completed.push_back(&record);
    }
    if (!last || matches || (record.flags & kDataFirst) != 0) {
      last_sequence = std::max(last_sequence, record.sequence);
    } else {
      in_doubt.push_back(&record);
    }
  }
  if (UndoLog* const undo_log = undo_copy_->undo_log()) {
    // A saved range for a number shows that all numbers before had committed,
    // as does reused space. So only the transactions that must be rolled back
    // are in doubt.
    last_sequence =
        std::max(last_sequence, undo_log->newest() -
                                    std::min<uint64_t>(1, undo_log->newest()));
    for (const CommitRecord* record : in_doubt) {
      if (!WasDone(*record)) continue;
      last_sequence = std::max(last_sequence, record->sequence);
    }
    undo_log->RollBack(last_sequence);
    in_doubt.clear();
  }
  for (ObjectId id : suspects_) {
    RETURN_IF_ERROR(Restore(id));
  }
  for (const CommitRecord* record : in_doubt) {
    if (record->sequence <= last_sequence) continue;
    if (!WasDone(*record)) {
      if (!Matches(*record)) continue;
      Reached(Branch::kRecordMatchesAfterwards);
    }
    last_sequence = record->sequence;
  }
  undo_copy_->region()->Drain();
  heap_->region()->Drain();
  if (tell) {
    RETURN_IF_ERROR(tell(last_sequence));
  }
  for (const CommitRecord* record : completed) {
    for (const Entry& entry : record->entries) {
      if (KindOf(entry) == IntentKind::kFree)
        undo_copy_->Unpin(ObjectOf(entry));
    }
  }
  sticky_->Reset();
  log_->Reset(last_sequence);
  // Only now, because it may be the proof of what is committed.
  if (UndoLog* const undo_log = undo_copy_->undo_log()) undo_log->Forget();
  if (marked_) {
    RETURN_IF_ERROR(heap_->Load());
  }
  return last_sequence;
}

}  // namespace

absl::StatusOr<uint64_t> RecoverHeap(
    Heap* heap, UndoCopy* undo_copy, CommitLog* log, StickyIntents* sticky,
    const std::function<absl::Status(uint64_t)>& tell) {
  return Recovery(heap, undo_copy, log, sticky).Run(tell);
}

}  // namespace kamino::engine
