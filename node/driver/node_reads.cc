#include "node/driver/node_reads.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/heap/heap_reader.h"
#include "membership/view.h"
#include "replica/errors.h"
#include "replica/state/clean_reader.h"

namespace kamino::node {

using membership::Role;
using replica::MakeError;

absl::Status NodeReads::CheckMayRead(ReadAt at) const {
  if (context_.failed()) return context_.Stopping();
  if (!context_.core->view().formed()) {
    return MakeError(kamino::v1::REASON_RECONFIGURING,
                     "this node knows of no view yet");
  }
  const bool may_be_asked = at == ReadAt::kAnyReplica &&
                            context_.core->place().role() != Role::kOutside;
  if (!context_.core->place().is_tail() && !may_be_asked) {
    return MakeError(
        kamino::v1::REASON_NOT_TAIL,
        absl::StrCat(context_.options.chain.node_id,
                     " is not the tail of view ", context_.core->view().id));
  }
  if (!context_.core->soundness().ready()) {
    return MakeError(kamino::v1::REASON_RECONFIGURING,
                     absl::StrCat(context_.options.chain.node_id,
                                  " may lack what the chain has acknowledged"));
  }
  if (!context_.options.lease_valid(context_.core->view().id)) {
    return MakeError(kamino::v1::REASON_RECONFIGURING,
                     absl::StrCat(context_.options.chain.node_id,
                                  " holds no lease of the manager now"));
  }
  return absl::OkStatus();
}

absl::Status NodeReads::Read(const KeyScope* scope, Reading read, ReadAt at) {
  if (at == ReadAt::kAnyReplica && !context_.core->place().is_tail()) {
    return ReadIfClean(scope, read);
  }
  RETURN_IF_ERROR(CheckMayRead());
  engine::HeapReader reader(context_.storage->heap());
  auto objects = context_.state.Objects(reader, scope);
  absl::Status status = objects.ok() ? read(*objects) : objects.status();
  // If no other node is known to hold the object, the client gets this error.
  // Another node may hold it at the next read.
  if (absl::IsDataLoss(status) &&
      replica::ReasonOf(status) == kamino::v1::REASON_UNSPECIFIED) {
    (void)context_.core->LeaveAsDamaged(status, &context_.pending);
  }
  // The answer counts as of now: no other node can have served in between.
  RETURN_IF_ERROR(CheckMayRead());
  ++stats_.answered;
  return status;
}

absl::Status NodeReads::ReadIfClean(const KeyScope* scope, Reading read) {
  RETURN_IF_ERROR(CheckMayRead(ReadAt::kAnyReplica));
  engine::HeapReader heap(context_.storage->heap());
  replica::CleanReader reader(&heap, &in_flight_);
  absl::Status status =
      MakeError(kamino::v1::REASON_NOT_CLEAN,
                "too many mutations are under way to tell whether the "
                "requested data is clean; ask the tail");
  if (in_flight_.CatchUp()) {
    auto objects = context_.state.Objects(reader, scope);
    status = objects.ok() ? read(*objects) : objects.status();
    if (reader.met_in_flight()) {
      status = MakeError(kamino::v1::REASON_NOT_CLEAN,
                         absl::StrCat("a mutation of the requested data is "
                                      "under way; ask the tail of view ",
                                      context_.core->view().id));
    }
  }
  if (absl::IsDataLoss(status)) {
    // As at the tail, to which the client turns: it may hold the object.
    if (replica::ReasonOf(status) == kamino::v1::REASON_UNSPECIFIED) {
      (void)context_.core->LeaveAsDamaged(status, &context_.pending);
    }
    status = MakeError(kamino::v1::REASON_NOT_CLEAN, status.message());
  }
  // The chain cannot have gone on without this node meanwhile.
  RETURN_IF_ERROR(CheckMayRead(ReadAt::kAnyReplica));
  ++(replica::ReasonOf(status) == kamino::v1::REASON_NOT_CLEAN
         ? stats_.not_clean
         : stats_.clean);
  return status;
}

}  // namespace kamino::node
