// The core's handling of messages, by their link.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "replica/chain_core.h"
#include "replica/handshake.h"

namespace kamino::replica {

using kamino::internal::v1::Fetch;
using kamino::internal::v1::Hello;
using kamino::internal::v1::LINK_PURPOSE_APPEND;
using kamino::internal::v1::LINK_PURPOSE_TRANSFER;
using kamino::internal::v1::Sync;
using membership::Condition;

namespace {

std::string NameOf(kamino::internal::v1::ChainMessage::MessageCase kind) {
  const auto* field =
      kamino::internal::v1::ChainMessage::descriptor()->FindFieldByNumber(kind);
  return field == nullptr ? "an empty message" : field->name();
}

}  // namespace

bool ChainCore::CheckView(LinkId link, const Message& message) {
  if (message.view_id() == place_.view.id &&
      (place_.inside() || joiner_.Has(link))) {
    return true;
  }
  if (message.view_id() > place_.view.id) {
    outbox_.FetchView();
    // Only a Hello needs an answer: its sender soon retries, and by then this
    // node has caught up.
    if (!message.has_hello()) return false;
  }
  outbox_.Reject(
      link,
      absl::StrCat("a message of view ", message.view_id(), " reached ",
                   options_.node_id, " in view ", place_.view.id),
      /*behind=*/false);
  return false;
}

void ChainCore::OnMessage(LinkId link, const Message& message,
                          absl::string_view payload, absl::Time now,
                          Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (outbox_.failed() || damage_.condemned()) return;
  TakeMessage(link, message, payload, now);
  EndMisfits(now);
}

void ChainCore::TakeMessage(LinkId link, const Message& message,
                            absl::string_view payload, absl::Time now) {
  if (message.chain_id() != options_.chain_id) {
    return outbox_.Misfit(
        link, absl::StrCat("a message is of chain ", message.chain_id()));
  }
  if (message.has_reject()) return OnReject(link, message, now);
  // Before the check of the view: a joining node is in none.
  if (message.has_hello() && EndSelfDial(link, message.hello(), now)) return;
  if (!CheckView(link, message)) return;
  if (!MayCome(message.message_case(), UseOf(link))) {
    return outbox_.Misfit(
        link, absl::StrCat(NameOf(message.message_case()),
                           " does not come from ", LinkUseName(UseOf(link))));
  }
  switch (message.message_case()) {
    case Message::kHello:
      return OnHello(link, message.hello(), now);
    case Message::kSync:
      return OnSync(link, message.sync(), now);
    case Message::kAppend:
      return OnAppend(link, message.append(), payload);
    case Message::kVote:
      return arbitration_.OnVote(link, message.vote());
    case Message::kConvict:
      return arbitration_.OnConvict(link, message.convict().first(),
                                    completed());
    case Message::kCompare:
      return scrub_exchange_.OnCompare(link, message.compare(), may_compare(),
                                       now);
    case Message::kCompared:
      if (scrub_exchange_.OnCompared(link, message.compared(), may_compare(),
                                     now)) {
        outbox_.Close(link);
        Lose(link, now);
      }
      return;
    case Message::kAnnounce:
      if (!outbox_.Belongs(upstream_.Has(link))) return;
      return announcements_.OnAnnounce(message.announce(), link);
    case Message::kAnnounceAck:
      if (!outbox_.Belongs(downstream_.Has(link))) return;
      return announcements_.OnAck(message.announce_ack());
    case Message::kAppendAck:
      return OnAppendAck(link, message.append_ack().received());
    case Message::kCompletion:
      return OnCompletion(link, message.completion().applied());
    case Message::kCleanUp:
      return OnCleanUp(link, message.clean_up().cleaned());
    case Message::kFetch:
      return OnFetch(link, message.fetch());
    case Message::kFetched:
      return GoOnMended(mending_.OnFetched(link, message.fetched(), now));
    case Message::kStateChunkAck:
      if (!outbox_.Belongs(downstream_.Has(link))) return;
      donor_.OnChunkAck(message.state_chunk_ack().chunks());
      if (donor_.held_at().has_value()) CompleteAsTail();
      return;
    case Message::kStateWanted:
      return OnStateWanted(link, message.state_wanted());
    case Message::kStateBegin:
    case Message::kStateChunk:
      return OnTransferMessage(link, message, now);
    case Message::kReject:
    case Message::MESSAGE_NOT_SET:
      return;  // there is no rule for it
  }
}

// --- Handshakes.

std::string ChainCore::RefuseHello(LinkId link, const Hello& hello,
                                   absl::Time now) const {
  std::string refusal =
      RefuseStranger(options_, context_.record->state(), place_.view, hello);
  if (refusal.empty() && options_.identity_of != nullptr) {
    refusal = RefuseImpostor(options_, place_.view, hello,
                             options_.identity_of(link));
  }
  if (!refusal.empty()) return refusal;
  if (now < misfits_.PausedUntil(hello.node_id())) {
    return absl::StrCat(hello.node_id(),
                        " has sent an invalid message again; it has to wait "
                        "before it connects");
  }
  if (hello.purpose() == LINK_PURPOSE_TRANSFER) {
    const bool may_give = is_tail() && condition() == Condition::kSound &&
                          !dispute_.open() && beyond_doubt();
    return donor_.Refuse(hello, place_.view, may_give, now);
  }
  return RefuseNeighbour(options_, context_.record->state(), place_, hello);
}

void ChainCore::OnHello(LinkId link, const Hello& hello, absl::Time now) {
  std::string refusal = RefuseHello(link, hello, now);
  if (!refusal.empty()) {
    if (const auto end = told_refusals_.Take(now)) {
      LOG(WARNING) << "rejected a link: " << refusal << *end;
    }
    return outbox_.Reject(link, std::move(refusal), /*behind=*/false);
  }
  switch (hello.purpose()) {
    case LINK_PURPOSE_TRANSFER:
      CheckResumed(hello);
      history_.OnApplied();
      return donor_.Begin(link, hello, history_.For(hello), scrub_.borne_out(),
                          now);
    case LINK_PURPOSE_APPEND:
      return OnHelloAppend(link, hello, now);
    default:
      break;
  }
  completions_.Accept(link);
  SendSync(link);
}

void ChainCore::OnHelloAppend(LinkId link, const Hello& hello, absl::Time now) {
  if (!returning_.OnHello(hello, behind())) {
    // It learns this node's position, and retries.
    SendSync(link);
    return outbox_.Reject(
        link,
        absl::StrCat(options_.node_id, " has received up to ",
                     context_.ring->received(), " and applied up to ",
                     context_.ring->applied(), ", you have applied up to ",
                     hello.applied(), " and cleaned up to ", hello.cleaned()),
        /*behind=*/false);
  }
  upstream_.Attach(link);
  CheckReturned();
  if (behind()) {
    joiner_.CatchUpTo(hello.applied());
    CheckCaughtUp();
  }
  if (mending_.torn()) {
    return GoOnMended(mending_.Begin(link, Mend::kForward, now));
  }
  SendSync(link);
}

void ChainCore::OnSync(LinkId link, const Sync& sync, absl::Time now) {
  if (completions_.OnSync(link)) return;
  if (!outbox_.Belongs(downstream_.Has(link))) return;
  if (downstream_.joins() && !outbox_.Belongs(downstream_.replicates())) return;
  ContinueDownstream(sync);
  // Newly head, and interrupted before (section 5.3).
  if (mending_.torn() && is_head() && downstream_.replicates() &&
      MayTakeBack() && !outbox_.failed()) {
    GoOnMended(mending_.Begin(link, Mend::kBack, now));
  }
}

void ChainCore::ContinueDownstream(const Sync& sync) {
  Returning::Verdict verdict = returning_.OnSync(sync);
  if (!verdict.agrees) {
    if (downstream_.joins()) return donor_.Forget();
    // Retried when the link has been idle for long enough.
    return outbox_.Reject(downstream_.link(), std::move(verdict.reason),
                          verdict.useless);
  }
  if (!CheckUnsent(sync)) return;
  downstream_.ContinueAfter(sync.received());
  OnCleanUp(downstream_.link(), sync.cleaned());
  if (is_head() && !downstream_.joins()) {
    announcements_.OnSync(sync, downstream_.link());
  }
  CheckReturned();
}

bool ChainCore::CheckUnsent(const Sync& sync) {
  const uint64_t sequence = sync.received() + 1;
  if (sequence <= context_.ring->cleaned() ||
      sequence > context_.ring->applied())
    return true;
  const auto entry =
      LogEntry::Check(context_.ring->EntryOf(sequence).bytes(), options_.mode);
  if (entry.ok()) return true;
  std::string why = absl::StrCat(
      "mutation ", sequence,
      " is damaged in this node's ring: ", entry.status().message());
  // This node's result is in its heap, from which a joining node would receive
  // it.
  if (downstream_.joins()) {
    LOG(ERROR) << why << "; " << donor_.joining() << " has to begin anew";
    donor_.ForgetUnreadable(sequence);
    return false;
  }
  // A node that lacks completed entries cannot take its place.
  if (sync.behind() || (is_head() && sequence <= completed())) {
    LOG(ERROR) << why << "; the successor has to begin anew";
    outbox_.Reject(downstream_.link(), std::move(why), sync.behind());
    return false;
  }
  damage_.EndNow(why);
  return false;
}

void ChainCore::OnReject(LinkId link, const Message& message, absl::Time now) {
  if (message.view_id() > place_.view.id) outbox_.FetchView();
  if (link == kNoLink) return;
  if (mending_.untouched() && mending_.Asks(link) &&
      message.view_id() == place_.view.id && message.reject().behind()) {
    return ExecuteAdopted();
  }
  if (upstream_.Has(link) && message.view_id() == place_.view.id &&
      message.reject().behind() &&
      (condition() == Condition::kBehind ||
       (mending_.Asks(link) && !returning_.trusted()))) {
    LOG(WARNING) << "this node's state is no longer usable: "
                 << message.reject().reason();
    return DiscardState();
  }
  VLOG(1) << "rejected: " << message.reject().reason();
  downstream_.OnRejected(link, now);
  completions_.OnRejected(link, now);
  joiner_.OnRejected(link, now);
}

// --- Log entries and acknowledgements.

void ChainCore::OnAppend(LinkId link,
                         const kamino::internal::v1::Append& append,
                         absl::string_view entry) {
  if (!outbox_.Belongs(upstream_.Has(link)) || mending_.torn()) return;
  if (append.disputed()) {
    return arbitration_.OnAsked(link, entry, condition() == Condition::kSound);
  }
  StageLap lap(options_.stages, Stage::kPersist);
  if (!upstream_.Take(entry, returning_.may_append())) return;
  if (append.deadly() && place_.index > 0) {
    NoteDeadly(context_.ring->EntryOf(context_.ring->received()).first() - 1,
               context_.ring->received());
  }
  lap.Next(Stage::kExecute);
  ExecuteReceived();
}

void ChainCore::OnAppendAck(LinkId link, uint64_t received) {
  const bool belongs = downstream_.Has(link) && downstream_.replicates();
  if (!outbox_.Belongs(belongs)) return;
  downstream_.OnAppendAck(received);
}

void ChainCore::OnCleanUp(LinkId link, uint64_t cleaned) {
  const bool belongs = downstream_.Has(link) && downstream_.replicates();
  if (!outbox_.Belongs(belongs)) return;
  if (downstream_.OnCleaned(cleaned)) CleanTo(cleaned);
}

void ChainCore::OnCompletion(LinkId link, uint64_t applied) {
  if (!outbox_.Belongs(completions_.Has(link) && is_head())) return;
  const uint64_t reached = std::min(applied, context_.ring->applied());
  if (reached > context_.ring->cleaned() &&
      !context_.ring->EndsEntry(reached)) {
    return outbox_.Misfit(link, absl::StrCat("mutation ", applied,
                                             " is completed, but no entry "
                                             "ends with it"));
  }
  completions_.CompleteTo(reached);
  // The successor has what the tail has applied, and will say so later.
  if (downstream_.replicates() && !downstream_.joins()) {
    downstream_.OnAppendAck(std::min(reached, downstream_.sent()));
  }
}

// --- Recovery.

void ChainCore::OnFetch(LinkId link, const Fetch& fetch) {
  const bool of_predecessor = upstream_.Has(link);
  if (!outbox_.Belongs(of_predecessor || downstream_.Has(link))) return;
  // A node that may lack something answers once it does not: it will be asked
  // again. It knows from its successor's Hello that the successor lacks more.
  const Condition now = condition();
  if (now != Condition::kSound && now != Condition::kTorn &&
      now != Condition::kReturned) {
    return;
  }
  if (!of_predecessor) return mending_source_.AnswerSuccessor(link, fetch);
  if (returning_.trusted()) mending_source_.Answer(link, fetch);
}

void ChainCore::OnStateWanted(LinkId link,
                              const kamino::internal::v1::StateWanted& wanted) {
  if (!outbox_.Belongs(downstream_.Has(link) && downstream_.joins())) return;
  if (!donor_.OnWanted(wanted)) {
    outbox_.Misfit(link,
                   "a request for pages is out of turn, or asks for too many");
  }
}

void ChainCore::OnTransferMessage(LinkId link, const Message& message,
                                  absl::Time now) {
  if (!outbox_.Belongs(joiner_.Has(link))) return;
  switch (joiner_.OnMessage(message, may_resume(), may_catch_up(), now)) {
    case Joiner::Effect::kNone:
      // In a mode with its own rollback, executes the entries it rolled back:
      // they may be the last ones.
      if (joiner_.follows()) ExecuteReceived();
      return;
    case Joiner::Effect::kHeapVoid:
      scrub_.OnCopied(
          message.state_begin().borne_out() ? place_.view.tail().node_id : "");
      return OnHeapVoid();
    case Joiner::Effect::kHasHeap:
      completions_.Restart(context_.ring->cleaned());
      upstream_.OweCleanUp();
      return;
  }
}

}  // namespace kamino::replica
