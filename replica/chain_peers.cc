// Who is at the other end of a core's links, and what becomes of those who send
// what may not come by them.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "replica/chain_core.h"

namespace kamino::replica {

using kamino::internal::v1::Hello;

LinkUse ChainCore::UseOf(LinkId link) const {
  if (link == kNoLink) return LinkUse::kNone;
  if (joiner_.Has(link)) return LinkUse::kDonor;  // entries come by it as well
  if (upstream_.Has(link)) return LinkUse::kPredecessor;
  if (downstream_.Has(link)) {
    return downstream_.joins() ? LinkUse::kJoining : LinkUse::kSuccessor;
  }
  if (!completions_.Has(link)) return LinkUse::kNone;
  return completions_.state() == Completions::State::kTail ? LinkUse::kHead
                                                           : LinkUse::kTail;
}

std::string ChainCore::PeerOf(LinkId link) const {
  for (const LinkState& state : links()) {
    if (state.link == link) return state.peer;
  }
  return "";
}

void ChainCore::CheckResumed(const Hello& hello) {
  const uint64_t sequence = hello.applied() + 1;
  if (!hello.resume() || sequence <= ring_->cleaned() ||
      sequence > ring_->applied()) {
    return;
  }
  const auto entry =
      LogEntry::Check(ring_->EntryOf(sequence).bytes(), options_.mode);
  if (entry.ok()) return;
  LOG(ERROR) << "mutation " << sequence
             << " is not in this node's ring as it was: "
             << entry.status().message() << "; " << hello.node_id()
             << " has to begin anew";
  donor_.NoteUnreadable(sequence);
}

void ChainCore::EndMisfits(absl::Time now) {
  for (const Outbox::MisfitLink& misfit : outbox_.TakeMisfits()) {
    const LinkId link = misfit.link;
    const LinkUse use = UseOf(link);
    const std::string peer = PeerOf(link);
    if (const auto end = told_misfits_.Take(now)) {
      LOG(WARNING) << "ended a link with " << LinkUseName(use)
                   << (peer.empty() ? "" : ", ") << peer << ": " << misfit.why
                   << *end;
    }
    outbox_.Close(link);
    if (use == LinkUse::kNone) continue;  // nobody to be met again
    Lose(link, now);
    const absl::Time until = misfits_.Note(peer, now);
    if (use == LinkUse::kSuccessor) downstream_.Delay(until);
    if (use == LinkUse::kHead) completions_.Delay(until);
    if (use == LinkUse::kDonor) joiner_.Delay(until);
  }
}

}  // namespace kamino::replica
