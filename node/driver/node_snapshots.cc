#include "node/driver/node_snapshots.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "replica/errors.h"

namespace kamino::node {

using replica::MakeError;

absl::StatusOr<NodeSnapshots::Opened> NodeSnapshots::Open(
    bool while_restoring) {
  RETURN_IF_ERROR(reads_.CheckMayRead());
  const uint64_t sequence = context_.core->ring().applied();
  auto snapshot = context_.snapshots.Open(sequence);
  if (!snapshot.ok()) {
    return MakeError(kamino::v1::REASON_OVERLOADED,
                     snapshot.status().message());
  }
  RETURN_IF_ERROR(
      context_.state.Objects(**snapshot, nullptr, while_restoring).status());
  const uint64_t id = ++last_;
  held_.emplace(id, *std::move(snapshot));
  return Opened{id, sequence};
}

absl::Status NodeSnapshots::Read(const KeyScope* scope, uint64_t id,
                                 Reading read) {
  if (context_.failed()) return context_.Stopping();
  const auto found = held_.find(id);
  if (found == held_.end()) {
    return absl::NotFoundError(absl::StrCat("no snapshot ", id, " is open"));
  }
  engine::Snapshot& snapshot = *found->second;
  RETURN_IF_ERROR(snapshot.status());
  auto objects =
      context_.state.Objects(snapshot, scope, /*while_restoring=*/true);
  absl::Status status = objects.ok() ? read(*objects) : objects.status();
  if (absl::IsDataLoss(status) &&
      replica::ReasonOf(status) == kamino::v1::REASON_UNSPECIFIED) {
    (void)context_.core->LeaveAsDamaged(status, &context_.pending);
  }
  return status;
}

void NodeSnapshots::Close(uint64_t id) { held_.erase(id); }

}  // namespace kamino::node
