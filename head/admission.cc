#include "head/admission.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/heap/heap_reader.h"
#include "engine/resource_error.h"
#include "glog/logging.h"
#include "head/reserve.h"
#include "replica/errors.h"
#include "replica/log_entry.h"
#include "replica/restore.h"

namespace kamino::head {

using engine::ObjectId;
using engine::Transaction;
using replica::Actions;
using replica::MakeError;

Admission::Admission(AdmissionOptions options, engine::KaminoStore* store,
                     replica::StateMachine* state, replica::ChainCore* core)
    : options_(options),
      store_(store),
      state_(state),
      core_(core),
      clients_(options_.client_min_idle),
      sessions_(options_.longest_pause) {
  store_->SetUnlockListener([this](absl::Span<const ObjectId> objects) {
    waiting_.OnUnlocked(objects);
  });
}

Admission::~Admission() {
  store_->heap()->KeepReserve(0);
  store_->SetUnlockListener(nullptr);
  for (auto& [sequence, flight] : in_flight_) {
    for (Waiter& waiter : flight.waiters) {
      waiter.done({MakeError(kamino::v1::REASON_OUTCOME_UNKNOWN,
                             "this node is no longer the head; retry with the "
                             "same number to learn the outcome"),
                   "", 0});
    }
  }
  const absl::Status not_head =
      MakeError(kamino::v1::REASON_NOT_HEAD, "this node is no longer the head");
  if (damaged_.has_value()) Answer(*damaged_, {not_head, "", 0});
  for (Request& request :
       waiting_.TakeIf([](const Request&) { return true; })) {
    request.done({not_head, "", 0});  // says nothing about the state
  }
}

absl::Status Admission::Promote(absl::Time now, Actions* actions) {
  engine::Heap* const heap = store_->heap();
  heap->KeepReserve(ReserveBytes(heap->stats().bytes_total));
  const replica::LogRing& ring = core_->ring();
  completed_ = core_->completed();
  for (uint64_t last = completed_; last < ring.applied();) {
    const replica::LogEntry entry = ring.EntryOf(last + 1);
    last = entry.last();
    in_flight_[last];
    if (options_.pipelines) continue;
    ASSIGN_OR_RETURN(auto write_set, entry.WriteSet());
    store_->HoldLocks(last, write_set);
  }
  engine::HeapReader reader(store_->heap());
  ASSIGN_OR_RETURN(const bool formatted, state_->Formatted(reader));
  if (!formatted) {
    sessions_.SetEpoch(core_->view().epoch);
    return FormatState(now, actions);
  }
  ASSIGN_OR_RETURN(refused_, state_->Refused(reader));
  BeginProbation(now);
  std::vector<std::pair<uint64_t, uint64_t>> by_sequence;
  absl::Status visited = state_->VisitClients(
      reader, [&](uint64_t client_id, const auto& outcome) {
        by_sequence.emplace_back(outcome.sequence(), client_id);
        clients_.Touch(client_id, now);
        clients_.SetResultBytes(client_id, StoredBytes({}, outcome.result()));
        return true;
      });
  RETURN_IF_ERROR(visited);
  std::sort(by_sequence.begin(), by_sequence.end());
  for (const auto& [sequence, client_id] : by_sequence) {
    clients_.Touch(client_id, now);  // the most recent last
  }
  return LoadSessions(now);
}

absl::Status Admission::FormatState(absl::Time now, Actions* actions) {
  if (core_->next_sequence() != 1) {
    return absl::DataLossError(
        absl::StrCat("the root object is empty, though the chain has ",
                     core_->next_sequence() - 1, " mutations"));
  }
  Request format;
  format.mutation.function = replica::kFormatFunction;
  format.done = [](RequestOutcome) {};
  Submit(std::move(format), now);
  ExecuteReady(now, actions);
  return fatal_;
}

void Admission::Submit(Request request, absl::Time now) {
  if (request.mutation.in_session) {
    sessions_.Hear(request.mutation.client_id, now);
  } else if (clients_.Knows(request.mutation.client_id)) {
    clients_.Touch(request.mutation.client_id, now);
  }
  if (waiting_.size() >= options_.max_waiting) {
    ++counters_.rejected;
    const std::string why = absl::StrCat(
        "the head is overloaded: ", waiting_.size(), " requests wait for it");
    Answer(request, {MakeError(kamino::v1::REASON_OVERLOADED, why), "", 0});
    return;
  }
  if (BeginsRestore(request)) request.weight = options_.max_batch_bytes;
  request.waits.came = now;
  waiting_.Add(std::move(request));
}

void Admission::ExecuteReady(absl::Time now, Actions* actions) {
  touched_ = 0;
  NoteTurn(now);
  awaits_successor_ = false;
  on_probation_ = now < probation_until_;
  if (!retired_) HearBlamed();
  while (has_ready() && fatal_.ok() && damage_.ok() && !turn_is_over() &&
         MayBegin(actions)) {
    ExecuteBatch(TakeBatch(), now, actions);
  }
  EndAnnouncement(actions);
}

namespace {

size_t BytesOf(const Request& request) {
  return request.mutation.arguments.size() + request.weight;
}

}  // namespace

std::vector<Request> Admission::TakeBatch() {
  std::vector<Request> batch;
  size_t bytes = BytesOf(waiting_.next());
  const bool others_may_come = waiting_.next_ready() != nullptr;
  batch.push_back(waiting_.TakeNext());
  if (!others_may_come || IsWatched(batch.front())) return batch;
  while (batch.size() < options_.max_batch) {
    Request* const next = waiting_.next_ready();
    if (next == nullptr || IsWatched(*next)) break;
    bytes += BytesOf(*next);
    if (bytes > options_.max_batch_bytes) break;
    batch.push_back(waiting_.TakeNext());
  }
  return batch;
}

namespace {

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

}  // namespace

void Admission::ExecuteBatch(std::vector<Request> batch, absl::Time now,
                             Actions* actions) {
  const bool single = batch.size() == 1;
  bool tried_again = false;
  while (!batch.empty() && fatal_.ok()) {
    auto spoilt = TryBatch(&batch, now, actions);
    if (!spoilt.has_value()) return;
    Request request = std::move(batch[spoilt->first]);
    batch.erase(batch.begin() + spoilt->first);
    Attempt& attempt = spoilt->second;
    if (attempt.conflict.has_value()) {
      Park(*attempt.conflict, std::move(request), now);
    } else if (single && MayEvictLess(request, attempt.outcome.status)) {
      request.evicts_least = true;
      waiting_.PutBackAlone(std::move(request));
    } else if (single && attempt.lacks_copies && !tried_again) {
      // Its own copies left no room for each other: retry before other requests
      // make copies.
      tried_again = true;
      batch.push_back(std::move(request));
    } else if (single && attempt.damaged) {
      damage_ = attempt.outcome.status;
      damaged_ = std::move(request);
    } else if (single) {
      ++counters_.aborted;
      if (attempt.ended) NoteSurvived(&request);
      if (attempt.lacks_room) DropForRoom(now, &attempt.outcome.status);
      AnswerWhatItSaw(request, std::move(attempt.outcome));
    } else {
      waiting_.AddAlone(std::move(request));
    }
    if (turn_is_over()) waiting_.PutBack(&batch, 0);
  }
  for (Request& request : batch) waiting_.AddAlone(std::move(request));
}

std::optional<std::pair<size_t, Admission::Attempt>> Admission::TryBatch(
    std::vector<Request>* batch, absl::Time now, Actions* actions) {
  replica::StageLap lap(options_.stages, replica::Stage::kExecute);
  std::unique_ptr<Transaction> transaction =
      store_->Begin(absl::ZeroDuration());
  BatchClients clients;
  for (const Request& request : *batch) {
    if (request.mutation.in_session) continue;
    clients.asking.insert(request.mutation.client_id);
  }
  std::vector<Attempt> attempts;  // of those that are not parked
  uint32_t executed = 0;
  for (size_t i = 0; i < batch->size(); ++i) {
    if (i > 0 && TurnEndsBefore(i)) {
      waiting_.PutBack(batch, i);
      break;
    }
    Request& request = (*batch)[i];
    const uint64_t sequence = core_->next_sequence() + executed;
    Attempt attempt =
        ExecuteOne(*transaction, request, sequence, &clients, now);
    const size_t place = attempts.size();
    if (attempt.spoilt) {
      Abort(*transaction);
      batch->erase(batch->begin() + place, batch->begin() + i);
      return std::make_pair(place, std::move(attempt));
    }
    if (attempt.conflict.has_value()) {
      Park(*attempt.conflict, std::move(request), now);
      continue;
    }
    if (place != i) (*batch)[place] = std::move(request);
    if (attempt.executed) ++executed;
    attempts.push_back(std::move(attempt));
  }
  batch->resize(attempts.size());
  if (executed > 0) {
    lap.Next(replica::Stage::kPersist);
    const uint64_t last = core_->next_sequence() + executed - 1;
    CommitBatch(*transaction, executed, batch, std::move(attempts), now,
                actions);
    lap.End();
    NoteEntry(last, executed);
    return std::nullopt;
  }
  Abort(*transaction);
  for (size_t i = 0; i < batch->size(); ++i) {
    if (attempts[i].ended) NoteSurvived(&(*batch)[i]);
    AnswerWhatItSaw((*batch)[i], std::move(attempts[i].outcome));
  }
  return std::nullopt;
}

namespace {

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

}  // namespace

Admission::Attempt Admission::ExecuteOne(Transaction& transaction,
                                         Request& request, uint64_t sequence,
                                         BatchClients* clients,
                                         absl::Time now) {
  Attempt attempt;
  TellHowLongItWaited(&request, now);
  absl::Status may_begin = CheckAwaited(request, now);
  if (may_begin.ok() && request.room_for_answer != nullptr) {
    may_begin = request.room_for_answer();
  }
  if (!may_begin.ok()) {
    attempt.outcome.status = std::move(may_begin);
    return attempt;
  }
  options_.executing(request.mutation.function, request.mutation.client_id);
  const size_t declared = transaction.write_set().size();
  const engine::HeapReserve before = store_->heap()->reserve();
  absl::Status poison = CheckPoison(transaction, &request);
  if (!poison.ok()) {
    return Failed(transaction, poison, declared, /*changed=*/false);
  }
  absl::Status prepared = Prepare(transaction, *clients, now, &request);
  if (!prepared.ok()) {
    return Failed(transaction, prepared, declared, /*changed=*/false);
  }
  bool changed = false;
  replica::RequestMeter meter(options_.max_touched, &request.abandoned);
  auto execution = state_->Execute(transaction, request.mutation, sequence,
                                   &changed, &meter, ScopeOf(request.by));
  // The meter does not cover the head's own requests.
  touched_ += std::max<uint64_t>(meter.touched(),
                                 transaction.write_set().size() - declared);
  if (execution.ok()) {
    attempt.outcome.sequence = execution->sequence;
    attempt.outcome.result = std::move(execution->result);
    attempt.outcome.voided = execution->voided;
    attempt.outcome.repeated = execution->repeated;
    if (execution->repeated) {
      ++counters_.repeated;
      return attempt;
    }
    const replica::Mutation& mutation = request.mutation;
    attempt.stored_bytes = StoredBytes(mutation, attempt.outcome.result);
    attempt.replaced_bytes = mutation.in_session
                                 ? execution->replaced_bytes
                                 : clients_.ResultBytesOf(mutation.client_id);
    absl::Status fits = CheckResultFits(attempt, clients);
    if (fits.ok()) fits = CheckReserve(mutation, meter.room(), attempt, before);
    if (!fits.ok()) {
      attempt = Failed(transaction, fits, declared, /*changed=*/true);
      attempt.ended = attempt.lacks_room = true;
      return attempt;
    }
    attempt.executed = attempt.ended = true;
    if (mutation.in_session) return attempt;
    if (mutation.client_id == 0) NoteOpened(mutation, clients);
    if (!IsKnown(mutation.client_id, *clients)) {
      clients->added.insert(mutation.client_id);
    }
    for (uint64_t evicted : mutation.dropped_clients) {
      clients->evicted.insert(evicted);
    }
    return attempt;
  }
  attempt = Failed(transaction, execution.status(), declared, changed);
  attempt.ended = !attempt.conflict.has_value() && meter.status().ok() &&
                  IsOwnDecision(execution.status());
  return attempt;
}

Admission::Attempt Admission::Failed(Transaction& transaction,
                                     const absl::Status& status,
                                     size_t declared, bool changed) {
  Attempt attempt;
  attempt.conflict = transaction.conflict();
  attempt.outcome.status = Explain(status);
  attempt.lacks_room =
      replica::ReasonOf(attempt.outcome.status) == kamino::v1::REASON_HEAP_FULL;
  attempt.lacks_copies =
      engine::ResourceOf(status) == engine::Resource::kBackup;
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
    ++counters_.rejected;
  } else {
    ++counters_.aborted;
  }
  return attempt;
}

