#include "replica/integrity/scrub_exchange.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::replica {

using membership::Role;

void ScrubExchange::Continue(bool may_compare, absl::Time now) {
  if (!may_compare) return;
  if (place_->role() != Role::kHead) return TellUnresolved(now);
  if (!downstream_->replicates()) return;
  auto compare = scrub_->Next(ring_->applied(), now);
  if (!compare.has_value()) return;
  downstream_->SendInOrder(*std::move(compare));
}

void ScrubExchange::TellUnresolved(absl::Time now) {
  if (!upstream_->attached()) return;
  const auto range = scrub_->Tell(now);
  if (!range.has_value()) return;
  Compared compared;
  compared.set_range(*range);
  compared.set_first(true);
  PassUp(compared);
}

bool ScrubExchange::AreOfMembers(const RangeVotes& votes, int count) const {
  const auto& members = place_->view.members;
  if (votes.size() != count) return false;
  for (int i = 0; i < count; ++i) {
    const auto place = static_cast<size_t>(i);
    if (votes[i].digest() == 0 || place >= members.size() ||
        votes[i].node_id() != members[place].node_id) {
      return false;
    }
  }
  return true;
}

void ScrubExchange::OnCompare(LinkId link, Compare compare, bool may_compare,
                              absl::Time now) {
  if (!outbox_->Belongs(upstream_->Has(link))) return;
  if (!AreOfMembers(compare.votes(), place_->index)) {
    return outbox_->ProtocolError(link, "votes are not those of the members");
  }
  // After exactly the same operations; otherwise the head asks again.
  if (!may_compare || ring_->applied() != compare.position() ||
      ring_->received() != compare.position()) {
    return;
  }
  switch (scrub_->OnCompare(&compare, now)) {
    case Scrub::Answer::kNone:
      return;
    case Scrub::Answer::kFirst: {
      Compared* compared = outbox_->Send(link).mutable_compared();
      compared->set_number(compare.number());
      compared->set_range(*scrub_->unresolved_range());
      compared->set_first(true);
      return;
    }
    case Scrub::Answer::kVoted:
      break;
  }
  if (!place_->is_tail()) {
    return downstream_->SendInOrder(std::move(compare));
  }
  Compared compared;
  compared.set_number(compare.number());
  compared.set_range(compare.range());
  *compared.mutable_votes() = std::move(*compare.mutable_votes());
  Conclude(compared, now);
}

bool ScrubExchange::OnCompared(LinkId link, const Compared& compared,
                               bool may_compare, absl::Time now) {
  const bool of_successor = downstream_->Has(link) && !downstream_->joins();
  if (!outbox_->Belongs(of_successor)) return false;
  if (!may_compare) return false;
  const bool unasked = compared.first() && compared.number() == 0;
  if (!unasked && !scrub_->Awaits(compared.number())) return false;
  if (compared.first()) {
    scrub_->OnFirst(compared.range(), now);
    PassUp(compared);
    return false;
  }
  if (!AreOfMembers(compared.votes(),
                    static_cast<int>(place_->view.members.size()))) {
    outbox_->ProtocolError(link, "votes are not those of the members");
    return false;
  }
  const RangeJudgement judgement = Conclude(compared, now);
  return judgement.kind == RangeJudgement::Kind::kExpel &&
         judgement.expelled == static_cast<size_t>(place_->index) + 1;
}

void ScrubExchange::PassUp(const Compared& compared) {
  if (!upstream_->attached()) return;
  *outbox_->Send(upstream_->link()).mutable_compared() = compared;
}

RangeJudgement ScrubExchange::Conclude(const Compared& compared,
                                       absl::Time now) {
  PassUp(compared);
  const auto own = static_cast<size_t>(place_->index);
  const RangeJudgement judgement = scrub_->Conclude(compared.votes(), own, now);
  if (judgement.kind == RangeJudgement::Kind::kAgreed) return judgement;
  LOG(ERROR) << scrub_->stats().last_found;
  if (scrub_->has_unresolved_range()) donor_->Stop();
  if (judgement.kind == RangeJudgement::Kind::kUndecided) {
    LOG(ERROR) << "nothing is served until one of the members that differ is "
                  "removed (kamino admin remove); see "
                  "docs/design/recovery.md, Scrub";
    return judgement;
  }
  if (judgement.expelled != own) return judgement;
  // If a node ended at once, messages that its predecessor has not read would
  // be lost: then the head would never learn which node was damaged.
  damage_->Condemn(absl::StrCat("bits of what this node holds have changed: ",
                                scrub_->stats().last_found),
                   upstream_->attached() ? upstream_->link() : kNoLink,
                   now + options_.scrub_retry);
  return judgement;
}

}  // namespace kamino::replica
