// What a node's core does about log entries that a node may have died of.
//
// A node that dies while it executes an entry has it in its ring. Once it is
// back, its predecessor mends it, and nobody executes it again there. But there
// are two who would:
//   - the next node that gets the entry, be it as the successor of the one that
//     came back, or in its place. So what was on its way to a node whose
//     process is gone, or was interrupted there, is flagged when it is sent on:
//     whoever gets it takes over what the sender holds of it;
//   - a node that was interrupted and is head now. It is rolled back by its
//     successor and executes it again (Kamino-Tx, section 5.3), and says so in
//     its record before. If it dies of that, it drops the entry once it is
//     back: nobody behind it can have it, and nobody was answered.
// What was taken over is in flight, as what was interrupted is (invariant 4 of
// replica/chain_core.h): it shares no object with what comes after it. Where
// two entries do share one, the earlier is complete, and was executed.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "glog/logging.h"
#include "replica/chain_core.h"

namespace kamino::replica {

using membership::Member;
using membership::View;

void ChainCore::SuspectEntries(const View& next) {
  const Member* successor = index_ < 0 ? nullptr : view_.Successor(index_);
  if (successor == nullptr) return;
  if (next.IndexOf(successor->node_id, successor->incarnation) >= 0) return;
  NoteDeadly(KnownComplete(), downstream_.sent());
}

uint64_t ChainCore::KnownComplete() const {
  return is_head() ? std::max(completed(), ring_->cleaned()) : ring_->cleaned();
}

void ChainCore::NoteDeadly(uint64_t after, uint64_t last) {
  if (last <= after) return;
  const bool others = deadly_.last > KnownComplete();
  deadly_.after = others ? std::min(deadly_.after, after) : after;
  deadly_.last = others ? std::max(deadly_.last, last) : last;
}

bool ChainCore::IsDeadly(const LogEntry& entry) const {
  return index_ > 0 && deadly_.Has(entry);
}

uint64_t ChainCore::CompleteAsShared() const {
  absl::flat_hash_set<engine::ObjectId> later;
  for (uint64_t last = ring_->received(); last > ring_->applied();) {
    const LogEntry entry = ring_->EntryOf(last);
    const auto write_set = entry.WriteSet();
    if (!write_set.ok()) break;  // nor is it adopted
    for (const engine::Intent& intent : *write_set) {
      if (later.contains(intent.object)) return last;
    }
    for (const engine::Intent& intent : *write_set) {
      later.insert(intent.object);
    }
    last = entry.first() - 1;
  }
  return ring_->applied();
}

void ChainCore::AdoptDeadly(absl::Time now) {
  if (mending_.torn() || dispute_.open() || !upstream_.attached() ||
      ring_->applied() == ring_->received() ||
      !IsDeadly(ring_->EntryOf(ring_->applied() + 1))) {
    return;
  }
  const uint64_t complete = CompleteAsShared();
  if (complete > ring_->applied()) {
    deadly_.after = std::max(deadly_.after, complete);
    return ExecuteReceived();  // the others are adopted with the next batch
  }
  GoOnMended(mending_.Adopt(upstream_.link(), now));
}

void ChainCore::ExecuteAdopted() {
  LOG(INFO) << "mutations (" << ring_->applied() << ", " << ring_->received()
            << "] are complete: the predecessor holds what came of later ones "
               "as well; they are executed here";
  mending_.Forget();
  deadly_ = {};
  ExecuteReceived();
  SendSync(upstream_.link());  // what came meanwhile was not taken in
}

void ChainCore::ExecuteAgain() {
  while (!outbox_.failed() && ring_->applied() < ring_->received()) {
    const LogEntry entry = ring_->EntryOf(ring_->applied() + 1);
    SetRedone(entry.first());
    if (!ExecuteOne(entry)) {
      if (!outbox_.failed()) SetRedone(0);
      return;
    }
    ring_->PersistApplied();
  }
  SetRedone(0);
  AfterApplied();
}

void ChainCore::DropInterrupted() {
  LOG(WARNING) << "this node died when it executed mutation "
               << record_->state().redone
               << " again; what it has received and not executed is dropped, "
                  "up to mutation "
               << ring_->received();
  ring_->TruncateAfter(ring_->applied());
  SetRedone(0);
}

void ChainCore::ForgetInterrupted() {
  mending_.Forget();
  deadly_ = {};
  SetRedone(0);
}

void ChainCore::SetRedone(uint64_t first) {
  NodeState state = record_->state();
  if (state.redone == first) return;
  state.redone = first;
  record_->Update(state);
}

}  // namespace kamino::replica
