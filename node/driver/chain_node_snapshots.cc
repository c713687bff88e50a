// Access to snapshots of a node's heap.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "node/driver/chain_node.h"
#include "replica/errors.h"

namespace kamino::node {

using replica::MakeError;

absl::StatusOr<ChainNode::OpenedSnapshot> ChainNode::OpenSnapshot(
    bool while_restoring) {
  RETURN_IF_ERROR(CheckMayRead());
  const uint64_t sequence = core_.ring().applied();
  auto snapshot = snapshots_.Open(sequence);
  if (!snapshot.ok()) {
    return MakeError(kamino::v1::REASON_OVERLOADED,
                     snapshot.status().message());
  }
  RETURN_IF_ERROR(
      state_.Objects(**snapshot, nullptr, while_restoring).status());
  const uint64_t id = ++last_snapshot_;
  held_snapshots_.emplace(id, *std::move(snapshot));
  return OpenedSnapshot{id, sequence};
}

absl::Status ChainNode::ReadSnapshot(const KeyScope* scope, uint64_t id,
                                     Reading read) {
  if (failed()) return Failed();
  const auto found = held_snapshots_.find(id);
  if (found == held_snapshots_.end()) {
    return absl::NotFoundError(absl::StrCat("no snapshot ", id, " is open"));
  }
  engine::Snapshot& snapshot = *found->second;
  RETURN_IF_ERROR(snapshot.status());
  auto objects = state_.Objects(snapshot, scope, /*while_restoring=*/true);
  absl::Status status = objects.ok() ? read(*objects) : objects.status();
  if (absl::IsDataLoss(status) &&
      replica::ReasonOf(status) == kamino::v1::REASON_UNSPECIFIED) {
    (void)core_.LeaveAsDamaged(status, &pending_);
  }
  return status;
}

void ChainNode::ForgetHeap() {
  state_.Forget();
  snapshots_.EndAll("this node receives the chain's heap anew");
}

void ChainNode::CloseSnapshot(uint64_t id) { held_snapshots_.erase(id); }

}  // namespace kamino::node
