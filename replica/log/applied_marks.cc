#include "replica/log/applied_marks.h"

#include <algorithm>
#include <utility>

namespace kamino::replica {

void AppliedMarks::SetOthers(std::vector<AppliedMark*> marks) {
  Persist();
  others_ = std::move(marks);
  one_drain_ = std::all_of(
      others_.begin(), others_.end(), [this](const AppliedMark* mark) {
        return region_->DrainsAll() && mark->region()->DrainsAll();
      });
}

void AppliedMarks::Mark(uint64_t sequence) {
  own_.Mark(sequence);
  for (AppliedMark* mark : others_) mark->Mark(sequence);
  durable_ = false;
}

void AppliedMarks::Reset(uint64_t sequence) {
  own_.Reset(sequence);
  for (AppliedMark* mark : others_) mark->Reset(sequence);
  durable_ = true;
}

void AppliedMarks::Persist() {
  if (durable_) return;
  region_->Drain();
  if (!one_drain_) {
    for (AppliedMark* mark : others_) mark->region()->Drain();
  }
  OnDrained();
}

void AppliedMarks::OnDrained() {
  if (durable_) return;
  own_.OnDrained();
  for (AppliedMark* mark : others_) mark->OnDrained();
  durable_ = true;
}

}  // namespace kamino::replica
