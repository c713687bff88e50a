// Queries of a mutation's outcome.
#include "base/status_macros.h"
#include "engine/heap/heap_reader.h"
#include "node/driver/node_reads.h"
#include "replica/errors.h"

namespace kamino::node {

using replica::StateMachine;

namespace {

void Tell(const StateMachine::Lookup& found, uint64_t number,
          kamino::v1::GetOutcomeResponse* response) {
  if (found.knowledge != StateMachine::Knowledge::kStored) {
    response->set_outcome(found.knowledge == StateMachine::Knowledge::kDropped
                              ? kamino::v1::OUTCOME_UNKNOWN
                              : kamino::v1::OUTCOME_NOT_COMMITTED);
    return;
  }
  const uint64_t last = found.outcome.number();
  response->set_last_number(last);
  if (number == last) {
    response->set_outcome(kamino::v1::OUTCOME_COMMITTED);
    response->set_sequence(found.outcome.sequence());
  } else {
    response->set_outcome(number < last ? kamino::v1::OUTCOME_SUPERSEDED
                                        : kamino::v1::OUTCOME_NOT_COMMITTED);
  }
}

// For a session's number, by the place of its outcome.
absl::Status TellOfSession(
    const absl::StatusOr<replica::Sessions::Place>& place,
    kamino::v1::GetOutcomeResponse* response) {
  switch (replica::ReasonOf(place.status())) {
    case kamino::v1::REASON_SESSION_EXPIRED:
      response->set_outcome(kamino::v1::OUTCOME_UNKNOWN);
      return absl::OkStatus();
    case kamino::v1::REASON_SUPERSEDED:
      response->set_outcome(kamino::v1::OUTCOME_SUPERSEDED);
      return absl::OkStatus();
    case kamino::v1::REASON_INVALID_ARGUMENT:  // it is not due yet
      response->set_outcome(kamino::v1::OUTCOME_NOT_COMMITTED);
      return absl::OkStatus();
    default:
      RETURN_IF_ERROR(place.status());
  }
  const bool executed = place->taken.has_value() && !place->taken->voided;
  response->set_outcome(executed ? kamino::v1::OUTCOME_COMMITTED
                                 : kamino::v1::OUTCOME_NOT_COMMITTED);
  if (executed) response->set_sequence(place->taken->sequence);
  return absl::OkStatus();
}

}  // namespace

absl::Status NodeReads::ReadOutcome(const kamino::v1::RequestId& id,
                                    kamino::v1::GetOutcomeResponse* response,
                                    const PrincipalPtr& by) {
  RETURN_IF_ERROR(CheckMayRead());
  const uint64_t applied = context_.core->ring().applied();
  if (id.since() > applied) return replica::SinceIsAhead(id.since(), applied);
  engine::HeapReader reader(context_.storage->heap());
  // Even without such a statement: it may belong to a session.
  RETURN_IF_ERROR(
      context_.state.CheckSessionOwner(reader, id.client_id(), by.get()));
  if (id.in_session()) {
    RETURN_IF_ERROR(TellOfSession(
        context_.state.FindPlace(reader, id.client_id(), id.number()),
        response));
    return CheckMayRead();
  }
  ASSIGN_OR_RETURN(auto found, context_.state.FindOutcome(
                                   reader, id.client_id(), id.since()));
  if (found.knowledge == StateMachine::Knowledge::kNone) {
    // The caller may not know that it was in a session.
    ASSIGN_OR_RETURN(
        const auto taken,
        context_.state.IsTaken(reader, id.client_id(), id.number()));
    if (taken.has_value()) {
      RETURN_IF_ERROR(TellOfSession(
          context_.state.FindPlace(reader, id.client_id(), id.number()),
          response));
      return CheckMayRead();
    }
  }
  Tell(found, id.number(), response);
  return CheckMayRead();
}

}  // namespace kamino::node
