#include "replica/chain_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "replica/handshake.h"
#include "replica/local_undo.h"

namespace kamino::replica {

using kamino::internal::v1::Hello;
using membership::Condition;
using membership::Member;
using membership::Role;
using membership::View;

ChainCore::ChainCore(ChainOptions options, LogRing* ring, NodeRecord* record,
                     Executor* executor, StateCopy* copy,
                     ScrubbedHeap* scrubbed)
    : options_(std::move(options)),
      context_{&options_, &place_, ring,     record,
               executor,  copy,    &outbox_, &transfer_stats_},
      upstream_(options_, ring, &outbox_),
      downstream_(options_, ring, &outbox_),
      completions_(options_, ring->cleaned(), &outbox_),
      returning_(ring, record->state().condition == Condition::kFresh ||
                               record->state().condition == Condition::kSound
                           ? Returning::State::kReturned
                           : Returning::State::kTrusted),
      announcements_(options_, record, &outbox_),
      mending_(ring, executor, &outbox_, options_.fetch_timeout),
      mending_source_(ring, executor, &outbox_),
      roll_forward_(ring, executor),
      dispute_(record, options_.fetch_timeout),
      joiner_(context_, &upstream_),
      donor_(context_, &downstream_),
      history_(options_, ring, copy),
      scrub_(options_, scrubbed),
      deadly_(ring, record),
      execution_(ring, executor, &deadly_, &outbox_),
      damage_(record, &outbox_),
      disputed_result_(context_, &mending_, &dispute_),
      arbitration_(context_, {&upstream_, &downstream_}, &dispute_, &scrub_,
                   &damage_),
      scrub_exchange_(context_, {&upstream_, &downstream_}, &scrub_, &donor_,
                      &damage_) {
  outbox_.set_chain_id(options_.chain_id);
  disputed_result_.Resume();
  const bool interrupted = mending_.torn();
  if (interrupted && CarriesImages(options_.mode)) {
    ApplyImages(ring->received(), /*interrupted=*/true);
  }
  // The code that opened the heap has rolled it back (TakeBackInterrupted).
  if (TakesBackAlone(options_.mode)) mending_.Forget();
  if (!interrupted || deadly_.redone() != ring->applied() + 1) {
    deadly_.SetRedone(0);
  }
  if (!mending_.torn() || !behind()) return;
  // The chain completes without a joining node: its neighbours may have
  // executed later entries on the interrupted entries' objects.
  LOG(WARNING) << "this node was interrupted while it joined; it begins again";
  context_.copy->BeginReceiving();
  mending_.Forget();
}

// --- State.

bool ChainCore::ready() const {
  return !outbox_.failed() && place_.inside() && !dispute_.open() &&
         beyond_doubt() && condition() == Condition::kSound;
}

Condition ChainCore::condition() const {
  const Condition recorded = context_.record->state().condition;
  if (recorded != Condition::kSound) return recorded;
  if (returning_.outrun()) return Condition::kOutrun;
  if (half_executed()) return Condition::kTorn;
  return returning_.trusted() ? Condition::kSound : Condition::kReturned;
}

uint64_t ChainCore::caught_up_view() const {
  return joiner_.keeps_up() ? place_.view.id : 0;
}

bool ChainCore::half_executed() const {
  return (mending_.torn() && !mending_.untouched()) ||
         !disputed_result_.whole();
}

uint64_t ChainCore::settled() const {
  if (is_tail() && ready()) return context_.ring->applied();
  return is_head() ? std::max(completed(), context_.ring->cleaned())
                   : context_.ring->cleaned();
}

TransferStats ChainCore::transfer() const {
  TransferStats stats = transfer_stats_;
  stats.sending = donor_.state() == Donor::State::kCopying;
  stats.receiving = joiner_.state() == Joiner::State::kReceiving;
  return stats;
}

bool ChainCore::has_state() const {
  return context_.record->state().condition != Condition::kReceiving;
}

bool ChainCore::may_catch_up() const {
  const NodeState& state = context_.record->state();
  return options_.keep_changes > absl::ZeroDuration() && !place_.inside() &&
         state.condition == Condition::kSound && state.view_id != 0 &&
         state.epoch == place_.view.epoch && state.disputed == 0 &&
         !scrub_.in_doubt() && !damage_.condemned();
}

bool ChainCore::behind() const {
  return context_.record->state().condition == Condition::kBehind;
}

void ChainCore::Record(Condition condition) {
  NodeState state = context_.record->state();
  if (state.condition == condition) return;
  state.condition = condition;
  context_.record->Update(state);
}

bool ChainCore::may_compare() const {
  return scrub_.takes_part() && !outbox_.failed() && !damage_.condemned() &&
         place_.inside() && !dispute_.open() &&
         condition() == Condition::kSound;
}

// --- Views.

void ChainCore::OnView(const View& view, absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (outbox_.failed() || damage_.condemned()) return;
  if (view.chain_id != options_.chain_id) {
    return outbox_.Fail(absl::FailedPreconditionError(
        absl::StrCat("was given a view of chain ", view.chain_id,
                     "; this node is one of chain ", options_.chain_id)));
  }
  if (view.id <= place_.view.id) return;
  const int index = PlaceIn(view);
  if (index >= 0 && view.id <= context_.record->state().view_id &&
      view.epoch <= context_.record->state().epoch) {
    return outbox_.Fail(absl::FailedPreconditionError(
        absl::StrCat("view ", view.id,
                     " takes this node in, but its heap "
                     "holds data of view ",
                     context_.record->state().view_id,
                     ": the store of views was emptied; restore it, or move "
                     "the data away")));
  }
  NoteOnTheWay(view);
  LeaveView(now);
  history_.OnView(place_.view, place_.inside(), view, index >= 0 && has_state(),
                  !mending_.torn() && !dispute_.open(), now);
  place_.view = view;
  place_.index = index;
  outbox_.set_view_id(place_.view.id);
  announcements_.Enter(place_.view, place_.index);
  if (!place_.inside()) return joiner_.Aim(place_.view, now);
  EnterView(now);
}

int ChainCore::PlaceIn(const View& view) const {
  const int index = view.IndexOf(options_.node_id, options_.incarnation);
  if (index < 0) return index;
  // A process on a stale copy of the files may get the same incarnation.
  const std::string& named = view.members[index].heap_id;
  const std::string held = BytesOf(context_.record->state().heap_id);
  return named.empty() || held.empty() || named == held ? index : -1;
}

void ChainCore::LeaveView(absl::Time now) {
  donor_.Leave(now);
  downstream_.Leave();
  completions_.Leave();
  joiner_.Leave();
  upstream_.Leave();
  mending_.Leave();
  returning_.Leave();
  scrub_.Leave();
  append_debt_.Forgive();
  completion_debt_.Forgive();
  link_watch_.Leave();
}

void ChainCore::EnterView(absl::Time now) {
  link_watch_.Enter(now);
  NodeState state = context_.record->state();
  state.view_id = place_.view.id;
  state.view_digest = place_.view.digest;
  TakeOrigin(&state);
  state.alone = role() == Role::kSingle;
  if (state.condition == Condition::kFresh) {
    // Before the first view no node can hold anything.
    if (place_.view.id == 1) returning_.Forget();
    state.condition = Condition::kSound;
  }
  context_.record->Update(state);
  if (!has_state()) return;  // the manager learns of it, and expels this node
  if (is_head() && behind()) {
    return outbox_.Fail(absl::FailedPreconditionError(
        absl::StrCat("this node is to be head of view ", place_.view.id,
                     " but may lack what the chain has acknowledged")));
  }
  if (mending_.torn() && role() == Role::kSingle) {
    return outbox_.Fail(absl::UnavailableError(
        absl::StrCat("mutations after ", context_.ring->applied(),
                     " were interrupted, and no other node is left to repair "
                     "them from; start another node of the last view")));
  }
  if (disputed_result_.lost()) return outbox_.Fail(disputed_result_.Lost());
  const Member* next = place_.successor();
  returning_.Enter(place_.predecessor() != nullptr, next != nullptr);
  CheckReturned();
  completions_.Know(context_.ring->cleaned());
  if (!is_tail()) donor_.EndRetaining();
  dispute_.ForgetVotes();
  if (dispute_.open() && is_head()) disputed_result_.Keep();
  if (outbox_.failed()) return;
  if (role() == Role::kSingle) scrub_.OnAlone();

  // This process crashed on it once while executing it again.
  if (TakesBackAlone(options_.mode) && is_head() &&
      deadly_.redone() == context_.ring->applied() + 1) {
    DropInterrupted();
  }
  // Entries in the ring were acknowledged upstream: they are executed in any
  // role.
  ExecuteReceived();
  if (next != nullptr) downstream_.Enter(*next, now);
  if (role() == Role::kHead) completions_.EnterAsHead();
  if (role() == Role::kTail) completions_.EnterAsTail(place_.view.head(), now);
  // Section 5.2: a new tail completes entries whether or not the old one
  // forwarded them.
  if (is_tail()) CompleteAsTail();
}

void ChainCore::TakeOrigin(NodeState* state) const {
  state->epoch = place_.view.epoch;
  state->cluster_uuid = UuidFrom(place_.view.cluster_uuid);
}

void ChainCore::OnHeapVoid() {
  history_.Forget();
  dispute_.End();
  ForgetInterrupted();
  returning_.Forget();
  NodeState state = context_.record->state();
  LOG_IF(WARNING, state.epoch != 0 && state.epoch < place_.view.epoch)
      << "this node discards its data of recovery epoch " << state.epoch
      << ": the chain has been recovered by force since, and is in epoch "
      << place_.view.epoch;
  TakeOrigin(&state);
  context_.record->Update(state);
}

void ChainCore::DiscardState() {
  history_.Forget();
  context_.copy->BeginReceiving();
  dispute_.End();
  ForgetInterrupted();
  returning_.Forget();
  upstream_.Leave();
  downstream_.Leave();
  completions_.Leave();
  joiner_.Leave();
}

// --- Links and time.

void ChainCore::OnLinkOpened(LinkId link, absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  Hello hello;
  if (!downstream_.OnOpened(link, now, &hello) &&
      !completions_.OnOpened(link, now, &hello) &&
      !joiner_.OnOpened(link, now, may_resume(),
                        may_catch_up() ? &context_.record->state() : nullptr,
                        &hello)) {
    return;  // of an older view
  }
  DescribeNode(options_, context_.record->state(), &hello);
  *outbox_.Send(link).mutable_hello() = std::move(hello);
}

void ChainCore::OnLinkClosed(LinkId link, absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (link != kNoLink) Lose(link, now);
}

void ChainCore::Lose(LinkId link, absl::Time now) {
  damage_.OnLinkClosed(link);
  upstream_.OnClosed(link);
  completions_.OnClosed(link, now);
  mending_.OnLinkClosed(link);
  if (donor_.OnClosed(link, now)) return;
  downstream_.OnClosed(link, now);
  joiner_.OnClosed(link, now);
}

void ChainCore::OnTick(absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (outbox_.failed()) return;
  damage_.OnTick(now);
  if (outbox_.failed() || damage_.condemned()) return;
  joiner_.OnTick(now);
  if (!place_.inside()) return;
  if (donor_.state() != Donor::State::kCopying) history_.OnTick(now);
  scrub_.OnTick(now);
  downstream_.OnTick(now);
  completions_.OnTick(now);
  mending_.OnTick(now);
  ContinueDispute(now);
  if (donor_.OnTick(now) && is_tail()) CompleteAsTail();
  append_debt_.Update(downstream_.waits() || announcements_.waits(),
                      downstream_.acked() + announcements_.answers(), now);
  completion_debt_.Update(
      role() == Role::kHead && context_.ring->applied() > settled(), settled(),
      now);
  NoteLinks(now);
}

void ChainCore::OnStoodStill(absl::Duration time,
                             absl::Duration failure_timeout) {
  append_debt_.StoodStill(time, failure_timeout);
  completion_debt_.StoodStill(time, failure_timeout);
}

void ChainCore::OnInvited(bool invited, absl::Time now, Actions* actions) {
  joiner_.OnInvited(invited, now);
  OnTick(now, actions);
}

void ChainCore::EndOfBatch(absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (outbox_.failed() || damage_.condemned() ||
      (!place_.inside() && joiner_.link() == kNoLink)) {
    return;
  }
  joiner_.Acknowledge();
  completions_.Report(donor_.held_at().value_or(context_.ring->applied()));
  if (!half_executed()) donor_.Continue(now);
  // After everything that may append or clean: it sends bytes in the ring.
  AdoptDeadly(now);
  scrub_exchange_.Continue(may_compare(), now);
  downstream_.Pump(deadly_.Beyond(KnownComplete()));
  upstream_.Acknowledge(behind(), now);
}

// --- Log entries.

absl::Status ChainCore::AppendLocal(absl::Span<const Mutation* const> mutations,
                                    const engine::WriteSet& write_set,
                                    const engine::AfterImage& image) {
  CHECK(is_head()) << "only the head appends by itself";
  LogEntryDraft draft;
  draft.first = next_sequence();
  draft.chain_id = options_.chain_id;
  draft.view_id = place_.view.id;
  draft.mutations = mutations;
  if (!mutations.empty()) draft.skipped = mutations.back()->skipped;
  draft.write_set = &write_set;
  draft.image = &image;
  const auto image_of = [this](const engine::Intent& intent) {
    return *context_.executor->ImageOf(intent);
  };
  if (CarriesImages(options_.mode)) draft.image_of.emplace(image_of);
  if (options_.max_entry_bytes != 0 &&
      draft.bytes() > options_.max_entry_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "log entry of ", draft.bytes(),
        " bytes; the chain's links take at most ", options_.max_entry_bytes));
  }
  if (TakesBackAlone(options_.mode)) {
    RETURN_IF_ERROR(CheckUndoLogsHold(write_set, context_.ring->bytes_total()));
  }
  absl::Status appended = context_.ring->Append(draft);
  if (appended.ok()) scrub_.OnWritten(write_set);
  if (appended.ok() && options_.on_appended) {
    options_.on_appended(context_.ring->EntryOf(draft.first));
  }
  return appended;
}

