#include "engine/baselines/baseline_transaction.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

absl::Status NotFound(ObjectId id) {
  return absl::NotFoundError(absl::StrCat("no object has the id ", id));
}

uint32_t CapacityOf(const HeldObject& held) {
  return static_cast<uint32_t>(held.bytes.size());
}

}  // namespace

// --- Locks.

absl::StatusOr<HeldObject*> BaselineTransaction::Hold(ObjectId id,
                                                      bool exclusive) {
  CHECK(!ended_);
  HeldObject* held = held_.Find(id);
  if (held != nullptr && (held->exclusive || !exclusive)) return held;
  const bool locked =
      exclusive ? locks_->table.LockExclusive(
                      id, owner_, /*upgrade=*/held != nullptr, lock_wait_)
                : locks_->table.LockShared(id, owner_, lock_wait_);
  if (!locked) {
    conflict_ = id;
    return absl::AbortedError(
        absl::StrCat("object ", id, " is locked by another transaction"));
  }
  if (held == nullptr) held = held_.Add(id);
  held->locked = true;
  held->exclusive = exclusive;
  return held;
}

void BaselineTransaction::Unlock(HeldObject& held) {
  if (!held.locked) return;
  held.locked = false;
  if (held.exclusive) {
    locks_->table.UnlockExclusive(held.id, owner_);
  } else {
    locks_->table.UnlockShared(held.id);
  }
}

absl::StatusOr<HeldObject*> BaselineTransaction::HoldLive(ObjectId id,
                                                          bool exclusive) {
  auto held = Hold(id, exclusive);
  if (!held.ok()) return held;
  if ((*held)->freed) return NotFound(id);
  if ((*held)->bytes.empty()) {
    auto bytes = Find(id);
    if (!bytes.ok()) return bytes.status();
    (*held)->bytes = *bytes;
  }
  return held;
}

absl::StatusOr<HeldObject*> BaselineTransaction::HoldRange(ObjectId id,
                                                           uint32_t offset,
                                                           size_t length) {
  auto held = HoldLive(id, /*exclusive=*/true);
  if (!held.ok()) return held;
  const size_t capacity = (*held)->bytes.size();
  if (offset > capacity || length > capacity - offset) {
    return absl::OutOfRangeError(absl::StrCat(
        "bytes [", offset, ", ", offset, " + ", length, ") are not within the ",
        capacity, " bytes of object ", id));
  }
  return held;
}

// --- Reading and declaring.

absl::StatusOr<absl::Span<const std::byte>> BaselineTransaction::Read(
    ObjectId id) {
  Prefetch(id);
  ASSIGN_OR_RETURN(auto held, HoldLive(id, /*exclusive=*/false));
  return Show(*held);
}

absl::StatusOr<std::byte*> BaselineTransaction::Write(ObjectId id,
                                                      uint32_t offset,
                                                      uint32_t length) {
  Prefetch(id);
  ASSIGN_OR_RETURN(auto held, HoldRange(id, offset, length));
  if (held->allocated || length == 0) {
    return held->bytes.data() + offset;
  }
  auto bytes = Noted(DeclareWrite(*held, offset, length));
  if (bytes.ok()) write_set_.push_back({id, offset, length});
  return bytes;
}

absl::Status BaselineTransaction::Declare(absl::Span<const Intent> intents) {
  RETURN_IF_ERROR(CheckWritesOnly(intents));
  WriteSet writes;
  for (const Intent& intent : intents) {
    Prefetch(intent.object);
    ASSIGN_OR_RETURN(auto held,
                     HoldRange(intent.object, intent.offset, intent.length));
    if (!held->allocated && intent.length > 0) writes.push_back(intent);
  }
  RETURN_IF_ERROR(Noted(DeclareWrites(writes)));
  write_set_.insert(write_set_.end(), writes.begin(), writes.end());
  return absl::OkStatus();
}

absl::Status BaselineTransaction::DeclareWrites(
    absl::Span<const Intent> writes) {
  for (const Intent& write : writes) {
    RETURN_IF_ERROR(
        DeclareWrite(*held_.Find(write.object), write.offset, write.length)
            .status());
  }
  return absl::OkStatus();
}

absl::Status BaselineTransaction::Overwrite(ObjectId id, uint32_t offset,
                                            absl::Span<const std::byte> bytes) {
  Prefetch(id);
  ASSIGN_OR_RETURN(auto held, HoldRange(id, offset, bytes.size()));
  if (bytes.empty()) return absl::OkStatus();
  if (held->allocated) {
    std::memcpy(held->bytes.data() + offset, bytes.data(), bytes.size());
    return absl::OkStatus();
  }
  absl::Status put = Noted(Put(*held, offset, bytes));
  if (put.ok()) {
    write_set_.push_back({id, offset, static_cast<uint32_t>(bytes.size())});
  }
  return put;
}

absl::Status BaselineTransaction::Put(HeldObject& held, uint32_t offset,
                                      absl::Span<const std::byte> bytes) {
  ASSIGN_OR_RETURN(
      auto target,
      DeclareWrite(held, offset, static_cast<uint32_t>(bytes.size())));
  std::memcpy(target, bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::StatusOr<ObjectId> BaselineTransaction::Alloc(uint32_t size) {
  CHECK(!ended_);
  if (size == 0 || size > kMaxObjectBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("an object of ", size, " bytes; 1 to ", kMaxObjectBytes));
  }
  ASSIGN_OR_RETURN(auto taken, Take(size));
  // Another transaction may ask for a former object of that id, and hold its
  // lock.
  auto held = Hold(taken.id, /*exclusive=*/true);
  if (!held.ok()) {
    PutBack(taken.id);
    return held.status();
  }
  (*held)->bytes = taken.bytes;
  (*held)->allocated = true;
  RETURN_IF_ERROR(Noted(DeclareAlloc(**held)));
  write_set_.push_back({taken.id, 0, CapacityOf(**held), IntentKind::kAlloc});
  return taken.id;
}

absl::Status BaselineTransaction::Free(ObjectId id) {
  CHECK(!ended_);
  RETURN_IF_ERROR(CheckNotRoot(id, root()));
  ASSIGN_OR_RETURN(auto held, HoldLive(id, /*exclusive=*/true));
  RETURN_IF_ERROR(Noted(DeclareFree(*held)));
  held->freed = true;
  write_set_.push_back({id, 0, CapacityOf(*held), IntentKind::kFree});
  return absl::OkStatus();
}

// --- The end.

absl::Status BaselineTransaction::Commit(const CommitOptions& options) {
  CHECK(!ended_);
  absl::Status done = failed_;
  if (done.ok() && options.hold_locks) {
    done = absl::UnimplementedError("this scheme does not hold locks");
  }
  if (done.ok()) done = MakeDurable(options);
  if (!done.ok()) {
    absl::Status aborted = Abort();
    return aborted.ok() ? done : aborted;
  }
  End(/*committed=*/true);
  return absl::OkStatus();
}

absl::Status BaselineTransaction::Abort() {
  CHECK(!ended_);
  // On an error the objects stay locked: no transaction may build on them.
  absl::Status done = RollBack();
  if (done.ok()) {
    End(/*committed=*/false);
  } else {
    ended_ = true;
  }
  return done;
}

void BaselineTransaction::End(bool committed) {
  ended_ = true;
  for (HeldObject& held : held_) Unlock(held);
  ReleaseSpace(committed);
}

void BaselineTransaction::AbortIfLive() {
  if (ended_) return;
  absl::Status aborted = Abort();
  LOG_IF(ERROR, !aborted.ok()) << "abort failed: " << aborted;
}

}  // namespace kamino::engine
