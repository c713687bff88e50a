#include "replica/core/successor_messages.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "replica/log/log_entry.h"
#include "replica/state/executor.h"

namespace kamino::replica {

using kamino::internal::v1::Sync;

void SuccessorMessages::OnSync(LinkId link, const Sync& sync, absl::Time now) {
  const Downstream& downstream = links_->downstream;
  if (!chain_.outbox->Belongs(downstream.Has(link))) return;
  if (downstream.joins() && !chain_.outbox->Belongs(downstream.replicates())) {
    return;
  }
  ContinueDownstream(sync);
  // Newly head, and interrupted before (section 5.3).
  if (data_->neighbour_repair.torn() && chain_.place->is_head() &&
      downstream.replicates() && log_->repair.MayRollBack() &&
      !chain_.outbox->failed()) {
    log_->repair.Begin(link, RepairDirection::kBack, now);
  }
}

void SuccessorMessages::ContinueDownstream(const Sync& sync) {
  Downstream& downstream = links_->downstream;
  Returning::Verdict verdict = data_->returning.OnSync(sync);
  if (!verdict.agrees) {
    if (downstream.joins()) return links_->donor.Forget();
    // Retried when the link has been idle for long enough.
    return chain_.outbox->Reject(downstream.link(), std::move(verdict.reason),
                                 verdict.useless);
  }
  if (!CheckUnsent(sync)) return;
  downstream.ContinueAfter(sync.received());
  OnCleanUp(downstream.link(), sync.cleaned());
  if (chain_.place->is_head() && !downstream.joins()) {
    links_->announcements.OnSync(sync, downstream.link());
  }
  log_->progress.CheckReturned();
}

bool SuccessorMessages::CheckUnsent(const Sync& sync) {
  const uint64_t sequence = sync.received() + 1;
  if (sequence <= chain_.ring->cleaned() || sequence > chain_.ring->applied()) {
    return true;
  }
  const auto entry = LogEntry::Check(chain_.ring->EntryOf(sequence).bytes(),
                                     chain_.options->mode);
  if (entry.ok()) return true;
  std::string why = absl::StrCat(
      "mutation ", sequence,
      " is damaged in this node's ring: ", entry.status().message());
  // This node's result is in its heap, from which a joining node would receive
  // it.
  if (links_->downstream.joins()) {
    LOG(ERROR) << why << "; " << links_->donor.joining()
               << " has to begin anew";
    links_->donor.ForgetUnreadable(sequence);
    return false;
  }
  // A node that lacks completed entries cannot take its place.
  if (sync.behind() || (chain_.place->is_head() &&
                        sequence <= links_->completions.completed())) {
    LOG(ERROR) << why << "; the successor has to begin anew";
    chain_.outbox->Reject(links_->downstream.link(), std::move(why),
                          sync.behind());
    return false;
  }
  data_->damage.EndNow(why);
  return false;
}

void SuccessorMessages::OnAppendAck(LinkId link, uint64_t received) {
  if (!chain_.outbox->Belongs(Replicates(link))) return;
  links_->downstream.OnAppendAck(received);
}

void SuccessorMessages::OnCleanUp(LinkId link, uint64_t cleaned) {
  if (!chain_.outbox->Belongs(Replicates(link))) return;
  if (links_->downstream.OnCleaned(cleaned)) log_->progress.CleanTo(cleaned);
}

void SuccessorMessages::OnAnnounceAck(
    LinkId link, const kamino::internal::v1::AnnounceAck& ack) {
  if (!chain_.outbox->Belongs(links_->downstream.Has(link))) return;
  links_->announcements.OnAck(ack);
}

void SuccessorMessages::OnStateWanted(
    LinkId link, const kamino::internal::v1::StateWanted& wanted) {
  const Downstream& downstream = links_->downstream;
  if (!chain_.outbox->Belongs(downstream.Has(link) && downstream.joins())) {
    return;
  }
  if (!links_->donor.OnWanted(wanted)) {
    chain_.outbox->ProtocolError(
        link, "a request for pages is out of turn, or asks for too many");
  }
}

void SuccessorMessages::OnChunkAck(LinkId link, uint64_t chunks) {
  if (!chain_.outbox->Belongs(links_->downstream.Has(link))) return;
  links_->donor.OnChunkAck(chunks);
  if (links_->donor.held_at().has_value()) log_->progress.CompleteAsTail();
}

}  // namespace kamino::replica
