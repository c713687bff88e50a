#include "replica/repair/joiner.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::replica {

using kamino::internal::v1::ChainMessage;
using kamino::internal::v1::Hello;
using kamino::internal::v1::LINK_PURPOSE_TRANSFER;
using kamino::internal::v1::StateBegin;
using kamino::internal::v1::StateChunk;
using kamino::internal::v1::StateWanted;
using membership::Member;
using membership::View;

Joiner::Joiner(const ChainContext& chain, Upstream* upstream)
    : options_(*chain.options),
      ring_(chain.ring),
      copy_(chain.copy),
      upstream_(upstream),
      outbox_(chain.outbox),
      stats_(chain.stats),
      dialer_(options_, LINK_PURPOSE_TRANSFER, outbox_) {}

bool Joiner::keeps_up() const {
  return follows() && ring_->applied() >= target_;
}

// --- Outside.

void Joiner::Aim(const View& view, absl::Time now) {
  if (!view.formed()) return;
  for (const Member& member : view.members) {
    if (member.node_id == options_.node_id) return;  // itself, earlier
  }
  state_ = State::kAsking;
  dialer_.Aim(view.tail(), now);
}

void Joiner::Leave() {
  if (follows()) upstream_->Detach();
  state_ = State::kOff;
  dialer_.Leave();
  owes_chunk_ack_ = false;
}

void Joiner::OnInvited(bool invited, absl::Time now) {
  if (invited && !invited_) dialer_.Hasten(now);
  invited_ = invited;
}

bool Joiner::OnOpened(LinkId link, absl::Time now, bool may_resume,
                      const NodeState* member, Hello* hello) {
  if (!dialer_.OnOpened(link, now)) return false;
  hello->set_purpose(LINK_PURPOSE_TRANSFER);
  hello->set_applied(ring_->applied());
  hello->set_resume(may_resume);
  if (member != nullptr && !needs_heap_) {
    hello->set_member_view(member->view_id);
    hello->set_member_view_digest(member->view_digest);
  }
  return true;
}

void Joiner::OnClosed(LinkId link, absl::Time now) {
  if (dialer_.OnClosed(link, now)) AskAnew();
}

void Joiner::OnRejected(LinkId link, absl::Time now) {
  if (!dialer_.Has(link)) return;
  dialer_.Retry(now);
  AskAnew();
}

void Joiner::AskAnew() {
  if (follows()) upstream_->Detach();
  state_ = State::kAsking;
}

void Joiner::OnTick(absl::Time now) {
  if (invited_) dialer_.OnTick(now);
}

Joiner::Effect Joiner::OnMessage(const ChainMessage& message, bool may_resume,
                                 bool may_catch_up, absl::Time now) {
  Effect effect = Effect::kNone;
  if (link() == kNoLink) return effect;
  absl::Status taken;
  if (message.has_state_begin()) {
    taken =
        OnStateBegin(message.state_begin(), may_resume, may_catch_up, &effect);
  } else if (state_ != State::kReceiving) {
    taken =
        absl::DataLossError("a state transfer continues that was not begun");
  } else {
    taken = OnStateChunk(message.state_chunk(), &effect);
  }
  if (taken.ok()) return effect;
  ++stats_->damaged;
  LOG(WARNING) << "the state transfer begins again: " << taken.message();
  dialer_.Retry(now);
  AskAnew();
  return effect;
}

absl::Status Joiner::OnStateBegin(const StateBegin& begin, bool may_resume,
                                  bool may_catch_up, Effect* effect) {
  if (dialer_.established()) {
    return absl::DataLossError("a state transfer begins within another");
  }
  if (begin.resume() && !may_resume) {
    return absl::DataLossError(
        "the tail would continue from a state that this node does not hold");
  }
  if (begin.changes() && (!may_catch_up || needs_heap_)) {
    return absl::DataLossError(
        "the tail would send changes that do not fit this node's heap");
  }
  dialer_.Establish();
  ++stats_->begun;
  if (begin.resume()) {
    ++stats_->went_on;
    Follow(begin.applied());
    return absl::OkStatus();
  }
  stats_->of_changes = begin.changes();
  stats_->pages = begin.changes() ? begin.changed_pages() : 0;
  if (begin.changes()) {
    RETURN_IF_ERROR(BeginChanges(begin.changes_after()));
  } else {
    copy_->BeginReceiving();
  }
  *effect = Effect::kHeapVoid;
  state_ = State::kReceiving;
  target_ = begin.applied();
  stats_->bytes = 0;
  chunks_taken_ = 0;
  return absl::OkStatus();
}

absl::Status Joiner::BeginChanges(uint64_t after) {
  const auto wanted = copy_->BeginReceivingChanges(after);
  if (!wanted.ok()) {
    needs_heap_ = true;
    return wanted.status();
  }
  ++stats_->caught_up;
  LOG(INFO) << "this node catches up with the changes after mutation " << after;
  StateWanted* const message =
      outbox_->Send(dialer_.link()).mutable_state_wanted();
  for (const PageRun& run : *wanted) {
    kamino::internal::v1::PageRun* const added = message->add_runs();
    added->set_first(run.first);
    added->set_count(run.count);
    stats_->pages += run.count;
  }
  return absl::OkStatus();
}

absl::Status Joiner::OnStateChunk(const StateChunk& chunk, Effect* effect) {
  ++chunks_taken_;
  owes_chunk_ack_ = true;
  ASSIGN_OR_RETURN(const StateCopy::Taken taken, copy_->Take(chunk.snapshot()));
  stats_->bytes += taken.bytes;
  if (!taken.end.has_value()) return absl::OkStatus();
  if (*taken.end < target_) {
    return absl::DataLossError(
        absl::StrCat("the state transfer ends at mutation ", *taken.end,
                     ", before mutation ", target_, ", at which it began"));
  }
  RETURN_IF_ERROR(copy_->FinishReceiving(*taken.end));
  needs_heap_ = false;
  Follow(*taken.end);
  LOG(INFO) << "this node has the chain's heap as of mutation " << *taken.end;
  *effect = Effect::kHasHeap;
  return absl::OkStatus();
}

void Joiner::Follow(uint64_t from) {
  state_ = State::kFollowing;
  target_ = from;
  upstream_->Attach(dialer_.link());
}

void Joiner::Acknowledge() {
  if (std::exchange(owes_chunk_ack_, false) && link() != kNoLink) {
    outbox_->Send(link()).mutable_state_chunk_ack()->set_chunks(chunks_taken_);
  }
}

// --- In the chain.

void Joiner::CatchUpTo(uint64_t applied) {
  state_ = State::kCatchingUp;
  target_ = applied;
}

bool Joiner::OnApplied() {
  if (state_ != State::kCatchingUp || ring_->applied() < target_) return false;
  LOG(INFO) << "this node holds everything the chain has acknowledged";
  state_ = State::kOff;
  return true;
}

}  // namespace kamino::replica
