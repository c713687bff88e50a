#include "replica/log/quarantined_entries.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace kamino::replica {

void QuarantinedEntries::Note(uint64_t after, uint64_t last,
                              uint64_t complete) {
  // Later entries have changed a neighbour's state of their objects, too.
  if (RollsBackAlone(mode_)) return;
  if (last <= after) return;
  const bool others = range_.last > complete;
  range_.after = others ? std::min(range_.after, after) : after;
  range_.last = others ? std::max(range_.last, last) : last;
}

bool QuarantinedEntries::Has(const LogEntry& entry) const {
  return range_.Has(entry);
}

QuarantinedRange QuarantinedEntries::Beyond(uint64_t complete) const {
  return {std::max(range_.after, complete), range_.last};
}

uint64_t QuarantinedEntries::CompleteAsShared() const {
  absl::flat_hash_set<engine::ObjectId> later;
  for (uint64_t last = ring_->received(); last > ring_->applied();) {
    const LogEntry entry = ring_->EntryOf(last);
    const auto write_set = entry.WriteSet();
    if (!write_set.ok()) break;  // it is not adopted either
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

void QuarantinedEntries::Pass(uint64_t complete) {
  range_.after = std::max(range_.after, complete);
}

void QuarantinedEntries::OnComplete(uint64_t complete) {
  if (complete >= range_.last) Forget();
}

void QuarantinedEntries::SetRedone(uint64_t first) {
  NodeState state = record_->state();
  if (state.redone == first) return;
  state.redone = first;
  record_->Update(state);
}

}  // namespace kamino::replica
