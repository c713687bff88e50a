#include "replica/integrity/arbitration.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "replica/errors.h"

namespace kamino::replica {

using kamino::internal::v1::Vote;

namespace {

// A link is down for a moment in each new view.
constexpr absl::Duration kTellUnaskedAfter = absl::Seconds(2);

}  // namespace

void Arbitration::TellPredecessor() {
  if (!upstream_->attached() || upstream_->link() == told_) return;
  told_ = upstream_->link();
  SendVote(told_, divergence_->first(), divergence_->own_hash());
}

void Arbitration::SendVote(LinkId link, uint64_t first, uint64_t hash) {
  Vote* vote = outbox_->Send(link).mutable_vote();
  vote->set_first(first);
  vote->set_image_hash(hash);
  vote->set_origin(scrub_->origin());
}

void Arbitration::Continue(absl::Time now) {
  TellPredecessor();
  switch (divergence_->Judge(static_cast<size_t>(place_->index),
                             place_->successor() != nullptr)) {
    case Divergence::Judgement::kAsk:
      if (!downstream_->replicates()) return TellUnasked(now);
      unasked_.clear();
      if (divergence_->MaySpeak(now)) {
        outbox_
            ->SendEntry(downstream_->link(),
                        ring_->EntryOf(divergence_->first()))
            ->set_disputed(true);
      }
      return;
    case Divergence::Judgement::kThisNodeErred:
      return EndThisNode(divergence_->first(), "two other nodes");
    case Divergence::Judgement::kHeadErred:
      if (upstream_->attached() && divergence_->MaySpeak(now)) {
        outbox_->Send(upstream_->link())
            .mutable_convict()
            ->set_first(divergence_->first());
      }
      return;
    case Divergence::Judgement::kUndecided:
      return TellUndecided();
  }
}

void Arbitration::TellUnasked(absl::Time now) {
  const std::string& successor = place_->successor()->node_id;
  if (unasked_ != successor) {
    unasked_ = successor;
    tell_unasked_at_ = now + kTellUnaskedAfter;
  }
  if (now < tell_unasked_at_) return;
  tell_unasked_at_ = absl::InfiniteFuture();
  LOG(WARNING)
      << "mutation " << divergence_->first() << " diverged, and " << successor
      << " cannot be asked: there has been no link to it "
      << "for " << kTellUnaskedAfter
      << "; the chain stops until the link is back or " << successor
      << " is removed (kamino admin remove); see docs/design/recovery.md, "
         "Divergence";
}

void Arbitration::TellUndecided() {
  if (!divergence_->FirstUndecided()) return;
  std::string copies;
  if (divergence_->a_copy_agrees()) {
    copies = absl::StrCat(" (", place_->successor()->node_id, " agrees with ",
                          options_.node_id, ", but their data are one copy)");
  }
  LOG(ERROR) << "the chain cannot decide which node is right about mutation "
             << divergence_->first()
             << ": it stops until one of the nodes that disagree, "
             << options_.node_id << " and the head, "
             << place_->view.head().node_id << copies
             << ", is removed (kamino admin remove NODE, with --force if that "
                "leaves one node); see docs/design/recovery.md, Divergence";
}

void Arbitration::OnVote(LinkId link, const Vote& vote) {
  if (!outbox_->Belongs(downstream_->Has(link) && downstream_->replicates())) {
    return;
  }
  // Without a question: the successor's result differs for an entry that this
  // node has executed.
  if (!divergence_->open() || vote.first() <= ring_->applied()) {
    return downstream_->OnDivergence();
  }
  const std::string origin = scrub_->origin();
  divergence_->OnVote(vote.first(), vote.image_hash(),
                      /*one_origin=*/origin.empty() || vote.origin().empty() ||
                          vote.origin() == origin);
}

void Arbitration::OnAsked(LinkId link, absl::string_view bytes, bool sound) {
  const auto entry = LogEntry::Check(bytes, options_.mode);
  if (!entry.ok()) {
    return outbox_->ProtocolError(link, std::string(entry.status().message()));
  }
  // It will be asked again; by then it may have executed all earlier entries.
  if (entry->first() != ring_->applied() + 1 ||
      ring_->applied() != ring_->received() || divergence_->open() || !sound) {
    return;
  }
  const auto hash = executor_->Try(*entry);
  if (ReasonOf(hash.status()) == kamino::v1::REASON_UNKNOWN_PROCEDURE) {
    LOG(WARNING) << "this node cannot judge mutation " << entry->first()
                 << ", whose result differs at the predecessor: "
                 << hash.status().message()
                 << " in this program; start it with a release that has the "
                    "procedure";
    return;
  }
  LOG(WARNING) << "the result of mutation " << entry->first()
               << " at the predecessor differs from the head's; here "
               << (!hash.ok()
                       ? absl::StrCat("it fails: ", hash.status().message())
                   : *hash == entry->image_hash()
                       ? "it is the same as the head's"
                       : "it differs from the head's, too");
  SendVote(link, entry->first(), hash.ok() ? *hash : 0);
}

void Arbitration::OnConvict(LinkId link, uint64_t first, uint64_t completed) {
  if (!outbox_->Belongs(downstream_->Has(link) &&
                        place_->role() == membership::Role::kHead)) {
    return;
  }
  // All have confirmed completed entries.
  if (first <= completed || first > ring_->applied()) {
    return outbox_->ProtocolError(
        link, absl::StrCat("a Convict names mutation ", first, ", not one of (",
                           completed, ", ", ring_->applied(),
                           "], which are applied and not complete"));
  }
  EndThisNode(first, "two other nodes");
}

void Arbitration::EndThisNode(uint64_t first, absl::string_view others) {
  damage_->EndNow(absl::StrCat(
      "the result of mutation ", first, " at this node differs from that at ",
      others, ": the node's data, memory or processor is damaged"));
}

}  // namespace kamino::replica
