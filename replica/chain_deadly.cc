// The core's handling of requests and log entries on which a node may crash or
// have crashed (replica/announcements.h, replica/deadly_entries.h), and of
// interrupted entries.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "replica/chain_core.h"

namespace kamino::replica {

using membership::Member;
using membership::Role;
using membership::View;

bool ChainCore::Announce(const RequestIdentity& request, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  const bool up = downstream_.replicates() && !downstream_.joins();
  return announcements_.Announce(request, up ? downstream_.link() : kNoLink,
                                 /*alone=*/role() == Role::kSingle);
}

void ChainCore::EndAnnouncement(Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  const bool up = downstream_.replicates() && !downstream_.joins();
  announcements_.End(up ? downstream_.link() : kNoLink);
}

void ChainCore::NoteOnTheWay(const View& next) {
  const Member* successor = !place_.inside() ? nullptr : place_.successor();
  if (successor == nullptr) return;
  if (next.IndexOf(successor->node_id, successor->incarnation) >= 0) return;
  // The successor survived the diverging entry and executes none after it, so
  // none of the entries sent to it needs quarantine. The nodes behind it must
  // execute them: only their results can show that the head's is wrong.
  if (downstream_.disputes()) return;
  NoteDeadly(KnownComplete(), downstream_.sent());
}

uint64_t ChainCore::KnownComplete() const {
  return is_head() ? std::max(completed(), context_.ring->cleaned())
                   : context_.ring->cleaned();
}

void ChainCore::NoteDeadly(uint64_t after, uint64_t last) {
  // Later entries have changed a neighbour's state of their objects, too.
  if (TakesBackAlone(options_.mode)) return;
  deadly_.Note(after, last, KnownComplete());
}

void ChainCore::AdoptDeadly(absl::Time now) {
  if (mending_.torn() || dispute_.open() ||
      !execution_.AwaitsAdoption(place_)) {
    return;
  }
  if (CarriesImages(options_.mode)) return AdoptImages();
  if (!upstream_.attached()) return;
  const uint64_t complete = deadly_.CompleteAsShared();
  if (complete > context_.ring->applied()) {
    deadly_.Pass(complete);
    return ExecuteReceived();  // the others are adopted with the next batch
  }
  GoOnMended(mending_.Adopt(upstream_.link(), now));
}

void ChainCore::AdoptImages() {
  uint64_t last = context_.ring->applied();
  while (last < context_.ring->received()) {
    const LogEntry entry = context_.ring->EntryOf(last + 1);
    if (!deadly_.Has(entry)) break;
    last = entry.last();
  }
  ApplyImages(last, /*interrupted=*/false);
  if (outbox_.failed()) return;
  AfterApplied();
  ExecuteReceived();
}

void ChainCore::ApplyImages(uint64_t last, bool interrupted) {
  const uint64_t after = context_.ring->applied();
  LOG(INFO) << "mutations (" << after << ", " << last << "] were interrupted"
            << (interrupted ? "" : " at another node")
            << "; they are rolled forward from their after-images";
  const absl::Status applied = interrupted
                                   ? roll_forward_.Interrupted(after, last)
                                   : roll_forward_.Untouched(after, last);
  if (!applied.ok()) {
    return outbox_.Fail(absl::Status(
        applied.code(), absl::StrCat("mutations (", after, ", ", last,
                                     "]: ", applied.message())));
  }
  NoteDeadly(after, last);
  context_.ring->MarkApplied(last);
  context_.ring->PersistApplied();
  if (interrupted) mending_.Forget();
}

bool ChainCore::MayTakeBack() const {
  // If entries in flight share objects, only once it has applied all earlier
  // entries.
  return !Pipelines(options_.mode) ||
         KnownComplete() >= context_.ring->applied();
}

void ChainCore::ExecuteAdopted() {
  LOG(INFO) << "mutations (" << context_.ring->applied() << ", "
            << context_.ring->received()
            << "] are complete: the predecessor holds results of later ones; "
               "they are executed here";
  mending_.Forget();
  deadly_.Forget();
  ExecuteReceived();
  SendSync(upstream_.link());  // entries that arrived meanwhile were refused
}

void ChainCore::DropInterrupted() {
  LOG(WARNING)
      << "this node crashed when it executed mutation " << deadly_.redone()
      << " again; it drops what it received and did not execute, up to "
         "mutation "
      << context_.ring->received();
  context_.ring->TruncateAfter(context_.ring->applied());
  deadly_.SetRedone(0);
}

void ChainCore::ForgetInterrupted() {
  mending_.Forget();
  deadly_.Forget();
  deadly_.SetRedone(0);
}

}  // namespace kamino::replica
