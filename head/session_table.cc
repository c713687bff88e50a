#include "head/session_table.h"

#include <algorithm>

namespace kamino::head {

absl::Time SessionTable::Advance(absl::Time now) {
  if (last_call_ != absl::InfinitePast() && now - last_call_ > longest_pause_) {
    stood_still_ += now - last_call_;
  }
  last_call_ = std::max(last_call_, now);
  return last_call_ - stood_still_;
}

absl::Time SessionTable::DueAt(const Entry& entry) const {
  if (entry.info.epoch != epoch_) return absl::InfinitePast();
  return entry.last_heard + entry.info.lease;
}

void SessionTable::Queue(uint64_t id, Entry* entry, absl::Time at) {
  due_.erase({entry->queued, id});
  entry->queued = at;
  due_.insert({at, id});
}

void SessionTable::SetEpoch(uint64_t epoch) {
  if (epoch == epoch_) return;
  epoch_ = epoch;
  for (auto& [id, entry] : by_id_) Queue(id, &entry, DueAt(entry));
}

void SessionTable::Add(const SessionInfo& session, size_t result_bytes,
                       absl::Time now) {
  const auto [at, added] = by_id_.try_emplace(session.id);
  if (!added) return;
  Entry& entry = at->second;
  entry.info = session;
  entry.last_heard = Advance(now);
  entry.result_bytes = result_bytes;
  entry.queued = DueAt(entry);
  due_.insert({entry.queued, session.id});
  slots_ += session.window;
  if (!session.owner.empty()) {
    Share& share = shares_[session.owner];
    ++share.sessions;
    share.slots += session.window;
  }
  result_bytes_ += result_bytes;
}

void SessionTable::Remove(uint64_t id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  const Entry& entry = found->second;
  due_.erase({entry.queued, id});
  slots_ -= entry.info.window;
  const auto share = shares_.find(entry.info.owner);
  if (share != shares_.end()) {
    share->second.slots -= entry.info.window;
    if (--share->second.sessions == 0) shares_.erase(share);
  }
  result_bytes_ -= entry.result_bytes;
  by_id_.erase(found);
}

SessionTable::Share SessionTable::ShareOf(const std::string& owner) const {
  const auto found = shares_.find(owner);
  return found == shares_.end() ? Share() : found->second;
}

void SessionTable::Hear(uint64_t id, absl::Time now) {
  const absl::Time heard = Advance(now);
  const auto found = by_id_.find(id);
  if (found != by_id_.end()) found->second.last_heard = heard;
}

const SessionInfo* SessionTable::Find(uint64_t id) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end() || found->second.info.epoch != epoch_) {
    return nullptr;
  }
  return &found->second.info;
}

void SessionTable::AddResultBytes(uint64_t id, size_t more, size_t less) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  found->second.result_bytes += more - less;
  result_bytes_ += more - less;
}

std::vector<uint64_t> SessionTable::Due(absl::Time now, size_t most,
                                        uint64_t most_slots) {
  const absl::Time time = Advance(now);
  std::vector<uint64_t> due;
  uint64_t slots = 0;
  for (auto at = due_.begin(); at != due_.end() && at->first <= time;) {
    const uint64_t id = at->second;
    Entry& entry = by_id_.at(id);
    ++at;
    const absl::Time due_at = DueAt(entry);
    if (due_at > time) {
      Queue(id, &entry, due_at);  // it was active meanwhile
      continue;
    }
    slots += entry.info.window;
    if (!due.empty() && (due.size() >= most || slots > most_slots)) break;
    due.push_back(id);
  }
  return due;
}

}  // namespace kamino::head
