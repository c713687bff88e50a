#include "lab/archapt/lost_objects.h"

namespace kamino::engine {

void LostObjects::Add(const ArchaptRecovery::Lost& lost) {
  MutexLock lock(&mutex_);
  places_[lost.id] = {lost.slot, lost.column};
  columns_[lost.slot] |= uint64_t{1} << lost.column;
  any_ = true;
}

bool LostObjects::Has(ObjectId id) const {
  if (!any_.load(std::memory_order_relaxed)) return false;
  MutexLock lock(&mutex_);
  return places_.contains(id);
}

bool LostObjects::IsSaidBy(size_t slot) const {
  MutexLock lock(&mutex_);
  return columns_.contains(slot);
}

std::optional<std::vector<size_t>> LostObjects::Forget(
    absl::Span<const ObjectId> freed) {
  if (!any_.load(std::memory_order_relaxed)) return std::nullopt;
  MutexLock lock(&mutex_);
  std::optional<std::vector<size_t>> free_slots;
  for (ObjectId id : freed) {
    const auto found = places_.find(id);
    if (found == places_.end()) continue;
    if (!free_slots.has_value()) free_slots.emplace();
    const auto [slot, column] = found->second;
    uint64_t& columns = columns_[slot];
    columns &= ~(uint64_t{1} << column);
    table_.SetLost(slot, columns);
    if (columns == 0) {
      columns_.erase(slot);
      free_slots->push_back(slot);
    }
    places_.erase(found);
  }
  any_ = !places_.empty();
  return free_slots;
}

}  // namespace kamino::engine
