#include "replica/core/entry_repair.h"

#include "absl/strings/str_cat.h"
#include "base/chain_mode.h"
#include "glog/logging.h"
#include "replica/log/log_entry.h"

namespace kamino::replica {

void EntryRepair::OnRestart() {
  NeighbourRepair& neighbour_repair = data_->neighbour_repair;
  const bool interrupted = neighbour_repair.torn();
  if (interrupted && CarriesImages(chain_.options->mode)) {
    ApplyImages(chain_.ring->received(), /*interrupted=*/true);
  }
  // The code that opened the heap has rolled it back (RollBackInterrupted).
  if (RollsBackAlone(chain_.options->mode)) neighbour_repair.Forget();
  if (!interrupted || !CrashedOnNext()) data_->quarantined.SetRedone(0);
  if (!neighbour_repair.torn() || !data_->soundness.behind()) return;
  // The chain completes without a joining node: its neighbours may have
  // executed later entries on the interrupted entries' objects.
  LOG(WARNING) << "this node was interrupted while it joined; it begins again";
  chain_.copy->BeginReceiving();
  neighbour_repair.Forget();
}

void EntryRepair::Begin(LinkId link, RepairDirection direction,
                        absl::Time now) {
  Continue(data_->neighbour_repair.Begin(link, direction, now));
}

void EntryRepair::OnFetched(LinkId link,
                            const kamino::internal::v1::Fetched& fetched,
                            absl::Time now) {
  Continue(data_->neighbour_repair.OnFetched(link, fetched, now));
}

void EntryRepair::Continue(NeighbourRepair::Repaired repaired) {
  if (!repaired.has_value()) return;
  if (*repaired == RepairDirection::kBack) {
    if (data_->divergence.open()) data_->divergent_result.Drop();
    if (CrashedOnNext()) DropInterrupted();
    return execution_->ExecuteReceived();
  }
  data_->quarantined.Note(chain_.ring->applied(), chain_.ring->received(),
                          progress_->known_complete());
  chain_.ring->MarkApplied(chain_.ring->received());
  links_->SendSync(links_->upstream.link(), data_->soundness.behind());
  progress_->OnApplied();
}

void EntryRepair::AdoptQuarantined(absl::Time now) {
  if (!execution_->AwaitsAdoption()) return;
  if (CarriesImages(chain_.options->mode)) return AdoptImages();
  if (!links_->upstream.attached()) return;
  const uint64_t complete = data_->quarantined.CompleteAsShared();
  if (complete > chain_.ring->applied()) {
    data_->quarantined.Pass(complete);
    // The others are adopted with the next batch.
    return execution_->ExecuteReceived();
  }
  Continue(data_->neighbour_repair.Adopt(links_->upstream.link(), now));
}

void EntryRepair::AdoptImages() {
  uint64_t last = chain_.ring->applied();
  while (last < chain_.ring->received()) {
    const LogEntry entry = chain_.ring->EntryOf(last + 1);
    if (!data_->quarantined.Has(entry)) break;
    last = entry.last();
  }
  ApplyImages(last, /*interrupted=*/false);
  if (chain_.outbox->failed()) return;
  progress_->OnApplied();
  execution_->ExecuteReceived();
}

void EntryRepair::ApplyImages(uint64_t last, bool interrupted) {
  const uint64_t after = chain_.ring->applied();
  LOG(INFO) << "mutations (" << after << ", " << last << "] were interrupted"
            << (interrupted ? "" : " at another node")
            << "; they are rolled forward from their after-images";
  const absl::Status applied = interrupted
                                   ? roll_forward_.Interrupted(after, last)
                                   : roll_forward_.Untouched(after, last);
  if (!applied.ok()) {
    return chain_.outbox->Fail(absl::Status(
        applied.code(), absl::StrCat("mutations (", after, ", ", last,
                                     "]: ", applied.message())));
  }
  data_->quarantined.Note(after, last, progress_->known_complete());
  chain_.ring->MarkApplied(last);
  chain_.ring->PersistApplied();
  if (interrupted) data_->neighbour_repair.Forget();
}

void EntryRepair::ExecuteAdopted() {
  LOG(INFO) << "mutations (" << chain_.ring->applied() << ", "
            << chain_.ring->received()
            << "] are complete: the predecessor holds results of later ones; "
               "they are executed here";
  data_->neighbour_repair.Forget();
  data_->quarantined.Forget();
  execution_->ExecuteReceived();
  // Entries that arrived meanwhile were refused.
  links_->SendSync(links_->upstream.link(), data_->soundness.behind());
}

void EntryRepair::RollBackDivergence(absl::Time now) {
  if (!data_->divergence.open() || data_->divergence.whole() ||
      !data_->soundness.has_state() || !chain_.place->is_head()) {
    return;
  }
  if (data_->neighbour_repair.state() == NeighbourRepair::State::kTorn &&
      links_->downstream.replicates() && MayRollBack()) {
    Begin(links_->downstream.link(), RepairDirection::kBack, now);
  }
}

bool EntryRepair::MayRollBack() const {
  // If entries in flight share objects, only once it has applied all earlier
  // entries.
  return !Pipelines(chain_.options->mode) ||
         progress_->known_complete() >= chain_.ring->applied();
}

bool EntryRepair::CrashedOnNext() const {
  return data_->quarantined.redone() == chain_.ring->applied() + 1;
}

void EntryRepair::DropInterrupted() {
  LOG(WARNING)
      << "this node crashed when it executed mutation "
      << data_->quarantined.redone()
      << " again; it drops what it received and did not execute, up to "
         "mutation "
      << chain_.ring->received();
  chain_.ring->TruncateAfter(chain_.ring->applied());
  data_->quarantined.SetRedone(0);
}

}  // namespace kamino::replica
