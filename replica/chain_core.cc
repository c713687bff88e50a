#include "replica/chain_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::replica {

using kamino::internal::v1::Append;
using kamino::internal::v1::Hello;
using kamino::internal::v1::LINK_PURPOSE_APPEND;
using kamino::internal::v1::LINK_PURPOSE_COMPLETION;
using kamino::internal::v1::LinkPurpose;
using kamino::internal::v1::Sync;
using membership::Member;
using membership::Role;
using membership::View;

ChainCore::ChainCore(ChainOptions options, OperationRing* ring,
                     Executor* executor)
    : options_(std::move(options)),
      ring_(ring),
      executor_(executor),
      completed_(ring->cleaned()) {}

bool ChainCore::is_head() const {
  return role() == Role::kHead || role() == Role::kSingle;
}

bool ChainCore::is_tail() const {
  return role() == Role::kTail || role() == Role::kSingle;
}

ChainCore::Message ChainCore::NewMessage() const {
  Message message;
  message.set_view_id(view_.id);
  return message;
}

void ChainCore::Send(LinkId link, Message message, Actions* actions) const {
  actions->send.push_back({link, std::move(message)});
}

void ChainCore::Fatal(absl::Status status, Actions* actions) {
  failed_ = true;
  if (actions->fatal.ok()) actions->fatal = std::move(status);
}

// --- Views and links.

void ChainCore::OnView(const View& view, absl::Time now, Actions* actions) {
  if (failed_ || view.id <= view_.id) return;
  for (LinkId* link : {&successor_.link, &completion_.link, &predecessor_,
                       &completion_from_}) {
    if (*link != kNoLink) actions->close.push_back(*link);
    *link = kNoLink;
  }
  successor_ = Outgoing();
  completion_ = Outgoing();
  view_ = view;
  index_ = view.IndexOf(options_.node_id, options_.incarnation);
  owe_ack_ = owe_completion_ = owe_clean_up_ = owe_sync_ = false;
  awaiting_resend_ = ring_was_full_ = false;
  if (index_ < 0) return;
  completed_ = std::max(completed_, ring_->cleaned());

  // What is in the ring was acknowledged upstream: it is executed whatever the
  // new role.
  ExecuteReceived(actions);
  if (const Member* next = view_.Successor(index_)) {
    Open(&successor_, *next, LINK_PURPOSE_APPEND, now, actions);
  }
  if (const Member* head = CompletionTarget()) {
    Open(&completion_, *head, LINK_PURPOSE_COMPLETION, now, actions);
  }
  // Section 5.2: a new tail completes what the old one forwarded or not.
  if (is_tail()) CleanTo(ring_->applied(), actions);
}

const Member* ChainCore::CompletionTarget() const {
  return role() == Role::kTail ? &view_.head() : nullptr;
}

void ChainCore::Open(Outgoing* outgoing, const Member& member,
                     LinkPurpose purpose, absl::Time now, Actions* actions) {
  outgoing->link = next_link_;
  next_link_ += 2;
  outgoing->opened = outgoing->ready = false;
  outgoing->retry_at = absl::InfiniteFuture();
  outgoing->give_up_at = now + options_.hello_timeout;
  actions->open.push_back({outgoing->link, member, purpose});
}

void ChainCore::CloseOutgoing(Outgoing* outgoing, absl::Time now,
                              Actions* actions) {
  if (outgoing->link != kNoLink) actions->close.push_back(outgoing->link);
  *outgoing = Outgoing();
  outgoing->retry_at = now + options_.reconnect_delay;
}

void ChainCore::OnLinkAccepted(LinkId, absl::Time) {
  // Nothing is known of it before its Hello.
}

void ChainCore::OnLinkOpened(LinkId link, absl::Time, Actions* actions) {
  const bool to_successor = link == successor_.link;
  if (!to_successor && link != completion_.link) return;  // of an older view
  (to_successor ? successor_ : completion_).opened = true;
  Message message = NewMessage();
  Hello* hello = message.mutable_hello();
  hello->set_cluster_id(options_.cluster_id);
  hello->set_node_id(options_.node_id);
  hello->set_heap_bytes(options_.heap_bytes);
  hello->set_purpose(to_successor ? LINK_PURPOSE_APPEND
                                  : LINK_PURPOSE_COMPLETION);
  Send(link, std::move(message), actions);
}