namespace {

// For a failed commit: whether the entry can never fit.
bool IsTooLarge(const absl::Status& status) {
  return absl::IsInvalidArgument(status) ||
         engine::ResourceOf(status) == engine::Resource::kTransaction;
}

}  // namespace

void Admission::CommitBatch(Transaction& transaction, uint32_t executed,
                            std::vector<Request>* batch,
                            std::vector<Attempt> attempts, absl::Time now,
                            Actions* actions) {
  const uint64_t first = core_->next_sequence();
  const uint64_t last = first + executed - 1 + SkippedBy(*batch, attempts);
  engine::AfterImage image;
  const auto append = [&](const engine::WriteSet& write_set) {
    std::vector<const replica::Mutation*> mutations;
    for (size_t i = 0; i < batch->size(); ++i) {
      if (attempts[i].executed) mutations.push_back(&(*batch)[i].mutation);
    }
    return core_->AppendLocal(mutations, write_set, image);
  };
  engine::CommitOptions options;
  options.sequence = last;  // so that a recovery finds the end of an entry
  options.hold_locks = !options_.pipelines;
  options.before_mark.emplace(append);
  options.image = &image;
  absl::Status committed = transaction.Commit(options);
  state_->Ended(committed.ok());
  if (!committed.ok()) {
    if (absl::IsDataLoss(committed)) fatal_ = committed;
    if (IsTooLarge(committed) && batch->size() > 1) {
      // A single request may fit.
      for (Request& request : *batch) waiting_.AddAlone(std::move(request));
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
      waiting_.PutBackAlone(std::move(batch->front()));
      return;
    }
    ++counters_.rejected;
    for (Request& request : *batch) AnswerWhatItSaw(request, {answer, "", 0});
    return;
  }
  std::vector<Waiter>& waiters = in_flight_[last].waiters;
  for (size_t i = 0; i < batch->size(); ++i) {
    const replica::Mutation& mutation = (*batch)[i].mutation;
    if (attempts[i].ended) NoteSurvived(&(*batch)[i]);
    if (attempts[i].executed) {
      NoteCommitted(mutation, attempts[i], now);
    }
    result_bytes_ += attempts[i].outcome.result.size();
    waiters.push_back({std::move((*batch)[i].done),
                       std::move(attempts[i].outcome), (*batch)[i].waits});
  }
  core_->CommitLocal(actions);
  store_->OnDrained();  // with the applied marks
}

