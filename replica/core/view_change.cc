#include "replica/core/view_change.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/chain_mode.h"
#include "replica/core/state_replacement.h"

namespace kamino::replica {

using membership::Condition;
using membership::Member;
using membership::Role;
using membership::View;

bool ViewChange::Install(const View& view, absl::Time now) {
  if (view.chain_id != chain_.options->chain_id) {
    chain_.outbox->Fail(absl::FailedPreconditionError(absl::StrCat(
        "was given a view of chain ", view.chain_id,
        "; this node is one of chain ", chain_.options->chain_id)));
    return false;
  }
  if (view.id <= place_->view.id) return false;
  const int index = PlaceIn(view);
  const NodeState& state = chain_.record->state();
  if (index >= 0 && view.id <= state.view_id && view.epoch <= state.epoch) {
    chain_.outbox->Fail(absl::FailedPreconditionError(
        absl::StrCat("view ", view.id,
                     " takes this node in, but its heap "
                     "holds data of view ",
                     state.view_id,
                     ": the store of views was emptied; restore it, or move "
                     "the data away")));
    return false;
  }
  QuarantineOnTheWay(view);
  Leave(now);
  log_->history.OnView(
      place_->view, place_->inside(), view,
      index >= 0 && data_->soundness.has_state(),
      !data_->neighbour_repair.torn() && !data_->divergence.open(), now);
  place_->view = view;
  place_->index = index;
  chain_.outbox->set_view_id(view.id);
  links_->announcements.Enter(view, index);
  if (place_->inside()) {
    Enter(now);
  } else {
    links_->joiner.Aim(view, now);
  }
  return true;
}

int ViewChange::PlaceIn(const View& view) const {
  const ChainOptions& options = *chain_.options;
  const int index = view.IndexOf(options.node_id, options.incarnation);
  if (index < 0) return index;
  // A process on a stale copy of the files may get the same incarnation.
  const std::string& named = view.members[index].heap_id;
  const std::string held = BytesOf(chain_.record->state().heap_id);
  return named.empty() || held.empty() || named == held ? index : -1;
}

void ViewChange::QuarantineOnTheWay(const View& next) {
  const Member* successor = !place_->inside() ? nullptr : place_->successor();
  if (successor == nullptr) return;
  if (next.IndexOf(successor->node_id, successor->incarnation) >= 0) return;
  // The successor survived the diverging entry and executes none after it, so
  // none of the entries sent to it needs quarantine. The nodes behind it must
  // execute them: only their results can show that the head's is wrong.
  if (links_->downstream.diverges()) return;
  const uint64_t complete = log_->progress.known_complete();
  data_->quarantined.Note(complete, links_->downstream.sent(), complete);
}

void ViewChange::Leave(absl::Time now) {
  links_->donor.Leave(now);
  links_->downstream.Leave();
  links_->completions.Leave();
  links_->joiner.Leave();
  links_->upstream.Leave();
  data_->neighbour_repair.Leave();
  data_->returning.Leave();
  data_->scrub.Leave();
  log_->progress.Leave();
}

void ViewChange::Enter(absl::Time now) {
  RecordView();
  // The manager learns of it, and expels this node.
  if (!data_->soundness.has_state()) return;
  const absl::Status held = CheckData();
  if (!held.ok()) return chain_.outbox->Fail(held);
  const Member* next = place_->successor();
  data_->returning.Enter(place_->predecessor() != nullptr, next != nullptr);
  log_->progress.CheckReturned();
  links_->completions.Know(chain_.ring->cleaned());
  if (!place_->is_tail()) links_->donor.EndRetaining();
  data_->divergence.ForgetVotes();
  if (data_->divergence.open() && place_->is_head()) {
    data_->divergent_result.Keep();
  }
  if (chain_.outbox->failed()) return;
  BeginRole(now);
}

void ViewChange::RecordView() {
  NodeState state = chain_.record->state();
  state.view_id = place_->view.id;
  state.view_digest = place_->view.digest;
  TakeOrigin(*place_, &state);
  state.alone = place_->role() == Role::kSingle;
  if (state.condition == Condition::kFresh) {
    // Before the first view no node can hold anything.
    if (place_->view.id == 1) data_->returning.Forget();
    state.condition = Condition::kSound;
  }
  chain_.record->Update(state);
}

absl::Status ViewChange::CheckData() const {
  if (place_->is_head() && data_->soundness.behind()) {
    return absl::FailedPreconditionError(
        absl::StrCat("this node is to be head of view ", place_->view.id,
                     " but may lack what the chain has acknowledged"));
  }
  if (data_->neighbour_repair.torn() && place_->role() == Role::kSingle) {
    return absl::UnavailableError(
        absl::StrCat("mutations after ", chain_.ring->applied(),
                     " were interrupted, and no other node is left to repair "
                     "them from; start another node of the last view"));
  }
  if (data_->divergent_result.lost()) return data_->divergent_result.Lost();
  return absl::OkStatus();
}

void ViewChange::BeginRole(absl::Time now) {
  if (place_->role() == Role::kSingle) data_->scrub.OnAlone();
  if (RollsBackAlone(chain_.options->mode) && place_->is_head() &&
      log_->repair.CrashedOnNext()) {
    log_->repair.DropInterrupted();
  }
  // Entries in the ring were acknowledged upstream: they are executed in any
  // role.
  log_->execution.ExecuteReceived();
  if (const Member* next = place_->successor()) {
    links_->downstream.Enter(*next, now);
  }
  Completions& completions = links_->completions;
  if (place_->role() == Role::kHead) completions.EnterAsHead();
  if (place_->role() == Role::kTail) {
    completions.EnterAsTail(place_->view.head(), now);
  }
  // Section 5.2: a new tail completes entries whether or not the old one
  // forwarded them.
  if (place_->is_tail()) log_->progress.CompleteAsTail();
}

}  // namespace kamino::replica
