#include "head/admission.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/heap/heap_reader.h"
#include "glog/logging.h"
#include "head/reserve.h"
#include "head/restores.h"
#include "replica/errors.h"
#include "replica/log/log_entry.h"

namespace kamino::head {

using engine::ObjectId;
using replica::Actions;
using replica::MakeError;

namespace {

// Fewer requests are not divided: each entry wakes every node up, which takes
// as long as several requests.
constexpr size_t kLeastHalf = 8;

}  // namespace

Admission::Admission(AdmissionOptions options, engine::KaminoStore* store,
                     replica::StateMachine* state, replica::ChainCore* core)
    : head_(std::move(options), store, state, core,
            [this](Request request, absl::Time now) {
              Submit(std::move(request), now);
            }),
      context_(head_.context),
      executor_(&head_) {
  store->SetUnlockListener([this](absl::Span<const ObjectId> objects) {
    context_.waiting.OnUnlocked(objects);
  });
}

Admission::~Admission() {
  engine::KaminoStore* const store = context_.store;
  store->heap()->KeepReserve(0);
  store->SetUnlockListener(nullptr);
  head_.in_flight.AnswerAll(
      MakeError(kamino::v1::REASON_OUTCOME_UNKNOWN,
                "this node is no longer the head; retry with the "
                "same number to learn the outcome"));
  const absl::Status not_head =
      MakeError(kamino::v1::REASON_NOT_HEAD, "this node is no longer the head");
  if (damaged_.has_value()) {
    head_.in_flight.Answer(*damaged_, {not_head, "", 0});
  }
  for (Request& request :
       context_.waiting.TakeIf([](const Request&) { return true; })) {
    request.done({not_head, "", 0});  // says nothing about the state
  }
}

absl::Status Admission::Promote(absl::Time now, Actions* actions) {
  engine::Heap* const heap = context_.store->heap();
  heap->KeepReserve(ReserveBytes(heap->stats().bytes_total));
  const replica::LogRing& ring = context_.core->ring();
  head_.in_flight.Begin(context_.core->progress().completed());
  for (uint64_t last = context_.core->progress().completed();
       last < ring.applied();) {
    const replica::LogEntry entry = ring.EntryOf(last + 1);
    last = entry.last();
    head_.in_flight.Add(last);
    if (context_.options.pipelines) continue;
    ASSIGN_OR_RETURN(auto write_set, entry.WriteSet());
    context_.store->HoldLocks(last, write_set);
  }
  engine::HeapReader reader(context_.store->heap());
  ASSIGN_OR_RETURN(const bool formatted, context_.state->Formatted(reader));
  if (!formatted) {
    head_.sessions.SetEpoch();
    return FormatState(now, actions);
  }
  RETURN_IF_ERROR(head_.quarantine.Load(reader, now));
  RETURN_IF_ERROR(head_.outcomes.Load(reader, now));
  return head_.sessions.Load(reader, now);
}

absl::Status Admission::FormatState(absl::Time now, Actions* actions) {
  if (context_.core->next_sequence() != 1) {
    return absl::DataLossError(
        absl::StrCat("the root object is empty, though the chain has ",
                     context_.core->next_sequence() - 1, " mutations"));
  }
  Request format;
  format.mutation.function = replica::kFormatFunction;
  format.done = [](RequestOutcome) {};
  Submit(std::move(format), now);
  ExecuteReady(now, actions);
  return executor_.fatal();
}

void Admission::Submit(Request request, absl::Time now) {
  if (request.mutation.in_session) {
    head_.sessions.Hear(request.mutation.client_id, now);
  } else {
    head_.outcomes.Hear(request.mutation.client_id, now);
  }
  if (context_.waiting.size() >= context_.options.max_waiting) {
    ++context_.counters.rejected;
    const std::string why =
        absl::StrCat("the head is overloaded: ", context_.waiting.size(),
                     " requests wait for it");
    head_.in_flight.Answer(
        request, {MakeError(kamino::v1::REASON_OVERLOADED, why), "", 0});
    return;
  }
  if (BeginsRestore(request)) request.weight = context_.options.max_batch_bytes;
  request.waits.came = now;
  context_.waiting.Add(std::move(request));
}

void Admission::ExecuteReady(absl::Time now, Actions* actions) {
  head_.turn.Begin(now);
  head_.in_flight.BeginTurn(now);
  head_.quarantine.BeginTurn(now, /*executes=*/!retired_);
  while (has_ready() && executor_.fatal().ok() && damage_.ok() &&
         !head_.turn.is_over() &&
         head_.quarantine.MayBegin(context_.waiting.next(), actions)) {
    const size_t entries = head_.in_flight.size();
    ExecuteBatch(TakeBatch(), now, actions);
    if (head_.in_flight.size() > entries && HasSuccessor()) head_.turn.End();
  }
  head_.quarantine.EndAnnouncement(actions);
}

namespace {

size_t BytesOf(const Request& request) {
  return request.mutation.arguments.size() + request.weight;
}

}  // namespace

bool Admission::HasSuccessor() const {
  return context_.core->links().downstream.replicates();
}

size_t Admission::BatchLimit() const {
  const size_t most = context_.options.max_batch;
  if (!HasSuccessor()) return most;
  const size_t all = context_.waiting.size() + head_.in_flight.requests();
  return std::min(most, std::max(kLeastHalf, (all + 1) / 2));
}

std::vector<Request> Admission::TakeBatch() {
  const size_t limit = BatchLimit();
  std::vector<Request> batch;
  size_t bytes = BytesOf(context_.waiting.next());
  const bool others_may_come = context_.waiting.next_ready() != nullptr;
  batch.push_back(context_.waiting.TakeNext());
  if (!others_may_come || head_.quarantine.IsWatched(batch.front()))
    return batch;
  while (batch.size() < limit) {
    Request* const next = context_.waiting.next_ready();
    if (next == nullptr || head_.quarantine.IsWatched(*next)) break;
    bytes += BytesOf(*next);
    if (bytes > context_.options.max_batch_bytes) break;
    batch.push_back(context_.waiting.TakeNext());
  }
  return batch;
}

void Admission::ExecuteBatch(std::vector<Request> batch, absl::Time now,
                             Actions* actions) {
  const bool single = batch.size() == 1;
  bool tried_again = false;
  while (!batch.empty() && executor_.fatal().ok()) {
    auto spoilt = executor_.Try(&batch, now, actions);
    if (!spoilt.has_value()) return;
    Request request = std::move(batch[spoilt->first]);
    batch.erase(batch.begin() + spoilt->first);
    Attempt& attempt = spoilt->second;
    if (attempt.conflict.has_value()) {
      context_.waiting.Park(*attempt.conflict, std::move(request), now);
    } else if (single && MayEvictLess(request, attempt.outcome.status)) {
      request.evicts_least = true;
      context_.waiting.PutBackAlone(std::move(request));
    } else if (single && attempt.lacks_copies && !tried_again) {
      // Its own copies left no room for each other: retry before other requests
      // make copies.
      tried_again = true;
      batch.push_back(std::move(request));
    } else if (single && attempt.damaged) {
      damage_ = attempt.outcome.status;
      damaged_ = std::move(request);
    } else if (single) {
      ++context_.counters.aborted;
      if (attempt.ended) head_.quarantine.NoteSurvived(&request);
      if (attempt.lacks_room)
        head_.outcomes.DropForRoom(now, &attempt.outcome.status);
      head_.in_flight.AnswerOnceCompleted(request, std::move(attempt.outcome));
    } else {
      context_.waiting.AddAlone(std::move(request));
    }
    if (head_.turn.is_over()) context_.waiting.PutBack(&batch, 0);
  }
  for (Request& request : batch) context_.waiting.AddAlone(std::move(request));
}

bool Admission::has_ready() const {
  return !retired_ && !held_ && !head_.quarantine.awaits_successor() &&
         context_.waiting.has_ready() &&
         head_.in_flight.size() < context_.options.max_in_flight &&
         !UndoCopyIsFarBehind() &&
         head_.in_flight.result_bytes() < context_.options.max_result_bytes;
}

bool Admission::UndoCopyIsFarBehind() const {
  return context_.store->LackedByUndoCopy() >=
         context_.options.max_unpropagated;
}

void Admission::OnTick(absl::Time now) {
  head_.in_flight.OnTick(now);
  head_.quarantine.SubmitUnrecorded();
  head_.sessions.CloseSilent(now);
  const auto expired = [this, now](const Request& request) {
    return !head_.quarantine.IsAnnounced(request) &&
           !CheckAwaited(request, now).ok();
  };
  for (Request& request : context_.waiting.TakeIf(expired)) {
    if (request.is_parked) EndParking(&request, now);
    head_.in_flight.Answer(request, {CheckAwaited(request, now), "", 0});
  }
}

AdmissionStats Admission::stats() const {
  AdmissionStats stats = context_.counters;
  stats.in_flight = head_.in_flight.size();
  stats.parked = context_.waiting.parked();
  stats.clients = head_.outcomes.clients();
  stats.result_bytes = head_.in_flight.result_bytes();
  stats.stored_result_bytes =
      head_.outcomes.result_bytes() + head_.sessions.table().result_bytes();
  stats.sessions = head_.sessions.table().size();
  stats.session_slots = head_.sessions.table().slots();
  stats.on_probation = head_.quarantine.on_probation();
  stats.poisonous = head_.quarantine.size();
  return stats;
}

void Admission::AnswerDamage() {
  ++context_.counters.aborted;
  head_.in_flight.AnswerOnceCompleted(
      *damaged_, {std::exchange(damage_, absl::OkStatus()), "", 0});
  damaged_.reset();
}

}  // namespace kamino::head