void ChainCore::CommitLocal(Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  context_.ring->MarkApplied(context_.ring->received());
  AfterApplied();
}

bool ChainCore::LeaveAsDamaged(const absl::Status& found, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  // The predecessor has applied everything that this node has; the successor
  // has everything completed once it has acknowledged that.
  const bool held = upstream_.attached() ||
                    (downstream_.replicates() && !downstream_.joins() &&
                     downstream_.acked() >= settled());
  if (!held || !place_.inside() || dispute_.open() ||
      condition() != Condition::kSound) {
    LOG_EVERY_N(ERROR, 100)
        << "this node's data is damaged, and no other node is known to hold "
           "all of it: "
        << found.message();
    return false;
  }
  damage_.EndNow(absl::StrCat("an object cannot be read: ", found.message()));
  return true;
}

void ChainCore::SendSync(LinkId link) {
  announcements_.TellIn(upstream_.SendSync(link, behind()));
}

void ChainCore::ExecuteReceived() {
  if (mending_.torn() || dispute_.open()) return;
  if (context_.ring->applied() == context_.ring->received()) return;
  const auto dissent = execution_.Run(place_);
  if (outbox_.failed()) return;
  if (dissent.has_value()) return OnDissent(*dissent);
  AfterApplied();
}

void ChainCore::AfterApplied() {
  history_.OnApplied();
  context_.ring->PersistApplied();  // invariant 4
  CheckCaughtUp();
  CheckReturned();
  if (is_tail()) CompleteAsTail();
  if (joiner_.follows()) CleanTo(context_.ring->applied());
}

