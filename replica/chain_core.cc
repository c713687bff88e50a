#include "replica/chain_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::replica {

using kamino::internal::v1::Hello;
using kamino::internal::v1::LINK_PURPOSE_APPEND;
using kamino::internal::v1::LINK_PURPOSE_COMPLETION;
using kamino::internal::v1::LINK_PURPOSE_TRANSFER;
using kamino::internal::v1::LinkPurpose;
using membership::Condition;
using membership::Member;
using membership::Role;
using membership::View;

namespace {

// Longer than the time between two ticks.
constexpr absl::Duration kPacedBurst = absl::Milliseconds(50);

// Attempts to reach a neighbour before they are reconnect_delay apart; each
// waits twice as long as the one before.
constexpr int kFailuresToSlow = 4;

}  // namespace

ChainCore::ChainCore(ChainOptions options, OperationRing* ring,
                     NodeRecord* record, Executor* executor, StateCopy* copy)
    : options_(std::move(options)),
      ring_(ring),
      record_(record),
      executor_(executor),
      copy_(copy),
      mending_(ring, executor, &outbox_, options_.fetch_timeout),
      mending_source_(ring, executor, &outbox_),
      returning_(ring, record->state().heap == HeapState::kFresh ||
                               record->state().heap == HeapState::kComplete
                           ? Returning::State::kReturned
                           : Returning::State::kTrusted),
      completed_(ring->cleaned()),
      chunk_pacer_(options_.transfer_bytes_per_s, kPacedBurst) {
  if (!mending_.torn() || record_->state().heap != HeapState::kBehind) return;
  // The chain completes without a node that joins: its neighbours may hold
  // more of the interrupted operations' objects than those operations made.
  LOG(WARNING) << "this node was interrupted while it joined; it begins again";
  copy_->BeginReceiving();
  mending_.Forget();
}

bool ChainCore::is_head() const {
  return role() == Role::kHead || role() == Role::kSingle;
}

bool ChainCore::is_tail() const {
  return role() == Role::kTail || role() == Role::kSingle;
}

bool ChainCore::ready() const {
  return !outbox_.failed() && index_ >= 0 && condition() == Condition::kSound;
}

Condition ChainCore::condition() const {
  switch (record_->state().heap) {
    case HeapState::kFresh:
      return Condition::kFresh;
    case HeapState::kReceiving:
      return Condition::kReceiving;
    case HeapState::kBehind:
      return Condition::kBehind;
    case HeapState::kComplete:
      break;
  }
  if (returning_.outrun()) return Condition::kOutrun;
  if (mending_.torn()) return Condition::kTorn;
  return returning_.trusted() ? Condition::kSound : Condition::kReturned;
}

uint64_t ChainCore::settled() const {
  if (is_tail() && ready()) return ring_->applied();
  return is_head() ? std::max(completed_, ring_->cleaned()) : ring_->cleaned();
}

bool ChainCore::has_state() const {
  return record_->state().heap != HeapState::kReceiving;
}

void ChainCore::UpdateHeapState(HeapState heap) {
  NodeState state = record_->state();
  if (state.heap == heap) return;
  state.heap = heap;
  record_->Update(state);
}

// --- Views.

void ChainCore::OnView(const View& view, absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (outbox_.failed() || view.id <= view_.id) return;
  const int index = view.IndexOf(options_.node_id, options_.incarnation);
  if (index >= 0 && view.id <= record_->state().view_id) {
    return outbox_.Fail(absl::FailedPreconditionError(
        absl::StrCat("view ", view.id,
                     " takes this node in, but its heap "
                     "holds data of view ",
                     record_->state().view_id,
                     ": the store of views was emptied; restore it, or move "
                     "the data away")));
  }
  LeaveView(now);
  view_ = view;
  outbox_.set_view_id(view_.id);
  index_ = index;
  if (index_ < 0) {
    donor_.retry_at = now;
    return;
  }
  EnterView(now);
}

void ChainCore::LeaveView(absl::Time now) {
  if (attached_) predecessor_ = kNoLink;  // the same link as donor_'s
  for (LinkId* link : {&successor_.link, &completion_.link, &donor_.link,
                       &predecessor_, &completion_from_}) {
    if (*link != kNoLink) outbox_.Close(*link);
    *link = kNoLink;
  }
  if (!joining_node_.empty() && successor_.ready) {
    retain_until_ = now + options_.retain;
  }
  StopSending();
  joining_node_.clear();
  successor_ = Outgoing();
  completion_ = Outgoing();
  donor_ = Outgoing();
  mending_.Leave();
  returning_.Leave();
  catch_up_to_.reset();
  attached_ = false;
  transfer_.receiving = false;
  owe_ack_ = owe_completion_ = owe_clean_up_ = owe_sync_ = false;
  owe_chunk_ack_ = false;
  awaiting_resend_ = ring_was_full_ = false;
}

