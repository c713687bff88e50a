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
  by_age_.erase(found->second);
  by_id_.erase(found);
}

absl::optional<uint64_t> ClientClock::Oldest(absl::Time now) const {
  if (by_age_.empty()) return absl::nullopt;
  const Entry& oldest = by_age_.front();
  if (oldest.last_heard + min_idle_ > now) return absl::nullopt;
  return oldest.client_id;
}

}  // namespace kamino::head
