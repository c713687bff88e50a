#include "head/client_clock.h"

namespace kamino::head {

void ClientClock::Touch(uint64_t client_id, absl::Time now) {
  auto found = by_id_.find(client_id);
  if (found != by_id_.end()) {
    found->second->last_heard = now;
    by_age_.splice(by_age_.end(), by_age_, found->second);
    return;
  }
  by_age_.push_back({client_id, now});
  by_id_.emplace(client_id, std::prev(by_age_.end()));
}

void ClientClock::Forget(uint64_t client_id) {
  auto found = by_id_.find(client_id);
  if (found == by_id_.end()) return;
  result_bytes_ -= found->second->result_bytes;
  by_age_.erase(found->second);
  by_id_.erase(found);
}

void ClientClock::SetResultBytes(uint64_t client_id, size_t bytes) {
  auto found = by_id_.find(client_id);
  if (found == by_id_.end()) return;
  size_t& stored = found->second->result_bytes;
  result_bytes_ = result_bytes_ - stored + bytes;
  stored = bytes;
}

size_t ClientClock::ResultBytesOf(uint64_t client_id) const {
  auto found = by_id_.find(client_id);
  return found == by_id_.end() ? 0 : found->second->result_bytes;
}

std::vector<uint64_t> ClientClock::Idle(
    absl::Time now, size_t most,
    absl::FunctionRef<bool(uint64_t client_id)> but) const {
  std::vector<uint64_t> idle;
  for (const Entry& entry : by_age_) {
    if (idle.size() >= most || entry.last_heard + min_idle_ > now) break;
    if (!but(entry.client_id)) idle.push_back(entry.client_id);
  }
  return idle;
}

}  // namespace kamino::head
