#include "head/head_sessions.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/heap/heap_format.h"
#include "engine/heap/heap_reader.h"
#include "glog/logging.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/errors.h"
#include "replica/state/session_format.h"

namespace kamino::head {

using kamino::internal::v1::CloseSessions;
using replica::MakeError;
using replica::session_format::kMaxWindow;

namespace {

// Heap bytes of a slot.
constexpr uint64_t kSlotBytes = engine::heap_format::UnitsFor(sizeof(
                                    replica::session_format::SessionSlot)) *
                                engine::heap_format::kUnitBytes;

// Charged to AdmissionOptions::max_batch_bytes for each slot of a session that
// a transaction opens or closes.
constexpr size_t kSlotWeight = 1024;

// Between two attempts to close sessions.
constexpr absl::Duration kCloseDelay = absl::Seconds(1);

// A client that asks for a session retries, so questions must not pile up while
// nothing is executed.
constexpr absl::Duration kAskTime = absl::Seconds(2);

absl::Status NotOpen(uint64_t id) {
  return MakeError(
      kamino::v1::REASON_SESSION_EXPIRED,
      absl::StrCat("session ", id, " is not open, or not any more"));
}

// Sessions have no owners as long as some node does not know of owners.
bool HasOwners(const membership::View& view) {
  const auto found = view.in_force.find(replica::session_format::kOwnersTerm);
  return found != view.in_force.end() && found->second > 0;
}

absl::Status NoLease() {
  return MakeError(kamino::v1::REASON_RECONFIGURING,
                   "the head holds no lease of the manager now");
}

absl::Status CheckParams(const SessionParams& params) {
  if (params.id != 0 && params.window > 0 &&
      params.lease > absl::ZeroDuration()) {
    return absl::OkStatus();
  }
  return MakeError(
      kamino::v1::REASON_INVALID_ARGUMENT,
      absl::StrCat("a session's id, window and lease must not be 0; these "
                   "are ",
                   params.id, ", ", params.window, " and ",
                   absl::FormatDuration(params.lease)));
}

}  // namespace

HeadSessions::HeadSessions(HeadContext* context, InFlightEntries* in_flight,
                           SubmitFunction submit)
    : context_(context),
      in_flight_(in_flight),
      submit_(std::move(submit)),
      table_(context->options.longest_pause) {}

void HeadSessions::SetEpoch() { table_.SetEpoch(context_->core->view().epoch); }

absl::Status HeadSessions::Load(engine::Reader& reader, absl::Time now) {
  SetEpoch();
  return context_->state->VisitSessions(
      reader, [&](const replica::Sessions::Session& session) {
        table_.Add({session.id, session.window, session.lease, session.epoch,
                    session.opened, session.owner},
                   session.result_bytes, now);
      });
}

void NoteOpened(const replica::Mutation& mutation, BatchClients* batch) {
  if (mutation.function != replica::kOpenSessionFunction) return;
  kamino::internal::v1::OpenSession opened;
  CHECK(opened.ParseFromString(mutation.arguments));
  ++batch->sessions;
  batch->session_slots += opened.window();
  if (opened.owner().empty()) return;
  SessionTable::Share& share = batch->session_shares[opened.owner()];
  ++share.sessions;
  share.slots += opened.window();
}

void HeadSessions::NoteCommitted(const replica::Mutation& mutation,
                                 uint64_t sequence, absl::Time now) {
  if (mutation.function == replica::kOpenSessionFunction) {
    kamino::internal::v1::OpenSession opened;
    CHECK(opened.ParseFromString(mutation.arguments));
    table_.Add({opened.session_id(), opened.window(),
                absl::Milliseconds(opened.lease_ms()), opened.epoch(), sequence,
                opened.owner()},
               /*result_bytes=*/0, now);
  } else if (mutation.function == replica::kCloseSessionsFunction) {
    CloseSessions closed;
    CHECK(closed.ParseFromString(mutation.arguments));
    for (uint64_t id : closed.session_ids()) table_.Remove(id);
  }
}

void HeadSessions::Open(const SessionParams& params, absl::Time now,
                        Opened done) {
  if (absl::Status checked = CheckParams(params); !checked.ok()) {
    return done(checked);
  }
  // Calls of other principals do not renew it.
  engine::HeapReader reader(context_->store->heap());
  absl::Status owned =
      context_->state->CheckSessionOwner(reader, params.id, params.by.get());
  if (!owned.ok()) return done(std::move(owned));
  table_.Hear(params.id, now);
  kamino::internal::v1::OpenSession wanted;
  wanted.set_session_id(params.id);
  wanted.set_epoch(context_->core->view().epoch);
  wanted.set_lease_ms(absl::ToInt64Milliseconds(
      std::clamp(params.lease, kMinSessionLease, kMaxSessionLease)));
  wanted.set_window(std::min(params.window, kMaxWindow));
  if (params.by != nullptr && HasOwners(context_->core->view())) {
    wanted.set_owner(params.by->name);
  }
  Request own;
  own.mutation.function = replica::kOpenSessionFunction;
  own.mutation.arguments = wanted.SerializeAsString();
  own.weight = wanted.window() * kSlotWeight;
  own.deadline = params.deadline;
  own.abandoned = params.abandoned;
  own.done = [this, id = params.id,
              done = std::move(done)](const RequestOutcome& outcome) mutable {
    if (!outcome.status.ok()) return done(outcome.status);
    const SessionInfo* const session = table_.Find(id);
    if (session == nullptr) return done(NotOpen(id));
    done(*session);
  };
  submit_(std::move(own), now);
}

absl::Status HeadSessions::CheckRoom(const replica::Mutation& mutation,
                                     const BatchClients& batch) const {
  kamino::internal::v1::OpenSession wanted;
  CHECK(wanted.ParseFromString(mutation.arguments));
  if (table_.Has(wanted.session_id())) return absl::OkStatus();
  const uint64_t sessions = table_.size() + batch.sessions;
  if (sessions >= context_->options.max_sessions) {
    return MakeError(
        kamino::v1::REASON_OVERLOADED,
        absl::StrCat(sessions, " sessions are open, and the limit is ",
                     context_->options.max_sessions, "; close some"));
  }
  const uint64_t slots = table_.slots() + batch.session_slots;
  const uint64_t most =
      std::min(context_->options.max_session_slots,
               context_->store->heap()->stats().bytes_total /
                   context_->options.outcomes_share / kSlotBytes);
  if (slots + wanted.window() > most) {
    return MakeError(
        kamino::v1::REASON_OVERLOADED,
        absl::StrCat("the windows of ", sessions, " open sessions have ", slots,
                     " mutations, and one more of ", wanted.window(),
                     " exceeds the limit of ", most,
                     "; open it with a smaller window"));
  }
  return CheckShare(wanted, batch, most);
}

// One identity must not keep all others out.
absl::Status HeadSessions::CheckShare(
    const kamino::internal::v1::OpenSession& wanted, const BatchClients& batch,
    uint64_t most_slots) const {
  if (wanted.owner().empty()) return absl::OkStatus();
  SessionTable::Share share = table_.ShareOf(wanted.owner());
  const auto coming = batch.session_shares.find(wanted.owner());
  if (coming != batch.session_shares.end()) {
    share.sessions += coming->second.sessions;
    share.slots += coming->second.slots;
  }
  if (share.sessions == 0) return absl::OkStatus();  // even in a tiny heap
  if (share.sessions < context_->options.max_sessions * 3 / 4 &&
      share.slots + wanted.window() <= most_slots * 3 / 4) {
    return absl::OkStatus();
  }
  return MakeError(
      kamino::v1::REASON_OVERLOADED,
      absl::StrCat(wanted.owner(), " has ", share.sessions,
                   " sessions open, with windows of ", share.slots,
                   " mutations; one more of ", wanted.window(),
                   " exceeds three quarters of the limits for all, ",
                   context_->options.max_sessions, " sessions and ", most_slots,
                   " mutations"));
}

void HeadSessions::Close(uint64_t id, absl::Time now,
                         absl::AnyInvocable<void(absl::Status)> done,
                         const PrincipalPtr& by) {
  SubmitClose(id, now, absl::InfiniteFuture(), std::move(done), by);
}

void HeadSessions::SubmitClose(uint64_t id, absl::Time now, absl::Time deadline,
                               absl::AnyInvocable<void(absl::Status)> done,
                               const PrincipalPtr& by) {
  CloseSessions closed;
  closed.add_session_ids(id);
  Request own;
  own.mutation.function = replica::kCloseSessionsFunction;
  own.mutation.arguments = closed.SerializeAsString();
  if (const SessionInfo* const session = table_.Find(id)) {
    own.weight = session->window * kSlotWeight;
  }
  own.deadline = deadline;
  own.by = by;
  own.done = [id, done = std::move(done)](RequestOutcome outcome) mutable {
    const bool none =
        replica::ReasonOf(outcome.status) == kamino::v1::REASON_SESSION_EXPIRED;
    done(none ? NotOpen(id) : std::move(outcome.status));
  };
  submit_(std::move(own), now);
}

void HeadSessions::Ask(uint64_t id, uint64_t epoch, absl::Time now, Opened done,
                       const PrincipalPtr& by) {
  engine::HeapReader reader(context_->store->heap());
  absl::Status owned = context_->state->CheckSessionOwner(reader, id, by.get());
  if (!owned.ok()) return done(std::move(owned));
  table_.Hear(id, now);
  if (!context_->options.lease_valid()) return done(NoLease());
  const SessionInfo* const session = table_.Find(id);
  if (session != nullptr && session->epoch == epoch) {
    return AnswerOnceOpened(*session, std::move(done));
  }
  // It is of another epoch, which cannot come back while this node is head.
  if (table_.Has(id)) return done(NotOpen(id));
  // The mutation that closed it may be lost with this head. Another close, of a
  // session that is not there, gets the answer from the state, once the chain
  // has it.
  SubmitClose(
      id, now, now + kAskTime,
      [id, done = std::move(done)](absl::Status none) mutable {
        done(none.ok() ? NotOpen(id) : std::move(none));
      },
      by);
}

void HeadSessions::AnswerOnceOpened(const SessionInfo& session, Opened done) {
  // The mutation that opened it may be lost with this head, so the answer waits
  // for it. `done` is shared: it is called either then or, if nothing has to be
  // awaited, below.
  auto shared = std::make_shared<Opened>(std::move(done));
  const bool awaits = in_flight_->AwaitCompletion(
      session.opened, [session, shared](const RequestOutcome& outcome) {
        if (!outcome.status.ok()) return (*shared)(NoLease());
        (*shared)(session);
      });
  if (!awaits) (*shared)(session);
}

void HeadSessions::Hear(uint64_t id, absl::Time now) { table_.Hear(id, now); }

std::optional<SessionInfo> HeadSessions::Find(uint64_t id) const {
  const SessionInfo* const session = table_.Find(id);
  if (session == nullptr) return std::nullopt;
  return *session;
}

absl::Status HeadSessions::Check(engine::Reader& reader,
                                 const Request& request) const {
  const uint64_t id = request.mutation.client_id;
  // The batch under way may open one that is unknown here; the state shows it.
  if (table_.Has(id) && table_.Find(id) == nullptr) return NotOpen(id);
  return context_->state->CheckSessionOwner(reader, id, request.by.get());
}

absl::Status HeadSessions::CheckMayClose(engine::Reader& reader,
                                         const Request& request) const {
  if (request.by == nullptr ||
      request.mutation.function != replica::kCloseSessionsFunction) {
    return absl::OkStatus();
  }
  CloseSessions closed;
  CHECK(closed.ParseFromString(request.mutation.arguments));
  for (uint64_t id : closed.session_ids()) {
    RETURN_IF_ERROR(
        context_->state->CheckSessionOwner(reader, id, request.by.get()));
  }
  return absl::OkStatus();
}

void HeadSessions::CloseSilent(absl::Time now) {
  table_.SetEpoch(context_->core->view().epoch);
  const bool any = !table_.Due(now, 1, 0).empty();
  if (!any || closing_ || now < close_due_) return;
  closing_ = true;
  Request own;
  own.mutation.function = replica::kCloseSessionsFunction;
  own.closes_silent = true;
  own.done = [this, now](const RequestOutcome& outcome) {
    closing_ = false;
    if (outcome.status.ok() || chosen_none_) return;
    close_due_ = now + kCloseDelay;
    LOG_EVERY_N(WARNING, 100)
        << "failed to close silent sessions; retrying: " << outcome.status;
  };
  context_->waiting.AddAlone(std::move(own));
}

absl::Status HeadSessions::ChooseClosed(absl::Time now, Request* request) {
  const size_t most =
      request->evicts_least ? 1 : context_->options.close_at_once;
  CloseSessions closed;
  for (uint64_t id :
       table_.Due(now, most, context_->options.close_slots_at_once)) {
    closed.add_session_ids(id);
  }
  request->mutation.arguments = closed.SerializeAsString();
  chosen_none_ = closed.session_ids_size() == 0;
  if (!chosen_none_) return absl::OkStatus();
  return absl::FailedPreconditionError("no session is silent any more");
}

}  // namespace kamino::head