void ChainCore::OnLinkClosed(LinkId link, absl::Time now, Actions* actions) {
  if (link == kNoLink) return;
  if (link == predecessor_) predecessor_ = kNoLink;
  if (link == completion_from_) completion_from_ = kNoLink;
  for (Outgoing* outgoing : {&successor_, &completion_}) {
    if (link != outgoing->link) continue;
    outgoing->link = kNoLink;
    CloseOutgoing(outgoing, now, actions);
  }
}

void ChainCore::TickOutgoing(Outgoing* outgoing, const Member* member,
                             LinkPurpose purpose, absl::Time now,
                             Actions* actions) {
  if (member == nullptr) return;
  if (outgoing->link != kNoLink && !outgoing->ready &&
      now >= outgoing->give_up_at) {
    CloseOutgoing(outgoing, now, actions);
  }
  if (outgoing->link == kNoLink && now >= outgoing->retry_at) {
    Open(outgoing, *member, purpose, now, actions);
  }
}

void ChainCore::OnTick(absl::Time now, Actions* actions) {
  if (failed_ || index_ < 0) return;
  TickOutgoing(&successor_, view_.Successor(index_), LINK_PURPOSE_APPEND, now,
               actions);
  TickOutgoing(&completion_, CompletionTarget(), LINK_PURPOSE_COMPLETION, now,
               actions);
}

