// The head's handling of requests on which heads may have crashed.
#include <utility>

#include "base/status_macros.h"
#include "engine/heap/heap_reader.h"
#include "glog/logging.h"
#include "head/admission.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/errors.h"

namespace kamino::head {

using engine::Transaction;
using replica::Actions;
using replica::Mutation;
using replica::RequestIdentity;
using replica::StateMachine;

void Admission::BeginProbation(absl::Time now) {
  // There was no head before the first view.
  if (core_->view().id == 1) return;
  // The head before has not crashed.
  if (core_->view().handed_over()) return;
  probation_until_ = now + options_.probation;
  on_probation_ = true;
}

void Admission::HearBlamed() {
  const auto blamed = core_->TakeBlamed();
  if (!blamed.has_value() || refused_.Has(*blamed)) return;
  if (WasCarriedOut(*blamed)) return;  // its outcome answers it
  LOG(WARNING) << "a head died when it was about to execute request "
               << blamed->client_id << "/" << blamed->number
               << "; the request is quarantined";
  refused_.Add(*blamed, core_->next_sequence());
  SubmitRefusal(*blamed);
}

bool Admission::WasCarriedOut(const RequestIdentity& request) {
  engine::HeapReader reader(store_->heap());
  const auto found =
      state_->FindOutcome(reader, request.client_id, /*since=*/0);
  const auto taken = state_->IsTaken(reader, request.client_id, request.number);
  const bool is_client =
      found.ok() && found->knowledge == StateMachine::Knowledge::kStored;
  const bool is_session = taken.ok() && taken->has_value();
  // The blamed id may be a client's or a session's. If it could be either, a
  // request that is refused without need is answered by its outcome.
  if (is_client && found->outcome.number() < request.number) return false;
  if (is_session && !**taken) return false;
  return is_client || is_session;
}

void Admission::SubmitRefusal(const RequestIdentity& request) {
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
        << "a quarantine, or the end of one, could not be recorded; "
           "this is tried again: "
        << outcome.status;
    unrecorded_.push_back(request);
  };
  waiting_.AddAlone(std::move(own));
}

void Admission::SubmitUnrecorded() {
  for (const RequestIdentity& request : std::exchange(unrecorded_, {})) {
    SubmitRefusal(request);
  }
}

const RequestIdentity& Admission::IdentityOf(Request& request) {
  if (!request.identity.has_value()) {
    request.identity = replica::IdentityOf(request.mutation);
    ++counters_.identified;
  }
  return *request.identity;
}

bool Admission::IsWatched(Request& request) {
  const Mutation& mutation = request.mutation;
  if (mutation.client_id == 0) return false;
  if (on_probation_) return true;
  return refused_.Concern(mutation.client_id, mutation.number) &&
         refused_.Watches(IdentityOf(request));
}

bool Admission::IsAnnounced(const Request& request) const {
  return announced_.has_value() &&
         announced_->client_id == request.mutation.client_id &&
         announced_->number == request.mutation.number;
}

bool Admission::MayBegin(Actions* actions) {
  Request& next = waiting_.next();
  if (!IsWatched(next)) return true;
  if (!options_.lease_valid()) {
    // The process may be about to lose its place, alive: then its announcement
    // would be taken for the cause of its death.
    EndAnnouncement(actions);
    awaits_successor_ = true;
    return false;
  }
  announced_ = IdentityOf(next);
  if (core_->Announce(*announced_, actions)) return true;
  awaits_successor_ = true;
  return false;
}

void Admission::EndAnnouncement(Actions* actions) {
  if (!announced_.has_value() || awaits_successor_) return;
  core_->EndAnnouncement(actions);
  announced_.reset();
}

absl::StatusOr<bool> Admission::IsSettled(Transaction& transaction,
                                          const Mutation& mutation) {
  if (mutation.in_session) {
    ASSIGN_OR_RETURN(
        const auto taken,
        state_->IsTaken(transaction, mutation.client_id, mutation.number));
    return taken.value_or(true);
  }
  ASSIGN_OR_RETURN(
      const auto found,
      state_->FindOutcome(transaction, mutation.client_id, mutation.since));
  return found.knowledge == StateMachine::Knowledge::kDropped ||
         (found.knowledge == StateMachine::Knowledge::kStored &&
          found.outcome.number() >= mutation.number);
}

absl::Status Admission::CheckPoison(Transaction& transaction,
                                    Request* request) {
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
      "heads of the chain died when they executed this request; it was not "
      "carried out, and is not executed again");
}

void Admission::NoteSurvived(Request* request) {
  const Mutation& mutation = request->mutation;
  if (mutation.client_id == 0 ||
      !refused_.Concern(mutation.client_id, mutation.number)) {
    return;
  }
  const RequestIdentity& identity = IdentityOf(*request);
  if (!refused_.Watches(identity)) return;
  refused_.Pardon(identity.digest);
  SubmitRefusal({0, 0, identity.digest});
}

}  // namespace kamino::head
