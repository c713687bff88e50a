#include "head/outcome_room.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/errors.h"
#include "replica/state/sessions.h"
#include "replica/state/state_format.h"

namespace kamino::head {

using engine::Transaction;
using replica::MakeError;

namespace {

// The room of an outcome that a result may use; the rest is for the two
// numbers.
constexpr size_t kShortResult = replica::state_format::kOutcomeCapacity - 32;

// From the mutation that drops outcomes until the chain has it and the undo
// copy releases the freed space: some round trips, or a repair of the chain.
constexpr absl::Duration kRoomDelay = absl::Seconds(1);

}  // namespace

OutcomeRoom::OutcomeRoom(HeadContext* context, const SessionTable* sessions)
    : context_(context),
      sessions_(sessions),
      clients_(context->options.client_min_idle) {}

absl::Status OutcomeRoom::Load(engine::Reader& reader, absl::Time now) {
  std::vector<std::pair<uint64_t, uint64_t>> by_sequence;
  RETURN_IF_ERROR(context_->state->VisitClients(
      reader, [&](uint64_t client_id, const auto& outcome) {
        by_sequence.emplace_back(outcome.sequence(), client_id);
        clients_.Touch(client_id, now);
        clients_.SetResultBytes(client_id, StoredBytes({}, outcome.result()));
        return true;
      }));
  std::sort(by_sequence.begin(), by_sequence.end());
  for (const auto& [sequence, client_id] : by_sequence) {
    clients_.Touch(client_id, now);  // the most recent last
  }
  return absl::OkStatus();
}

void OutcomeRoom::Hear(uint64_t client_id, absl::Time now) {
  if (clients_.Knows(client_id)) clients_.Touch(client_id, now);
}

void OutcomeRoom::Drop(const std::vector<uint64_t>& clients) {
  for (uint64_t dropped : clients) {
    clients_.Forget(dropped);
    ++context_->counters.evicted;
  }
}

void OutcomeRoom::Store(uint64_t client_id, size_t result_bytes,
                        absl::Time now) {
  clients_.Touch(client_id, now);
  clients_.SetResultBytes(client_id, result_bytes);
}

bool OutcomeRoom::IsKnown(uint64_t client_id,
                          const BatchClients& clients) const {
  return client_id == 0 ||  // no client: stores no outcome
         clients.added.contains(client_id) ||
         (clients_.Knows(client_id) && !clients.evicted.contains(client_id));
}

absl::Status OutcomeRoom::MakeRoomForClient(Transaction& transaction,
                                            const BatchClients& clients,
                                            absl::Time now, Request* request) {
  replica::Mutation& mutation = request->mutation;
  const bool is_new = !IsKnown(mutation.client_id, clients);
  const size_t stored =
      clients_.size() + clients.added.size() - clients.evicted.size();
  // There may be more if another head allowed more. Then each request reduces
  // them, and a new client's request makes room for at least itself: dropping
  // the whole excess may not fit one transaction.
  const size_t wanted = stored + (is_new ? 1 : 0);
  if (wanted <= context_->options.max_clients) return absl::OkStatus();
  if (is_new) {
    // A client whose outcome was dropped must learn that; it costs no other
    // client's place.
    ASSIGN_OR_RETURN(auto found,
                     context_->state->FindOutcome(
                         transaction, mutation.client_id, mutation.since));
    if (found.knowledge == replica::StateMachine::Knowledge::kDropped) {
      return absl::OkStatus();
    }
  }
  const size_t needed = is_new ? 1 : 0;
  const size_t most =
      request->evicts_least ? needed : context_->options.evict_at_once;
  std::vector<uint64_t> idle =
      clients_.Idle(now, most, [&clients](uint64_t client_id) {
        return clients.asking.contains(client_id) ||
               clients.evicted.contains(client_id);
      });
  if (idle.size() < needed) {
    return MakeError(kamino::v1::REASON_OVERLOADED,
                     absl::StrCat("outcomes of ", stored,
                                  " clients are stored, and too few of them "
                                  "have been silent long enough to be dropped; "
                                  "retry later"));
  }
  mutation.dropped_clients = std::move(idle);
  return absl::OkStatus();
}

size_t StoredBytes(const replica::Mutation& mutation,
                   absl::string_view result) {
  if (mutation.in_session) return replica::Sessions::LongBytes(result.size());
  return result.size() <= kShortResult ? 0 : result.size();
}

absl::Status OutcomeRoom::CheckResultFits(const Attempt& attempt,
                                          BatchClients* clients) const {
  const size_t had = attempt.replaced_bytes;
  const size_t bytes = attempt.stored_bytes;
  if (bytes <= had) return absl::OkStatus();
  const size_t most = context_->store->heap()->stats().bytes_total /
                      context_->options.outcomes_share;
  const size_t stored = clients_.result_bytes() + sessions_->result_bytes() +
                        clients->result_bytes;
  if (stored + bytes - had > most) {
    return MakeError(
        kamino::v1::REASON_OVERLOADED,
        absl::StrCat("results stored for retries take ", stored,
                     " bytes, and one more of ", bytes,
                     " exceeds the limit of ", most,
                     "; too few of their clients have been silent long enough "
                     "to be dropped; retry later, or ask for smaller results"));
  }
  clients->result_bytes += bytes - had;
  return absl::OkStatus();
}

void OutcomeRoom::DropForRoom(absl::Time now, absl::Status* refusal) {
  const auto none = [](uint64_t) { return false; };
  if (!dropping_ && !clients_.Idle(now, 1, none).empty()) {
    SubmitDrop();
    room_due_ = now + kRoomDelay;
  }
  if (!dropping_ && now >= room_due_) return;
  *refusal = MakeError(
      kamino::v1::REASON_OVERLOADED,
      absl::StrCat("outcomes of silent clients are being dropped to make "
                   "room; retry: ",
                   refusal->message()));
}

void OutcomeRoom::SubmitDrop() {
  dropping_ = true;
  Request own;
  own.mutation.function = replica::kDropFunction;
  own.done = [this](const RequestOutcome& outcome) {
    dropping_ = false;
    // The next request that lacks room retries this.
    LOG_IF_EVERY_N(WARNING, !outcome.status.ok(), 100)
        << "outcomes of silent clients could not be dropped: "
        << outcome.status;
  };
  context_->waiting.AddAlone(std::move(own));
}

absl::Status OutcomeRoom::ChooseDropped(absl::Time now, Request* request) {
  const auto none = [](uint64_t) { return false; };
  request->mutation.dropped_clients = clients_.Idle(
      now, request->evicts_least ? 1 : context_->options.evict_at_once, none);
  if (!request->mutation.dropped_clients.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError("no client is silent any more");
}

}  // namespace kamino::head
