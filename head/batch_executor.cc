#include "head/batch_executor.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "engine/resource_error.h"
#include "glog/logging.h"
#include "head/explain.h"
#include "head/reserve.h"
#include "head/restores.h"
#include "replica/errors.h"
#include "replica/state/restore.h"

namespace kamino::head {

using engine::Transaction;
using replica::Actions;
using replica::MakeError;

namespace {

// The wait before execution is recorded for one request in so many: that costs
// half as much as all its other counters.
constexpr uint32_t kAdmitOneOf = 16;

// Whether a function failed by its own decision, not by the engine's.
bool IsOwnDecision(const absl::Status& status) {
  if (replica::ReasonOf(status) != kamino::v1::REASON_UNSPECIFIED) return true;
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return true;
    default:
      return false;
  }
}

// For a failed commit: whether the entry can never fit.
bool IsTooLarge(const absl::Status& status) {
  return absl::IsInvalidArgument(status) ||
         engine::ResourceOf(status) == engine::Resource::kTransaction;
}

// Numbers to skip after the executed requests of the batch.
uint64_t SkippedBy(const std::vector<Request>& batch,
                   const std::vector<Attempt>& attempts) {
  uint64_t skipped = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!attempts[i].executed || batch[i].mutation.skipped == 0) continue;
    CHECK_EQ(batch.size(), 1u) << "numbers are skipped within an entry";
    skipped = batch[i].mutation.skipped;
  }
  return skipped;
}

}  // namespace

bool MayEvictLess(const Request& request, const absl::Status& status) {
  if (request.evicts_least) return false;
  const kamino::v1::Reason reason = replica::ReasonOf(status);
  if (OpensSession(request.mutation)) {
    return reason == kamino::v1::REASON_HEAP_FULL;
  }
  return (request.mutation.dropped_clients.size() > 1 ||
          request.closes_silent) &&
         reason == kamino::v1::REASON_TOO_LARGE;
}

BatchExecutor::BatchExecutor(HeadParts* head)
    : head_(head), context_(&head->context) {}

std::optional<std::pair<size_t, Attempt>> BatchExecutor::Try(
    std::vector<Request>* batch, absl::Time now, Actions* actions) {
  replica::StageLap lap(context_->options.stages, replica::Stage::kExecute);
  std::unique_ptr<Transaction> transaction =
      context_->store->Begin(absl::ZeroDuration());
  BatchClients clients;
  for (const Request& request : *batch) {
    if (request.mutation.in_session) continue;
    clients.asking.insert(request.mutation.client_id);
  }
  std::vector<Attempt> attempts;  // of those that are not parked
  uint32_t executed = 0;
  for (size_t i = 0; i < batch->size(); ++i) {
    if (i > 0 && head_->turn.EndsBefore(i)) {
      context_->waiting.PutBack(batch, i);
      break;
    }
    Request& request = (*batch)[i];
    const uint64_t sequence = context_->core->next_sequence() + executed;
    Attempt attempt =
        ExecuteOne(*transaction, request, sequence, &clients, now);
    const size_t place = attempts.size();
    if (attempt.spoilt) {
      Abort(*transaction);
      batch->erase(batch->begin() + place, batch->begin() + i);
      return std::make_pair(place, std::move(attempt));
    }
    if (attempt.conflict.has_value()) {
      context_->waiting.Park(*attempt.conflict, std::move(request), now);
      continue;
    }
    if (place != i) (*batch)[place] = std::move(request);
    if (attempt.executed) ++executed;
    attempts.push_back(std::move(attempt));
  }
  batch->resize(attempts.size());
  if (executed > 0) {
    lap.Next(replica::Stage::kPersist);
    const uint64_t last = context_->core->next_sequence() + executed - 1;
    CommitBatch(*transaction, executed, batch, std::move(attempts), now,
                actions);
    lap.End();
    head_->turn.LookAtClock();
    head_->in_flight.NoteEntry(last, executed);
    return std::nullopt;
  }
  Abort(*transaction);
  for (size_t i = 0; i < batch->size(); ++i) {
    if (attempts[i].ended) head_->quarantine.NoteSurvived(&(*batch)[i]);
    head_->in_flight.AnswerOnceCompleted((*batch)[i],
                                         std::move(attempts[i].outcome));
  }
  return std::nullopt;
}