void ChainCore::EnterView(absl::Time now) {
  NodeState state = record_->state();
  state.view_id = view_.id;
  if (state.heap == HeapState::kFresh) {
    // Of the first view nobody can hold anything.
    if (view_.id == 1) returning_.Forget();
    state.heap = HeapState::kComplete;
  }
  record_->Update(state);
  if (!has_state()) return;  // the manager learns of it, and leaves us out
  if (is_head() && state.heap == HeapState::kBehind) {
    return outbox_.Fail(absl::FailedPreconditionError(
        absl::StrCat("this node is to be head of view ", view_.id,
                     " but may lack what the chain has acknowledged")));
  }
  if (mending_.torn() && role() == Role::kSingle) {
    return outbox_.Fail(absl::UnavailableError(
        absl::StrCat("operations after ", ring_->applied(),
                     " were interrupted, and no other node is left to mend "
                     "them by; start another node of the last view")));
  }
  returning_.Enter(view_.Predecessor(index_) != nullptr,
                   view_.Successor(index_) != nullptr);
  CheckReturned();
  completed_ = std::max(completed_, ring_->cleaned());
  if (!is_tail()) retain_until_.reset();

  // What is in the ring was acknowledged upstream: it is executed whatever the
  // new role.
  ExecuteReceived();
  if (const Member* next = view_.Successor(index_)) {
    Open(&successor_, *next, LINK_PURPOSE_APPEND, now);
  }
  if (const Member* head = CompletionTarget()) {
    Open(&completion_, *head, LINK_PURPOSE_COMPLETION, now);
  }
  // Section 5.2: a new tail completes what the old one forwarded or not.
  if (is_tail()) CompleteAsTail();
}

const Member* ChainCore::CompletionTarget() const {
  return role() == Role::kTail && has_state() ? &view_.head() : nullptr;
}

const Member* ChainCore::SuccessorTarget() const {
  return has_state() ? view_.Successor(index_) : nullptr;
}

// --- Links.

void ChainCore::Open(Outgoing* outgoing, const Member& member,
                     LinkPurpose purpose, absl::Time now) {
  outgoing->link = outbox_.Open(member, purpose);
  outgoing->opened = outgoing->ready = false;
  outgoing->retry_at = absl::InfiniteFuture();
  outgoing->give_up_at = now + options_.connect_timeout;
}

void ChainCore::CloseOutgoing(Outgoing* outgoing, absl::Time now) {
  if (outgoing->link != kNoLink) outbox_.Close(outgoing->link);
  if (outgoing == &donor_) {
    if (attached_) predecessor_ = kNoLink;
    attached_ = transfer_.receiving = false;
  }
  const int failures = outgoing->ready ? 1 : outgoing->failures + 1;
  *outgoing = Outgoing();
  outgoing->failures = std::min(failures, kFailuresToSlow);
  absl::Duration delay =
      options_.reconnect_delay / (1 << (kFailuresToSlow - outgoing->failures));
  // A tail that cannot have us join now will not at once.
  if (outgoing == &donor_) delay = 10 * options_.reconnect_delay;
  outgoing->retry_at = now + delay;
}

void ChainCore::OnLinkOpened(LinkId link, absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  for (Outgoing* outgoing : {&successor_, &completion_, &donor_}) {
    if (link != outgoing->link) continue;
    outgoing->give_up_at = now + options_.hello_timeout;
  }
  Hello hello;
  if (link == successor_.link) {
    successor_.opened = true;
    hello.set_purpose(LINK_PURPOSE_APPEND);
    hello.set_applied(ring_->applied());
    hello.set_cleaned(ring_->cleaned());
  } else if (link == completion_.link) {
    completion_.opened = true;
    hello.set_purpose(LINK_PURPOSE_COMPLETION);
  } else if (link == donor_.link) {
    donor_.opened = true;
    hello.set_purpose(LINK_PURPOSE_TRANSFER);
    hello.set_applied(ring_->applied());
    hello.set_resume(condition() == Condition::kBehind && !mending_.torn());
  } else {
    return;  // of an older view
  }
  hello.set_cluster_id(options_.cluster_id);
  hello.set_node_id(options_.node_id);
  hello.set_heap_bytes(options_.heap_bytes);
  hello.mutable_agreement()->insert(options_.agreement.begin(),
                                    options_.agreement.end());
  *outbox_.Send(link).mutable_hello() = std::move(hello);
}

void ChainCore::OnLinkClosed(LinkId link, absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (link == kNoLink) return;
  if (link == predecessor_) predecessor_ = kNoLink;
  if (link == completion_from_) completion_from_ = kNoLink;
  mending_.OnLinkClosed(link);
  if (link == successor_.link && !joining_node_.empty()) {
    return LoseJoining(now);
  }
  for (Outgoing* outgoing : {&successor_, &completion_, &donor_}) {
    if (link != outgoing->link) continue;
    outgoing->link = kNoLink;
    CloseOutgoing(outgoing, now);
  }
}