std::vector<ChainCore::LinkState> ChainCore::links() const {
  std::vector<LinkState> states;
  if (index_ < 0) return states;
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

bool ChainCore::CheckView(LinkId link, const Message& message,
                          Actions* actions) {
  if (message.view_id() == view_.id && index_ >= 0) return true;
  if (message.view_id() > view_.id) {
    actions->fetch_view = true;
    // Only a Hello is worth an answer: its sender tries again soon, and by
    // then we have caught up.
    if (!message.has_hello()) return false;
  }
  Message answer = NewMessage();
  answer.mutable_reject()->set_reason(
      absl::StrCat("a message of view ", message.view_id(), " reached ",
                   options_.node_id, " in view ", view_.id));
  Send(link, std::move(answer), actions);
  return false;
}

void ChainCore::OnMessage(LinkId link, const Message& message, absl::Time now,
                          Actions* actions) {
  if (failed_) return;
  if (message.has_reject()) return OnReject(link, message, now, actions);
  if (!CheckView(link, message, actions)) return;
  switch (message.message_case()) {
    case Message::kHello:
      return OnHello(link, message.hello(), actions);
    case Message::kSync:
      return OnSync(link, message.sync(), actions);
    case Message::kAppend:
      return OnAppend(link, message.append(), actions);
    case Message::kAppendAck:
      return OnAppendAck(link, message.append_ack().received(), actions);
    case Message::kCompletion:
      return OnCompletion(link, message.completion().applied(), actions);
    case Message::kCleanUp:
      return OnCleanUp(link, message.clean_up().cleaned(), actions);
    case Message::kReject:
    case Message::MESSAGE_NOT_SET:
      LOG(WARNING) << "ignored an empty chain message";
      return;
  }
}

void ChainCore::OnReject(LinkId link, const Message& message, absl::Time now,
                         Actions* actions) {
  if (message.view_id() > view_.id) actions->fetch_view = true;
  for (Outgoing* outgoing : {&successor_, &completion_}) {
    if (link != outgoing->link) continue;
    VLOG(1) << "turned away: " << message.reject().reason();
    CloseOutgoing(outgoing, now, actions);
  }
}

void ChainCore::OnAppendAck(LinkId link, uint64_t received, Actions* actions) {
  if (link != successor_.link) return;
  // Acknowledgements come before clean-ups, so the entries are still here.
  while (acked_ < std::min(received, sent_)) {
    ++acked_;
    if (acked_ <= ring_->cleaned()) continue;
    sent_bytes_ -= std::min<uint64_t>(sent_bytes_, ring_->Entry(acked_).size());
  }
  if (acked_ == sent_) sent_bytes_ = 0;
  PumpSuccessor(actions);
}

std::string ChainCore::RefuseHello(const Hello& hello) const {
  if (hello.cluster_id() != options_.cluster_id) {
    return absl::StrCat("this is cluster ", options_.cluster_id, ", not ",
                        hello.cluster_id());
  }
  if (hello.heap_bytes() != options_.heap_bytes) {
    return absl::StrCat("heaps differ in size: ", options_.heap_bytes,
                        " bytes here, ", hello.heap_bytes(), " there");
  }
  const Member* expected = nullptr;
  if (hello.purpose() == LINK_PURPOSE_APPEND) {
    expected = view_.Predecessor(index_);
  } else if (hello.purpose() == LINK_PURPOSE_COMPLETION &&
             role() == Role::kHead) {
    expected = &view_.tail();
  }
  if (expected == nullptr || expected->node_id != hello.node_id()) {
    return absl::StrCat(hello.node_id(), " is not the neighbour of ",
                        options_.node_id, " in view ", view_.id);
  }
  return "";
}

void ChainCore::OnHello(LinkId link, const Hello& hello, Actions* actions) {
  const std::string refusal = RefuseHello(hello);
  if (!refusal.empty()) {
    LOG(WARNING) << "turned a link away: " << refusal;
    Message answer = NewMessage();
    answer.mutable_reject()->set_reason(refusal);
    Send(link, std::move(answer), actions);
    return;
  }
  const bool appends = hello.purpose() == LINK_PURPOSE_APPEND;
  LinkId* place = appends ? &predecessor_ : &completion_from_;
  if (*place != kNoLink && *place != link) actions->close.push_back(*place);
  *place = link;
  if (appends) awaiting_resend_ = false;
  Message answer = NewMessage();
  Sync* sync = answer.mutable_sync();
  sync->set_received(ring_->received());
  sync->set_applied(ring_->applied());
  sync->set_cleaned(ring_->cleaned());
  Send(link, std::move(answer), actions);
}

void ChainCore::OnSync(LinkId link, const Sync& sync, Actions* actions) {
  if (link == completion_.link) {
    completion_.ready = true;
    owe_completion_ = true;
    return;
  }
  if (link != successor_.link) return;
  if (sync.received() > ring_->received() ||
      sync.received() < ring_->cleaned()) {
    return Fatal(absl::DataLossError(absl::StrCat(
                     "the successor has received up to ", sync.received(),
                     ", which this node's ring cannot continue: it holds (",
                     ring_->cleaned(), ", ", ring_->received(), "]")),
                 actions);
  }
  successor_.ready = true;
  sent_ = acked_ = sync.received();
  sent_bytes_ = 0;
  OnCleanUp(link, sync.cleaned(), actions);
  PumpSuccessor(actions);
}

void ChainCore::OnAppend(LinkId link, const Append& append, Actions* actions) {
  if (link != predecessor_) return;
  if (append.sequence() <= ring_->received()) {
    owe_ack_ = true;  // sent twice; the first one counts
    return;
  }
  if (append.sequence() != ring_->received() + 1) {
    // What is on its way behind a gap is lost on us; one Sync is enough.
    if (!awaiting_resend_) owe_sync_ = awaiting_resend_ = true;
    return;
  }
  absl::Status appended = ring_->Append(append.sequence(), append.operation());
  if (absl::IsResourceExhausted(appended)) {
    ring_was_full_ = awaiting_resend_ = true;
    return;
  }
  if (!appended.ok()) return Fatal(appended, actions);
  awaiting_resend_ = false;
  owe_ack_ = true;
  ExecuteReceived(actions);
}

void ChainCore::ExecuteReceived(Actions* actions) {
  while (!failed_ && ring_->applied() < ring_->received()) {
    const uint64_t sequence = ring_->applied() + 1;
    absl::Status executed =
        executor_->Execute(sequence, ring_->Entry(sequence));
    if (!executed.ok()) {
      return Fatal(
          absl::Status(executed.code(), absl::StrCat("operation ", sequence,
                                                     ": ", executed.message())),
          actions);
    }
    ring_->MarkApplied(sequence);
  }
  if (failed_) return;
  if (is_tail()) {
    CleanTo(ring_->applied(), actions);
  } else {
    PumpSuccessor(actions);
  }
}

void ChainCore::OnCompletion(LinkId link, uint64_t applied, Actions* actions) {
  if (link != completion_from_ || !is_head()) return;
  CompleteTo(std::min(applied, ring_->applied()), actions);
}

void ChainCore::OnCleanUp(LinkId link, uint64_t cleaned, Actions* actions) {
  if (link != successor_.link) return;
  CleanTo(std::min(cleaned, ring_->applied()), actions);
}

void ChainCore::CompleteTo(uint64_t sequence, Actions* actions) {
  if (sequence <= completed_) return;
  completed_ = sequence;
  actions->completed = sequence;
}

void ChainCore::CleanTo(uint64_t sequence, Actions* actions) {
  // Cleaned means applied by all, so it completes as well.
  if (is_head()) CompleteTo(sequence, actions);
  if (is_tail()) owe_completion_ = true;
  if (sequence <= ring_->cleaned()) return;
  ring_->Clean(sequence);
  owe_clean_up_ = true;
  if (ring_was_full_) {
    ring_was_full_ = false;
    owe_sync_ = true;  // the predecessor goes on from where we stopped
  }
}

void ChainCore::PumpSuccessor(Actions* actions) {
  if (!successor_.ready) return;
  while (sent_ < ring_->applied() &&
         sent_ - acked_ < options_.window_operations &&
         sent_bytes_ < options_.window_bytes) {
    ++sent_;
    const absl::string_view operation = ring_->Entry(sent_);
    sent_bytes_ += operation.size();
    Message message = NewMessage();
    message.mutable_append()->set_sequence(sent_);
    message.mutable_append()->set_operation(operation.data(), operation.size());
    Send(successor_.link, std::move(message), actions);
  }
}

void ChainCore::SendSync(Actions* actions) {
  Message message = NewMessage();
  message.mutable_sync()->set_received(ring_->received());
  message.mutable_sync()->set_applied(ring_->applied());
  message.mutable_sync()->set_cleaned(ring_->cleaned());
  Send(predecessor_, std::move(message), actions);
}

void ChainCore::EndOfBatch(Actions* actions) {
  if (failed_ || index_ < 0) return;
  if (owe_completion_ && completion_.ready) {
    Message message = NewMessage();
    message.mutable_completion()->set_applied(ring_->applied());
    Send(completion_.link, std::move(message), actions);
    owe_completion_ = false;
  }
  if (predecessor_ == kNoLink) return;
  if (owe_sync_) {
    SendSync(actions);
  } else {
    if (owe_ack_) {
      Message message = NewMessage();
      message.mutable_append_ack()->set_received(ring_->received());
      Send(predecessor_, std::move(message), actions);
    }
    if (owe_clean_up_) {
      Message message = NewMessage();
      message.mutable_clean_up()->set_cleaned(ring_->cleaned());
      Send(predecessor_, std::move(message), actions);
    }
  }
  owe_sync_ = owe_ack_ = owe_clean_up_ = false;
}

// --- The head's part.

absl::Status ChainCore::AppendLocal(uint64_t sequence,
                                    absl::string_view operation) {
  CHECK(is_head()) << "only the head appends by itself";
  return ring_->Append(sequence, operation);
}

void ChainCore::CommitLocal(uint64_t sequence, Actions* actions) {
  CHECK_EQ(sequence, ring_->received());
  ring_->MarkApplied(sequence);
  if (is_tail()) {
    CleanTo(sequence, actions);
  } else {
    PumpSuccessor(actions);
  }
}

}  // namespace kamino::replica