Attempt BatchExecutor::ExecuteOne(Transaction& transaction, Request& request,
                                  uint64_t sequence, BatchClients* clients,
                                  absl::Time now) {
  Attempt attempt;
  NoteWait(&request, now);
  absl::Status may_begin = CheckAwaited(request, now);
  if (may_begin.ok() && request.room_for_answer != nullptr) {
    may_begin = request.room_for_answer();
  }
  if (!may_begin.ok()) {
    attempt.outcome.status = std::move(may_begin);
    return attempt;
  }
  context_->options.executing(request.mutation.function,
                              request.mutation.client_id);
  const size_t declared = transaction.write_set().size();
  const engine::HeapReserve before = context_->store->heap()->reserve();
  absl::Status may_execute = head_->quarantine.Check(transaction, &request);
  if (may_execute.ok()) {
    may_execute = CheckInForce(transaction, request.mutation);
  }
  if (!may_execute.ok()) {
    return NoteFailure(transaction, may_execute, declared, /*changed=*/false);
  }
  absl::Status prepared = Prepare(transaction, *clients, now, &request);
  if (!prepared.ok()) {
    return NoteFailure(transaction, prepared, declared, /*changed=*/false);
  }
  bool changed = false;
  replica::RequestMeter meter(context_->options.max_touched,
                              &request.abandoned);
  auto execution =
      context_->state->Execute(transaction, request.mutation, sequence,
                               &changed, &meter, ScopeOf(request.by));
  // The meter does not cover the head's own requests.
  head_->turn.Touch(std::max<uint64_t>(
      meter.touched(), transaction.write_set().size() - declared));
  if (execution.ok()) {
    attempt.outcome.sequence = execution->sequence;
    attempt.outcome.result = std::move(execution->result);
    attempt.outcome.voided = execution->voided;
    attempt.outcome.repeated = execution->repeated;
    if (execution->repeated) {
      ++context_->counters.repeated;
      return attempt;
    }
    const replica::Mutation& mutation = request.mutation;
    attempt.stored_bytes = StoredBytes(mutation, attempt.outcome.result);
    attempt.replaced_bytes =
        mutation.in_session ? execution->replaced_bytes
                            : head_->outcomes.ResultBytesOf(mutation.client_id);
    absl::Status fits = head_->outcomes.CheckResultFits(attempt, clients);
    if (fits.ok())
      fits = CheckReserve(*context_->store->heap(), mutation, meter.room(),
                          attempt.added_bytes(), before);
    if (!fits.ok()) {
      attempt = NoteFailure(transaction, fits, declared, /*changed=*/true);
      attempt.ended = attempt.lacks_room = true;
      return attempt;
    }
    attempt.executed = attempt.ended = true;
    NoteExecuted(mutation, clients);
    return attempt;
  }
  attempt = NoteFailure(transaction, execution.status(), declared, changed);
  attempt.ended = !attempt.conflict.has_value() && meter.status().ok() &&
                  IsOwnDecision(execution.status());
  return attempt;
}

absl::Status BatchExecutor::CheckInForce(Transaction& transaction,
                                         const replica::Mutation& mutation) {
  absl::Status in_force = context_->options.check_in_force(mutation.function);
  if (in_force.ok() || mutation.client_id == 0) return in_force;
  ASSIGN_OR_RETURN(const bool settled,
                   head_->quarantine.IsSettled(transaction, mutation));
  return settled ? absl::OkStatus() : in_force;
}

void BatchExecutor::NoteExecuted(const replica::Mutation& mutation,
                                 BatchClients* clients) const {
  if (mutation.in_session) return;
  if (mutation.client_id == 0) NoteOpened(mutation, clients);
  if (!head_->outcomes.IsKnown(mutation.client_id, *clients)) {
    clients->added.insert(mutation.client_id);
  }
  for (uint64_t evicted : mutation.dropped_clients) {
    clients->evicted.insert(evicted);
  }
}

absl::Status BatchExecutor::Prepare(Transaction& transaction,
                                    const BatchClients& clients, absl::Time now,
                                    Request* request) {
  replica::Mutation& mutation = request->mutation;
  mutation.dropped_clients.clear();
  if (mutation.in_session) return head_->sessions.Check(transaction, *request);
  if (mutation.client_id != 0) {
    return head_->outcomes.MakeRoomForClient(transaction, clients, now,
                                             request);
  }
  if (mutation.function == replica::kDropFunction) {
    return head_->outcomes.ChooseDropped(now, request);
  }
  if (mutation.function == replica::kOpenSessionFunction) {
    if (request->evicts_least) NarrowWindow(&mutation);
    return head_->sessions.CheckRoom(mutation, clients);
  }
  if (mutation.function == replica::kBeginRestoreFunction) {
    return PrepareRestore(*context_, &mutation);
  }
  if (request->closes_silent) return head_->sessions.ChooseClosed(now, request);
  return head_->sessions.CheckMayClose(transaction, *request);
}

void BatchExecutor::NoteWait(Request* request, absl::Time now) {
  RequestWaits& waits = request->waits;
  if (!std::exchange(waits.executed, true)) {
    waits.began = now;
    // The head's own requests do not wait.
    if (++executed_ % kAdmitOneOf == 0 && context_->options.stages != nullptr &&
        waits.came != absl::InfiniteFuture()) {
      context_->options.stages->Took(replica::Stage::kAdmit, waits.admit());
    }
  }
  if (!request->is_parked) return;
  const absl::Duration lock = EndParking(request, now);
  if (context_->options.stages != nullptr) {
    context_->options.stages->Took(replica::Stage::kLock, lock);
  }
}