void Admission::NoteCommitted(const replica::Mutation& mutation,
                              const Attempt& attempt, absl::Time now) {
  for (uint64_t dropped : mutation.dropped_clients) {
    clients_.Forget(dropped);
    ++counters_.evicted;
  }
  if (mutation.in_session) {
    sessions_.AddResultBytes(mutation.client_id, attempt.stored_bytes,
                             attempt.replaced_bytes);
  } else if (mutation.client_id == 0) {
    return NoteOwnCommitted(mutation, attempt.outcome.sequence, now);
  } else {
    clients_.Touch(mutation.client_id, now);
    clients_.SetResultBytes(mutation.client_id, attempt.stored_bytes);
  }
  ++counters_.committed;
}

void Admission::Abort(Transaction& transaction) {
  absl::Status aborted = transaction.Abort();
  state_->Ended(/*committed=*/false);
  if (!aborted.ok() && fatal_.ok()) fatal_ = aborted;
}

AdmissionStats Admission::stats() const {
  AdmissionStats stats = counters_;
  stats.in_flight = in_flight_.size();
  stats.parked = waiting_.parked();
  stats.clients = clients_.size();
  stats.result_bytes = result_bytes_;
  stats.stored_result_bytes =
      clients_.result_bytes() + sessions_.result_bytes();
  stats.sessions = sessions_.size();
  stats.session_slots = sessions_.slots();
  stats.on_probation = on_probation_;
  stats.poisonous = refused_.size();
  return stats;
}

}  // namespace kamino::head