void ChainCore::CompleteAsTail() {
  deadly_.OnComplete(context_.ring->applied());
  const uint64_t complete = donor_.MayComplete();
  if (is_head()) completions_.CompleteTo(complete);
  completions_.Owe();
  if (!donor_.KeepsRing()) CleanTo(complete);
}

void ChainCore::CleanTo(uint64_t sequence) {
  // All nodes have applied cleaned entries, so they are completed as well.
  if (is_head()) completions_.CompleteTo(sequence);
  if (sequence <= context_.ring->cleaned()) return;
  context_.ring->Clean(sequence);
  upstream_.OnCleaned();
}

void ChainCore::GoOnMended(Mending::Mended mended) {
  if (!mended.has_value()) return;
  if (*mended == Mend::kBack) {
    if (dispute_.open()) disputed_result_.Drop();
    // This process crashed on it once while executing it again.
    if (deadly_.redone() == context_.ring->applied() + 1) DropInterrupted();
    return ExecuteReceived();
  }
  NoteDeadly(context_.ring->applied(), context_.ring->received());
  context_.ring->MarkApplied(context_.ring->received());
  SendSync(upstream_.link());
  AfterApplied();
}

void ChainCore::CheckCaughtUp() {
  if (joiner_.OnApplied()) Record(Condition::kSound);
}

void ChainCore::CheckReturned() {
  if (returning_.trusted()) return;
  if (returning_.after() == Returning::Word::kAgrees) upstream_.AskAgain();
  returning_.Check();
}

}  // namespace kamino::replica