Attempt BatchExecutor::NoteFailure(Transaction& transaction,
                                   const absl::Status& status, size_t declared,
                                   bool changed) {
  Attempt attempt;
  attempt.conflict = transaction.conflict();
  attempt.outcome.status = Explain(status);
  attempt.lacks_room =
      replica::ReasonOf(attempt.outcome.status) == kamino::v1::REASON_HEAP_FULL;
  attempt.lacks_copies =
      engine::ResourceOf(status) == engine::Resource::kUndoCopy;
  attempt.damaged = absl::IsDataLoss(status) &&
                    replica::ReasonOf(status) == kamino::v1::REASON_UNSPECIFIED;
  // If nothing was changed before it, a lock conflict, or an error of the
  // function itself, leaves the transaction as it was; any other failure rolls
  // everything back.
  attempt.spoilt = changed || transaction.write_set().size() != declared ||
                   !(attempt.conflict.has_value() || IsOwnDecision(status));
  if (attempt.spoilt) return attempt;
  if (attempt.conflict.has_value()) {
    transaction.ForgetConflict();
    return attempt;
  }
  if (replica::ReasonOf(status) == kamino::v1::REASON_OVERLOADED) {
    ++context_->counters.rejected;
  } else {
    ++context_->counters.aborted;
  }
  return attempt;
}

void BatchExecutor::CommitBatch(Transaction& transaction, uint32_t executed,
                                std::vector<Request>* batch,
                                std::vector<Attempt> attempts, absl::Time now,
                                Actions* actions) {
  const uint64_t first = context_->core->next_sequence();
  const uint64_t last = first + executed - 1 + SkippedBy(*batch, attempts);
  engine::AfterImage image;
  const auto append = [&](const engine::WriteSet& write_set) {
    std::vector<const replica::Mutation*> mutations;
    for (size_t i = 0; i < batch->size(); ++i) {
      if (attempts[i].executed) mutations.push_back(&(*batch)[i].mutation);
    }
    return context_->core->AppendLocal(mutations, write_set, image);
  };
  engine::CommitOptions options;
  options.sequence = last;  // so that a recovery finds the end of an entry
  options.hold_locks = !context_->options.pipelines;
  options.before_mark.emplace(append);
  options.image = &image;
  absl::Status committed = transaction.Commit(options);
  context_->state->Ended(committed.ok());
  if (!committed.ok()) {
    if (absl::IsDataLoss(committed)) fatal_ = committed;
    if (IsTooLarge(committed) && batch->size() > 1) {
      // A single request may fit.
      for (Request& request : *batch)
        context_->waiting.AddAlone(std::move(request));
      return;
    }
    // The heap is unchanged. The ring has no room now, or never has for this
    // entry.
    const absl::Status answer =
        MakeError(IsTooLarge(committed) ? kamino::v1::REASON_TOO_LARGE
                                        : kamino::v1::REASON_OVERLOADED,
                  committed.message());
    if (batch->size() == 1 && MayEvictLess(batch->front(), answer)) {
      batch->front().evicts_least = true;
      context_->waiting.PutBackAlone(std::move(batch->front()));
      return;
    }
    ++context_->counters.rejected;
    for (Request& request : *batch)
      head_->in_flight.AnswerOnceCompleted(request, {answer, "", 0});
    return;
  }
  head_->in_flight.Add(last);
  for (size_t i = 0; i < batch->size(); ++i) {
    const replica::Mutation& mutation = (*batch)[i].mutation;
    if (attempts[i].ended) head_->quarantine.NoteSurvived(&(*batch)[i]);
    if (attempts[i].executed) {
      NoteCommitted(mutation, attempts[i], now);
    }
    head_->in_flight.Add(last, &(*batch)[i], std::move(attempts[i].outcome));
  }
  context_->core->CommitLocal(actions);
  context_->store->OnDrained();  // with the applied marks
}

void BatchExecutor::NoteCommitted(const replica::Mutation& mutation,
                                  const Attempt& attempt, absl::Time now) {
  head_->outcomes.Drop(mutation.dropped_clients);
  if (mutation.in_session) {
    head_->sessions.AddResultBytes(mutation.client_id, attempt.stored_bytes,
                                   attempt.replaced_bytes);
  } else if (mutation.client_id == 0) {
    return head_->sessions.NoteCommitted(mutation, attempt.outcome.sequence,
                                         now);
  } else {
    head_->outcomes.Store(mutation.client_id, attempt.stored_bytes, now);
  }
  ++context_->counters.committed;
}

void BatchExecutor::Abort(Transaction& transaction) {
  absl::Status aborted = transaction.Abort();
  context_->state->Ended(/*committed=*/false);
  if (!aborted.ok() && fatal_.ok()) fatal_ = aborted;
}

}  // namespace kamino::head
