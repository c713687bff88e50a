#include "node/storage/restart_count.h"

#include "absl/strings/str_cat.h"

namespace kamino::node {

using replica::NodeState;

uint64_t RestartCount::Deaths() const {
  const NodeState& state = record_->state();
  if (state.ended_in_order) return 0;
  const bool with_its_machine =
      boot_ != 0 && state.boot != 0 && boot_ != state.boot;
  return uint64_t{state.restarts} + (with_its_machine ? 0 : 1);
}

absl::Status RestartCount::Check(const std::string& node_id,
                                 absl::string_view heap) const {
  const uint64_t deaths = Deaths();
  if (limit_ == 0 || deaths < limit_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "node ", node_id, " has died ", deaths,
      " times, each time soon after its start, and stays down so that the "
      "chain is left alone; its log says what it died of. Start it with "
      "--restart_limit=0 to try once more, or move its files away (",
      heap, "), and it joins as a new node"));
}

void RestartCount::OnStart() {
  NodeState state = record_->state();
  state.restarts = static_cast<uint32_t>(Deaths());
  state.ended_in_order = false;
  state.boot = boot_;
  record_->Update(state);
}

void RestartCount::Forget() {
  NodeState state = record_->state();
  if (state.restarts == 0) return;
  state.restarts = 0;
  record_->Update(state);
}

void RestartCount::OnEndInOrder() {
  NodeState state = record_->state();
  state.ended_in_order = true;
  record_->Update(state);
}

void RestartCount::OnRefused() {
  NodeState state = record_->state();
  // The next start adds one.
  if (state.restarts > 0) {
    --state.restarts;
  } else {
    state.ended_in_order = true;
  }
  record_->Update(state);
}

}  // namespace kamino::node