void ChainCore::TickOutgoing(Outgoing* outgoing, const Member* member,
                             LinkPurpose purpose, absl::Time now) {
  if (member == nullptr) return;
  if (outgoing->link != kNoLink && !outgoing->ready &&
      now >= outgoing->give_up_at) {
    CloseOutgoing(outgoing, now);
  }
  if (outgoing->link == kNoLink && now >= outgoing->retry_at) {
    Open(outgoing, *member, purpose, now);
  }
}

void ChainCore::OnTick(absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (outbox_.failed()) return;
  TickOutgoing(&donor_, JoiningTarget(), LINK_PURPOSE_TRANSFER, now);
  if (index_ < 0) return;
  TickOutgoing(&successor_, SuccessorTarget(), LINK_PURPOSE_APPEND, now);
  TickOutgoing(&completion_, CompletionTarget(), LINK_PURPOSE_COMPLETION, now);
  mending_.OnTick(now);
  if (retain_until_.has_value() && now >= *retain_until_) {
    retain_until_.reset();
    if (is_tail()) CompleteAsTail();
  }
}

std::vector<ChainCore::LinkState> ChainCore::links() const {
  std::vector<LinkState> states;
  if (donor_.link != kNoLink) {
    states.push_back(
        {view_.tail().node_id, "joining", donor_.link, donor_.ready});
  }
  if (index_ < 0) return states;
  if (!joining_node_.empty()) {
    states.push_back(
        {joining_node_, "joining", successor_.link, successor_.ready});
  }
  if (const Member* member = view_.Predecessor(index_)) {
    states.push_back({member->node_id, "predecessor", predecessor_,
                      predecessor_ != kNoLink});
  }
  if (const Member* member = view_.Successor(index_)) {
    states.push_back(
        {member->node_id, "successor", successor_.link, successor_.ready});
  }
  if (const Member* member = CompletionTarget()) {
    states.push_back(
        {member->node_id, "completion", completion_.link, completion_.ready});
  } else if (role() == Role::kHead) {
    states.push_back({view_.tail().node_id, "completion", completion_from_,
                      completion_from_ != kNoLink});
  }
  return states;
}

// --- Messages.

bool ChainCore::CheckView(LinkId link, const Message& message) {
  if (message.view_id() == view_.id &&
      (index_ >= 0 || (link == donor_.link && link != kNoLink))) {
    return true;
  }
  if (message.view_id() > view_.id) {
    outbox_.FetchView();
    // Only a Hello is worth an answer: its sender tries again soon, and by
    // then we have caught up.
    if (!message.has_hello()) return false;
  }
  outbox_.Reject(
      link,
      absl::StrCat("a message of view ", message.view_id(), " reached ",
                   options_.node_id, " in view ", view_.id),
      /*behind=*/false);
  return false;
}

void ChainCore::OnMessage(LinkId link, const Message& message, absl::Time now,
                          Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (outbox_.failed()) return;
  if (message.has_reject()) return OnReject(link, message, now);
  if (!CheckView(link, message)) return;
  switch (message.message_case()) {
    case Message::kHello:
      return OnHello(link, message.hello(), now);
    case Message::kSync:
      return OnSync(link, message.sync(), now);
    case Message::kAppend:
      return OnAppend(link, message.append());
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
      if (!outbox_.Belongs(link == successor_.link)) return;
      chunks_acked_ =
          std::min(chunks_sent_,
                   std::max(chunks_acked_, message.state_chunk_ack().chunks()));
      return;
    case Message::kStateBegin:
    case Message::kStateChunk:
    case Message::kStateCut:
      if (!outbox_.Belongs(link == donor_.link)) return;
      return OnTransferMessage(message, now);
    case Message::kReject:
    case Message::MESSAGE_NOT_SET:
      outbox_.CountMalformed();
      LOG(WARNING) << "ignored an empty chain message";
      return;
  }
}

void ChainCore::OnReject(LinkId link, const Message& message, absl::Time now) {
  if (message.view_id() > view_.id) outbox_.FetchView();
  if (link == kNoLink) return;
  if (link == predecessor_ && message.view_id() == view_.id &&
      message.reject().behind() &&
      (condition() == Condition::kBehind ||
       (mending_.Asks(link) && !returning_.trusted()))) {
    LOG(WARNING) << "this node's state is of no use any more: "
                 << message.reject().reason();
    return DiscardState();
  }
  for (Outgoing* outgoing : {&successor_, &completion_, &donor_}) {
    if (link != outgoing->link) continue;
    VLOG(1) << "turned away: " << message.reject().reason();
    if (outgoing == &successor_ && !joining_node_.empty()) continue;
    CloseOutgoing(outgoing, now);
  }
}

}  // namespace kamino::replica
