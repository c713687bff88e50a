#include "node/storage/common_age.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "replica/log/applied_mark.h"
#include "replica/log/log_ring.h"

namespace kamino::node {

using membership::Condition;
using replica::LogRing;
using replica::NodeState;

CommonAge::CommonAge(StoredHeap* heap, StoredRing* ring,
                     StoredUndoCopy* undo_copy, uint64_t salt)
    : heap_(heap),
      ring_(ring),
      undo_copy_(undo_copy),
      salt_(salt),
      heap_age_(heap->region(), heap->name()) {}

void CommonAge::Begin() {
  heap_age_.SetStamp(Stamp());
  heap_age_.mark()->Reset(ring_->ring()->applied());
  MarkWithRing();
}

MediaStamp CommonAge::Stamp() const {
  const NodeState& state = ring_->record()->state();
  return {state.incarnation, state.nonce};
}

MediaAge::Ring CommonAge::AgeOfRing() const {
  const LogRing& ring = *ring_->ring();
  return {.name = ring_->name(),
          .stamp = Stamp(),
          .next_nonce = ring_->record()->state().next_nonce,
          .begin = ring.marks().own().begin(),
          .end = ring.marks().own().end(),
          .cleaned = ring.cleaned(),
          .received = ring.received()};
}

absl::Status CommonAge::Check() {
  const NodeState& state = ring_->record()->state();
  LogRing& ring = *ring_->ring();
  // Only its space is used.
  if (state.condition == Condition::kReceiving) {
    heap_age_.mark()->Reset(ring.applied());
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(heap_age_.Check(AgeOfRing()));
  if (state.was_head || state.local_undo) RETURN_IF_ERROR(CheckUndoCopy());
  const uint64_t applied = std::min(ring.applied(), heap_age_.mark()->end());
  if (!ring.EndsEntry(applied)) {
    return absl::DataLossError(
        absl::StrCat(heap_->name(), " says that mutation ", applied,
                     " was the last applied one, which is within an entry of ",
                     ring_->name()));
  }
  // No other node knows of entries that only one region marks: they were not
  // drained. From here on all regions have the same mark: otherwise, after a
  // crash, the marks of a later drain could be too far from this one.
  if (undo_copy_age_.has_value() && undo_copy_age_->mark()->end() != applied) {
    undo_copy_age_->mark()->Reset(applied);
  }
  if (heap_age_.mark()->end() != ring.applied()) {
    heap_age_.mark()->Reset(applied);
    ring.RollBackApplied(applied);
  }
  return absl::OkStatus();
}

// Before anything is rolled back, because a rollback could not be told from an
// old region.
absl::Status CommonAge::CheckUndoCopy() {
  RETURN_IF_ERROR(undo_copy_->Open(*heap_->heap()));
  undo_copy_age_.emplace(undo_copy_->region(), undo_copy_->name());
  RETURN_IF_ERROR(undo_copy_age_->Check(AgeOfRing()));
  return heap_age_.CheckBeside(*undo_copy_age_);
}

void CommonAge::MarkWithRing() {
  std::vector<replica::AppliedMark*> marks = {heap_age_.mark()};
  if (undo_copy_age_.has_value()) marks.push_back(undo_copy_age_->mark());
  ring_->ring()->SetOtherMarks(std::move(marks));
}

void CommonAge::RenewStamp() {
  // An earlier start began to.
  if (ring_->record()->state().next_nonce != 0) FinishRenewal();
  NodeState state = ring_->record()->state();
  state.next_nonce = NextNonce(Stamp(), salt_);
  ring_->record()->Update(state);
  FinishRenewal();
}

void CommonAge::FinishRenewal() {
  NodeState state = ring_->record()->state();
  ++state.incarnation;
  state.nonce = std::exchange(state.next_nonce, 0);
  heap_age_.SetStamp({state.incarnation, state.nonce});
  ring_->record()->Update(state);
}

void CommonAge::AddUndoCopy() {
  undo_copy_age_.emplace(undo_copy_->region(), undo_copy_->name());
  undo_copy_age_->SetStamp(Stamp());
  undo_copy_age_->mark()->Reset(ring_->ring()->applied());
  MarkWithRing();
}

void CommonAge::ForgetUndoCopy() {
  undo_copy_age_.reset();
  MarkWithRing();
}

}  // namespace kamino::node
