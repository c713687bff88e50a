// Operations on their way down the chain, and what is acknowledged of them.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "replica/chain_core.h"

namespace kamino::replica {

using kamino::internal::v1::Append;
using kamino::internal::v1::Fetch;
using kamino::internal::v1::Hello;
using kamino::internal::v1::LINK_PURPOSE_APPEND;
using kamino::internal::v1::LINK_PURPOSE_COMPLETION;
using kamino::internal::v1::LINK_PURPOSE_TRANSFER;
using kamino::internal::v1::Sync;
using membership::Condition;
using membership::Member;
using membership::Role;

// --- Handshakes.

std::string ChainCore::RefuseHello(LinkId link, const Hello& hello) const {
  for (LinkId used : {predecessor_, completion_from_, successor_.link,
                      completion_.link, donor_.link}) {
    if (link == used) return "this link has its purpose already";
  }
  if (hello.cluster_id() != options_.cluster_id) {
    return absl::StrCat("this is cluster ", options_.cluster_id, ", not ",
                        hello.cluster_id());
  }
  if (hello.heap_bytes() != options_.heap_bytes) {
    return absl::StrCat("heaps differ in size: ", options_.heap_bytes,
                        " bytes here, ", hello.heap_bytes(), " there");
  }
  const membership::Agreement there(hello.agreement().begin(),
                                    hello.agreement().end());
  if (membership::AgreementBytes(there) > membership::kMaxAgreementBytes) {
    return "what must be alike is too long";
  }
  const std::string misfit = membership::Misfit(
      options_.agreement, options_.node_id, there, hello.node_id());
  if (!misfit.empty()) return misfit;
  if (hello.purpose() == LINK_PURPOSE_TRANSFER) return RefuseJoining(hello);
  if (!has_state()) {
    return absl::StrCat(options_.node_id, " holds no state of the chain");
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

void ChainCore::OnHello(LinkId link, const Hello& hello, absl::Time now) {
  std::string refusal = RefuseHello(link, hello);
  if (!refusal.empty()) {
    LOG(WARNING) << "turned a link away: " << refusal;
    return outbox_.Reject(link, std::move(refusal), /*behind=*/false);
  }
  switch (hello.purpose()) {
    case LINK_PURPOSE_TRANSFER:
      return OnHelloTransfer(link, hello);
    case LINK_PURPOSE_APPEND:
      return OnHelloAppend(link, hello, now);
    default:
      break;
  }
  if (completion_from_ != kNoLink && completion_from_ != link) {
    outbox_.Close(completion_from_);
  }
  completion_from_ = link;
  SendSync(link);
}

void ChainCore::OnHelloAppend(LinkId link, const Hello& hello, absl::Time now) {
  if (!returning_.OnHello(hello, condition() == Condition::kBehind)) {
    // It learns what this node holds, and tries again.
    SendSync(link);
    return outbox_.Reject(
        link,
        absl::StrCat(options_.node_id, " has received up to ",
                     ring_->received(), " and applied up to ", ring_->applied(),
                     ", you have applied up to ", hello.applied(),
                     " and cleaned up to ", hello.cleaned()),
        /*behind=*/false);
  }
  if (predecessor_ != kNoLink && predecessor_ != link) {
    outbox_.Close(predecessor_);
  }
  predecessor_ = link;
  awaiting_resend_ = false;
  CheckReturned();
  if (condition() == Condition::kBehind) {
    catch_up_to_ = hello.applied();
    CheckCaughtUp();
  }
  if (mending_.torn()) {
    return GoOnMended(mending_.Begin(link, Mend::kForward, now));
  }
  SendSync(link);
}

void ChainCore::CheckReturned() {
  if (returning_.trusted()) return;
  if (returning_.after() == Returning::Word::kAgrees && awaiting_resend_ &&
      predecessor_ != kNoLink) {
    owe_sync_ = true;
  }
  returning_.Check();
}

void ChainCore::OnFetch(LinkId link, const Fetch& fetch) {
  const bool to_predecessor = link == predecessor_;
  if (!outbox_.Belongs(to_predecessor || link == successor_.link)) return;
  // One that may lack something answers once it does not: it is asked again.
  // That its successor lacks more it knows from its Hello.
  const Condition now = condition();
  if (now != Condition::kSound && now != Condition::kTorn &&
      now != Condition::kReturned) {
    return;
  }
  if (!to_predecessor) return mending_source_.AnswerSuccessor(link, fetch);
  if (returning_.trusted()) mending_source_.Answer(link, fetch);
}

void ChainCore::GoOnMended(Mending::Mended mended) {
  if (!mended.has_value()) return;
  if (*mended == Mend::kBack) return ExecuteReceived();
  ring_->MarkApplied(ring_->received());
  SendSync(predecessor_);
  AfterApplied();
}

void ChainCore::CheckCaughtUp() {
  if (!catch_up_to_.has_value() || ring_->applied() < *catch_up_to_) return;
  LOG(INFO) << "this node holds everything the chain has acknowledged";
  UpdateHeapState(HeapState::kComplete);
  catch_up_to_.reset();
}

void ChainCore::OnSync(LinkId link, const Sync& sync, absl::Time now) {
  if (link == completion_.link) {
    completion_.ready = true;
    owe_completion_ = true;
    return;
  }
  if (!outbox_.Belongs(link == successor_.link)) return;
  if (!joining_node_.empty() && !outbox_.Belongs(successor_.ready)) return;
  ContinueSuccessor(sync);
  // Newly head, and interrupted before it was (section 5.3).
  if (mending_.torn() && is_head() && successor_.ready && !outbox_.failed()) {
    GoOnMended(mending_.Begin(link, Mend::kBack, now));
  }
}

void ChainCore::ContinueSuccessor(const Sync& sync) {
  Returning::Verdict verdict = returning_.OnSync(sync);
  if (!verdict.agrees) {
    if (!joining_node_.empty()) return ForgetJoining();
    // Tried again when the link has been idle for long enough.
    return outbox_.Reject(successor_.link, std::move(verdict.reason),
                          verdict.useless);
  }
  successor_.ready = true;
  ContinueAfter(sync.received());
  OnCleanUp(successor_.link, sync.cleaned());
  CheckReturned();
  PumpSuccessor();
}

// --- Operations.

void ChainCore::OnAppend(LinkId link, const Append& append) {
  if (!outbox_.Belongs(link == predecessor_) || mending_.torn()) return;
  // A mutation takes a byte at least.
  if (append.first() == 0 || append.count() == 0 ||
      append.count() > append.operation().size()) {
    outbox_.CountMalformed();
    return;
  }
  if (append.first() <= ring_->received()) {
    owe_ack_ = true;  // sent twice; the first one counts
    return;
  }
  if (!returning_.may_append()) {
    awaiting_resend_ = true;  // CheckReturned asks for it
    return;
  }
  if (append.first() != ring_->received() + 1) {
    // What is on its way behind a gap is lost on us; one Sync is enough.
    if (!awaiting_resend_) owe_sync_ = awaiting_resend_ = true;
    return;
  }
  absl::Status appended =
      ring_->Append(append.first(), append.count(), append.operation());
  if (absl::IsResourceExhausted(appended)) {
    ring_was_full_ = awaiting_resend_ = true;
    return;
  }
  if (!appended.ok()) {
    return outbox_.Fail(absl::DataLossError(
        absl::StrCat("operation ", append.first(), ": ", appended.message())));
  }
  if (options_.on_appended) {
    options_.on_appended(ring_->EntryOf(append.first()));
  }
  awaiting_resend_ = false;
  owe_ack_ = true;
  ExecuteReceived();
}

void ChainCore::ExecuteReceived() {
  if (mending_.torn() || ring_->applied() == ring_->received()) return;
  while (!outbox_.failed() && ring_->applied() < ring_->received()) {
    const OperationRing::Entry entry = ring_->EntryOf(ring_->applied() + 1);
    absl::Status executed =
        executor_->Execute(entry.first, entry.count(), entry.operation);
    if (!executed.ok()) {
      return outbox_.Fail(absl::DataLossError(
          absl::StrCat("operation ", entry.first, ": ", executed.message())));
    }
    ring_->MarkApplied(entry.last);
  }
  AfterApplied();
}

void ChainCore::AfterApplied() {
  ring_->PersistApplied();  // invariant 4
  CheckCaughtUp();
  CheckReturned();
  if (is_tail()) CompleteAsTail();
  if (attached_) CleanTo(ring_->applied());
  PumpSuccessor();
}

void ChainCore::CompleteAsTail() {
  if (is_head()) CompleteTo(ring_->applied());
  owe_completion_ = true;
  const bool joining = !joining_node_.empty() && successor_.ready;
  if ((joining || retain_until_.has_value()) &&
      ring_->bytes_used() > ring_->bytes_total() / 2) {
    ForgetJoining();
  } else if (joining || retain_until_.has_value()) {
    return;  // it cleans up as far as it has come
  }
  CleanTo(ring_->applied());
}

void ChainCore::OnCompletion(LinkId link, uint64_t applied) {
  if (!outbox_.Belongs(link == completion_from_ && is_head())) return;
  const uint64_t reached = std::min(applied, ring_->applied());
  if (reached > ring_->cleaned() && !ring_->EndsEntry(reached)) {
    outbox_.CountMalformed();
    return;
  }
  CompleteTo(reached);
}

void ChainCore::OnAppendAck(LinkId link, uint64_t received) {
  if (!outbox_.Belongs(link == successor_.link && successor_.ready)) return;
  if (received > sent_) outbox_.CountMalformed();
  // Acknowledgements come before clean-ups, so the entries are still here.
  acked_ = std::max(acked_, std::min(ring_->cleaned(), sent_));
  while (acked_ < std::min(received, sent_)) {
    const OperationRing::Entry entry = ring_->EntryOf(acked_ + 1);
    if (entry.last > received) {  // within an operation
      outbox_.CountMalformed();
      break;
    }
    acked_ = entry.last;
    sent_bytes_ -= std::min<uint64_t>(sent_bytes_, entry.operation.size());
    sent_operations_ -= std::min<uint64_t>(sent_operations_, 1);
  }
  if (acked_ == sent_) sent_bytes_ = sent_operations_ = 0;
  PumpSuccessor();
}

void ChainCore::OnCleanUp(LinkId link, uint64_t cleaned) {
  if (!outbox_.Belongs(link == successor_.link && successor_.ready)) return;
  // It cannot have applied them, or part of an operation.
  if (cleaned > sent_ ||
      (cleaned > ring_->cleaned() && !ring_->EndsEntry(cleaned))) {
    outbox_.CountMalformed();
    return;
  }
  CleanTo(cleaned);
}

void ChainCore::CompleteTo(uint64_t sequence) {
  if (sequence <= completed_) return;
  completed_ = sequence;
  outbox_.Complete(sequence);
}

void ChainCore::CleanTo(uint64_t sequence) {
  // Cleaned means applied by all, so it completes as well.
  if (is_head()) CompleteTo(sequence);
  if (sequence <= ring_->cleaned()) return;
  ring_->Clean(sequence);
  owe_clean_up_ = true;
  if (ring_was_full_) {
    ring_was_full_ = false;
    owe_sync_ = true;  // the predecessor goes on from where we stopped
  }
}

void ChainCore::ContinueAfter(uint64_t sequence) {
  sent_ = acked_ = sequence;
  sent_bytes_ = sent_operations_ = 0;
}

void ChainCore::PumpSuccessor() {
  if (!successor_.ready) return;
  while (sent_ < ring_->applied() &&
         sent_operations_ < options_.window_operations &&
         sent_bytes_ < options_.window_bytes) {
    const OperationRing::Entry entry = ring_->EntryOf(sent_ + 1);
    sent_ = entry.last;
    sent_bytes_ += entry.operation.size();
    ++sent_operations_;
    Append* append = outbox_.Send(successor_.link).mutable_append();
    append->set_first(entry.first);
    append->set_count(entry.count());
    append->set_operation(entry.operation.data(), entry.operation.size());
  }
}

void ChainCore::SendSync(LinkId link) {
  Sync* sync = outbox_.Send(link).mutable_sync();
  sync->set_received(ring_->received());
  sync->set_applied(ring_->applied());
  sync->set_cleaned(ring_->cleaned());
  sync->set_behind(condition() == Condition::kBehind);
}

void ChainCore::EndOfBatch(absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (outbox_.failed() || (index_ < 0 && donor_.link == kNoLink)) return;
  if (owe_chunk_ack_ && donor_.link != kNoLink) {
    outbox_.Send(donor_.link)
        .mutable_state_chunk_ack()
        ->set_chunks(chunks_taken_);
  }
  owe_chunk_ack_ = false;
  if (owe_completion_ && completion_.ready) {
    outbox_.Send(completion_.link)
        .mutable_completion()
        ->set_applied(ring_->applied());
    owe_completion_ = false;
  }
  SendChunks(now);
  if (predecessor_ != kNoLink) Acknowledge();
}

void ChainCore::Acknowledge() {
  if (owe_sync_) {
    SendSync(predecessor_);
  } else {
    if (owe_ack_) {
      outbox_.Send(predecessor_)
          .mutable_append_ack()
          ->set_received(ring_->received());
    }
    if (owe_clean_up_) {
      outbox_.Send(predecessor_)
          .mutable_clean_up()
          ->set_cleaned(ring_->cleaned());
    }
  }
  owe_sync_ = owe_ack_ = owe_clean_up_ = false;
}

// --- The head's part.

absl::Status ChainCore::AppendLocal(uint64_t first, uint32_t count,
                                    absl::string_view operation) {
  CHECK(is_head()) << "only the head appends by itself";
  if (options_.max_operation_bytes != 0 &&
      operation.size() > options_.max_operation_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("operation of ", operation.size(),
                     " bytes; the chain's links take at most ",
                     options_.max_operation_bytes));
  }
  absl::Status appended = ring_->Append(first, count, operation);
  if (appended.ok() && options_.on_appended) {
    options_.on_appended(ring_->EntryOf(first));
  }
  return appended;
}

void ChainCore::CommitLocal(uint64_t last, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  CHECK_EQ(last, ring_->received());
  ring_->MarkApplied(last);
  AfterApplied();
}

}  // namespace kamino::replica
