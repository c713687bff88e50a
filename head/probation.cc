// What a head does about requests that heads may have died of.
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
  // Nobody was head before the first view.
  if (core_->view().id == 1) return;
  probation_until_ = now + options_.probation;
  on_probation_ = true;
}

void Admission::HearSuspect() {
  const auto suspect = core_->TakeSuspect();
  if (!suspect.has_value() || refused_.Has(*suspect)) return;
  engine::HeapReader reader(store_->heap());
  const auto found =
      state_->FindOutcome(reader, suspect->client_id, /*since=*/0);
  if (found.ok() && found->knowledge == StateMachine::Knowledge::kStored &&
      found->outcome.number() >= suspect->number) {
    return;  // it was carried out, and is answered by its outcome
  }
  LOG(WARNING) << "a head died when it was about to execute request "
               << suspect->client_id << "/" << suspect->number
               << "; it is refused from now on";
  refused_.Add(*suspect, core_->next_sequence());
  SubmitRefusal(*suspect);
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
        << "that a request is poisonous, or is not, could not be recorded; "
           "this is tried again: "
        << outcome.status;
    unrecorded_.push_back(request);
  };
  alone_.push_back(std::move(own));
}

void Admission::SubmitUnrecorded() {
  for (const RequestIdentity& request : std::exchange(unrecorded_, {})) {
    SubmitRefusal(request);
  }
}

bool Admission::IsWatched(const Request& request) const {
  if (request.mutation.client_id == 0) return false;
  if (on_probation_) return true;
  return !refused_.empty() &&
         refused_.Watches(replica::IdentityOf(request.mutation));
}

bool Admission::MayBegin(Actions* actions) {
  const Request& next = alone_.empty() ? ready_.front() : alone_.front();
  if (!IsWatched(next)) return true;
  if (!options_.lease_valid()) {
    // It may be about to lose its place, alive: then what it has announced
    // would be taken for what it died of.
    EndAnnouncement(actions);
    awaits_successor_ = true;
    return false;
  }
  announced_ = true;
  if (core_->Announce(replica::IdentityOf(next.mutation), actions)) return true;
  awaits_successor_ = true;
  return false;
}

void Admission::EndAnnouncement(Actions* actions) {
  if (!announced_ || awaits_successor_) return;
  core_->EndAnnouncement(actions);
  announced_ = false;
}

absl::Status Admission::CheckPoison(Transaction& transaction,
                                    const Mutation& mutation) {
  if (refused_.empty() || mutation.client_id == 0) return absl::OkStatus();
  if (!refused_.Refuses(replica::IdentityOf(mutation))) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      auto found,
      state_->FindOutcome(transaction, mutation.client_id, mutation.since));
  // Its outcome tells more, or that it is not known any more.
  if (found.knowledge == StateMachine::Knowledge::kDropped ||
      (found.knowledge == StateMachine::Knowledge::kStored &&
       found.outcome.number() >= mutation.number)) {
    return absl::OkStatus();
  }
  return replica::MakeError(
      kamino::v1::REASON_POISONOUS,
      "heads of the chain died when they executed this request; it was not "
      "carried out, and is not executed again");
}

void Admission::NoteSurvived(const Mutation& mutation) {
  if (refused_.empty() || mutation.client_id == 0) return;
  const RequestIdentity request = replica::IdentityOf(mutation);
  if (!refused_.Watches(request)) return;
  refused_.Pardon(request.digest);
  SubmitRefusal({0, 0, request.digest});
}

}  // namespace kamino::head
