#include "head/quarantine.h"

#include <utility>

#include "base/status_macros.h"
#include "engine/heap/heap_reader.h"
#include "glog/logging.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/errors.h"

namespace kamino::head {

using engine::Transaction;
using replica::Actions;
using replica::Mutation;
using replica::RequestIdentity;
using replica::StateMachine;

Quarantine::Quarantine(HeadContext* context) : context_(context) {}

absl::Status Quarantine::Load(engine::Reader& reader, absl::Time now) {
  ASSIGN_OR_RETURN(refused_, context_->state->Refused(reader));
  BeginProbation(now);
  return absl::OkStatus();
}

void Quarantine::BeginTurn(absl::Time now, bool executes) {
  awaits_successor_ = false;
  on_probation_ = now < probation_until_;
  if (executes) HearSuspected();
}

void Quarantine::BeginProbation(absl::Time now) {
  // There was no head before the first view.
  if (context_->core->view().id == 1) return;
  // The head before has not crashed.
  if (context_->core->view().handed_over()) return;
  probation_until_ = now + context_->options.probation;
  on_probation_ = true;
}

void Quarantine::HearSuspected() {
  const auto request = context_->core->TakeQuarantined();
  if (!request.has_value() || refused_.Has(*request)) return;
  if (WasCarriedOut(*request)) return;  // its outcome answers it
  LOG(WARNING) << "a head died when it was about to execute request "
               << request->client_id << "/" << request->number
               << "; the request is quarantined";
  refused_.Add(*request, context_->core->next_sequence());
  SubmitRefusal(*request);
}

bool Quarantine::WasCarriedOut(const RequestIdentity& request) {
  engine::HeapReader reader(context_->store->heap());
  const auto found =
      context_->state->FindOutcome(reader, request.client_id, /*since=*/0);
  const auto taken =
      context_->state->IsTaken(reader, request.client_id, request.number);
  const bool is_client =
      found.ok() && found->knowledge == StateMachine::Knowledge::kStored;
  const bool is_session = taken.ok() && taken->has_value();
  // The id may be a client's or a session's. If it could be either, a
  // request that is refused without need is answered by its outcome.
  if (is_client && found->outcome.number() < request.number) return false;
  if (is_session && !**taken) return false;
  return is_client || is_session;
}

void Quarantine::SubmitRefusal(const RequestIdentity& request) {
  kamino::internal::v1::RefuseRequest refusal;
  refusal.set_client_id(request.client_id);
  refusal.set_number(request.number);
  refusal.set_digest(request.digest);
  Request own;
  own.mutation.function = replica::kRefuseFunction;
  own.mutation.arguments = refusal.SerializeAsString();
  own.done = [this, request](const RequestOutcome& outcome) {
    if (outcome.status.ok()) return;
    LOG_EVERY_N(WARNING, 100)
        << "failed to record a quarantined request, or the end of its "
           "quarantine; retrying: "
        << outcome.status;
    unrecorded_.push_back(request);
  };
  context_->waiting.AddAlone(std::move(own));
}

void Quarantine::SubmitUnrecorded() {
  for (const RequestIdentity& request : std::exchange(unrecorded_, {})) {
    SubmitRefusal(request);
  }
}

const RequestIdentity& Quarantine::IdentityOf(Request& request) {
  if (!request.identity.has_value()) {
    request.identity = replica::IdentityOf(request.mutation);
    ++context_->counters.identified;
  }
  return *request.identity;
}

bool Quarantine::IsWatched(Request& request) {
  const Mutation& mutation = request.mutation;
  if (mutation.client_id == 0) return false;
  if (on_probation_) return true;
  return refused_.Concern(mutation.client_id, mutation.number) &&
         refused_.Watches(IdentityOf(request));
}

bool Quarantine::IsAnnounced(const Request& request) const {
  return announced_.has_value() &&
         announced_->client_id == request.mutation.client_id &&
         announced_->number == request.mutation.number;
}

bool Quarantine::MayBegin(Request& next, Actions* actions) {
  if (!IsWatched(next)) return true;
  if (!context_->options.lease_valid()) {
    // The process may be about to lose its place, alive: then its announcement
    // would be taken for the cause of its death.
    EndAnnouncement(actions);
    awaits_successor_ = true;
    return false;
  }
  announced_ = IdentityOf(next);
  if (context_->core->Announce(*announced_, actions)) return true;
  awaits_successor_ = true;
  return false;
}

void Quarantine::EndAnnouncement(Actions* actions) {
  if (!announced_.has_value() || awaits_successor_) return;
  context_->core->EndAnnouncement(actions);
  announced_.reset();
}

absl::StatusOr<bool> Quarantine::IsSettled(Transaction& transaction,
                                           const Mutation& mutation) {
  if (mutation.in_session) {
    ASSIGN_OR_RETURN(const auto taken,
                     context_->state->IsTaken(transaction, mutation.client_id,
                                              mutation.number));
    return taken.value_or(true);
  }
  ASSIGN_OR_RETURN(const auto found,
                   context_->state->FindOutcome(transaction, mutation.client_id,
                                                mutation.since));
  return found.knowledge == StateMachine::Knowledge::kDropped ||
         (found.knowledge == StateMachine::Knowledge::kStored &&
          found.outcome.number() >= mutation.number);
}

absl::Status Quarantine::Check(Transaction& transaction, Request* request) {
  const Mutation& mutation = request->mutation;
  if (mutation.client_id == 0 ||
      !refused_.Concern(mutation.client_id, mutation.number) ||
      !refused_.Refuses(IdentityOf(*request))) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const bool settled, IsSettled(transaction, mutation));
  if (settled) return absl::OkStatus();
  return replica::MakeError(
      kamino::v1::REASON_POISONOUS,
      "heads of the chain died, or did not answer for the failure timeout, "
      "when "
      "they executed this request; it was not carried out, and is not executed "
      "again under any number. If the heads' logs show no crash, split it into "
      "smaller requests");
}

void Quarantine::NoteSurvived(Request* request) {
  const Mutation& mutation = request->mutation;
  if (mutation.client_id == 0 ||
      !refused_.Concern(mutation.client_id, mutation.number)) {
    return;
  }
  const RequestIdentity& identity = IdentityOf(*request);
  if (!refused_.Watches(identity)) return;
  refused_.Clear(identity.digest);
  SubmitRefusal({0, 0, identity.digest});
}

}  // namespace kamino::head
