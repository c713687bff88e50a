// A node joins (Kamino-Tx, section 5.2): the tail sends it the heap while the
// chain serves, then a cut, then every operation, as to a successor. Once it
// keeps up, the manager appends it to the chain.
//
// Until then the tail keeps the operations that the node lacks in its ring, and
// so does every node before it; but not beyond half of the ring, and not for
// ever: then the node has to begin again.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "replica/chain_core.h"

namespace kamino::replica {

using kamino::internal::v1::Hello;
using kamino::internal::v1::StateBegin;
using kamino::internal::v1::StateChunk;
using kamino::internal::v1::StateCut;
using membership::Condition;
using membership::Member;

// --- At the tail.

std::string ChainCore::RefuseJoining(const Hello& hello) const {
  if (!is_tail() || condition() != Condition::kSound) {
    return absl::StrCat(options_.node_id, " cannot give its state to ",
                        hello.node_id(), " now");
  }
  if (hello.node_id().empty()) return "a node without a name cannot join";
  for (const Member& member : view_.members) {
    if (member.node_id == hello.node_id()) {
      return absl::StrCat(hello.node_id(), " is in view ", view_.id);
    }
  }
  if (!joining_node_.empty() && joining_node_ != hello.node_id()) {
    return absl::StrCat(joining_node_, " is joining just now");
  }
  return "";
}

void ChainCore::OnHelloTransfer(LinkId link, const Hello& hello) {
  if (successor_.link != kNoLink && successor_.link != link) {
    outbox_.Close(successor_.link);
  }
  StopSending();
  successor_ = Outgoing();
  successor_.link = link;
  joining_node_ = hello.node_id();
  const bool resume = hello.resume() && hello.applied() <= ring_->applied() &&
                      ring_->EndsEntry(hello.applied());
  StateBegin* begin = outbox_.Send(link).mutable_state_begin();
  begin->set_resume(resume);
  begin->set_applied(ring_->applied());
  ++transfer_.begun;
  if (resume) {
    LOG(INFO) << joining_node_ << " goes on after operation "
              << hello.applied();
    return SendOperationsAfter(hello.applied());
  }
  LOG(INFO) << "sending the heap to " << joining_node_;
  copy_->BeginSending();
  transfer_.sending = true;
  transfer_.bytes = 0;
  data_bytes_sent_ = 0;
  chunks_sent_ = chunks_acked_ = 0;
}

void ChainCore::SendOperationsAfter(uint64_t sequence) {
  successor_.ready = true;
  retain_until_.reset();
  ContinueAfter(sequence);
  PumpSuccessor();
}

void ChainCore::SendChunks(absl::Time now) {
  if (!transfer_.sending) return;
  // A heap that changes faster than it is sent is cut with more left to send.
  const size_t limit = transfer_.bytes > 3 * options_.heap_bytes
                           ? 16 * options_.cut_bytes
                           : options_.cut_bytes;
  for (int i = 0; i < options_.chunks_at_once &&
                  chunks_sent_ - chunks_acked_ < options_.window_chunks;
       ++i) {
    if (copy_->BytesLeft() <= limit) return SendCut();
    if (!chunk_pacer_.MayGo(now)) return;
    SendChunk();
  }
}

bool ChainCore::SendChunk() {
  StateChunk chunk;
  if (!copy_->NextChunk(&chunk)) return false;
  ++chunks_sent_;
  transfer_.bytes += chunk.data().size() + chunk.zeros();
  data_bytes_sent_ += chunk.data().size();
  chunk_pacer_.Went(chunk.data().size());
  *outbox_.Send(successor_.link).mutable_state_chunk() = std::move(chunk);
  return true;
}

void ChainCore::SendCut() {
  copy_->PrepareCut();
  while (SendChunk()) {
  }
  StopSending();
  StateCut* cut = outbox_.Send(successor_.link).mutable_state_cut();
  cut->set_sequence(ring_->applied());
  cut->set_chunks(chunks_sent_);
  LOG(INFO) << joining_node_ << " has the heap as of operation "
            << ring_->applied() << ", " << (transfer_.bytes >> 20)
            << " MiB, of which " << (data_bytes_sent_ >> 20) << " were sent";
  SendOperationsAfter(ring_->applied());
}

void ChainCore::StopSending() {
  if (transfer_.sending) copy_->EndSending();
  transfer_.sending = false;
}

void ChainCore::LoseJoining(absl::Time now) {
  if (successor_.ready) retain_until_ = now + options_.retain;
  StopSending();
  joining_node_.clear();
  successor_ = Outgoing();
}

void ChainCore::ForgetJoining() {
  LOG(WARNING) << "operations are kept no longer for the node that joins";
  retain_until_.reset();
  if (joining_node_.empty()) return;
  outbox_.Close(successor_.link);
  StopSending();
  joining_node_.clear();
  successor_ = Outgoing();
}

// --- At the node that joins.

void ChainCore::OnInvited(bool invited, absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (invited && !invited_) donor_.retry_at = std::min(donor_.retry_at, now);
  invited_ = invited;
  OnTick(now, actions);
}

const Member* ChainCore::JoiningTarget() const {
  if (!invited_ || index_ >= 0 || !view_.formed()) return nullptr;
  for (const Member& member : view_.members) {
    if (member.node_id == options_.node_id) return nullptr;
  }
  return &view_.tail();
}

uint64_t ChainCore::caught_up_view() const {
  return attached_ && ring_->applied() >= attached_at_ ? view_.id : 0;
}

void ChainCore::DiscardState() {
  copy_->BeginReceiving();
  mending_.Forget();
  returning_.Forget();
  catch_up_to_.reset();
  for (LinkId* link : {&predecessor_, &successor_.link, &completion_.link}) {
    if (*link != kNoLink) outbox_.Close(*link);
    *link = kNoLink;
  }
  successor_ = Outgoing();
  completion_ = Outgoing();
}

void ChainCore::OnTransferMessage(const Message& message, absl::Time now) {
  absl::Status taken;
  if (message.has_state_begin()) {
    taken = OnStateBegin(message.state_begin());
  } else if (!transfer_.receiving) {
    taken = absl::DataLossError("a state transfer goes on that was not begun");
  } else if (message.has_state_chunk()) {
    taken = copy_->Take(message.state_chunk());
    ++chunks_taken_;
    transfer_.bytes +=
        message.state_chunk().data().size() + message.state_chunk().zeros();
    owe_chunk_ack_ = true;
  } else {
    taken = OnStateCut(message.state_cut());
  }
  if (taken.ok()) return;
  ++transfer_.damaged;
  LOG(WARNING) << "the state transfer begins again: " << taken.message();
  CloseOutgoing(&donor_, now);
}

absl::Status ChainCore::OnStateBegin(const StateBegin& begin) {
  if (donor_.ready) {
    return absl::DataLossError("a state transfer begins within another");
  }
  if (begin.resume() &&
      (condition() != Condition::kBehind || mending_.torn())) {
    return absl::DataLossError(
        "the tail would go on where this node never was");
  }
  donor_.ready = true;
  ++transfer_.begun;
  attached_at_ = begin.applied();
  if (begin.resume()) {
    attached_ = true;
    predecessor_ = donor_.link;
    return absl::OkStatus();
  }
  copy_->BeginReceiving();
  mending_.Forget();
  returning_.Forget();
  transfer_.receiving = true;
  transfer_.bytes = 0;
  chunks_taken_ = 0;
  return absl::OkStatus();
}

absl::Status ChainCore::OnStateCut(const StateCut& cut) {
  if (cut.chunks() != chunks_taken_) {
    return absl::DataLossError(absl::StrCat(cut.chunks(), " chunks were sent, ",
                                            chunks_taken_, " came"));
  }
  if (cut.sequence() < attached_at_) {
    return absl::DataLossError(absl::StrCat("the tail cuts at operation ",
                                            cut.sequence(), ", though it had ",
                                            attached_at_, " when it began"));
  }
  RETURN_IF_ERROR(copy_->FinishReceiving(cut.sequence()));
  transfer_.receiving = false;
  completed_ = ring_->cleaned();
  attached_ = true;
  attached_at_ = cut.sequence();
  predecessor_ = donor_.link;
  owe_clean_up_ = true;
  LOG(INFO) << "this node has the chain's heap as of operation "
            << cut.sequence();
  return absl::OkStatus();
}

}  // namespace kamino::replica
