#include "engine/baselines/log_slot.h"

#include "engine/resource_error.h"

namespace kamino::engine {

absl::Status LogSlot::Append(const Intent& intent, const std::byte* bytes) {
  if (!slot_.has_value()) {
    slot_ = log_->Acquire();
    if (!slot_.has_value()) {
      return ResourceError(Resource::kLog,
                           "as many transactions as the log has slots are "
                           "unfinished");
    }
  }
  return log_->Append(*slot_, intent, bytes);
}

void LogSlot::Retire() {
  if (!slot_.has_value()) return;
  log_->Retire(*slot_);
  region_->Drain();
  log_->Recycle(*slot_);
  slot_.reset();
}

}  // namespace kamino::engine
