#include "replica/core/link_table.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "replica/link/handshake.h"

namespace kamino::replica {

using kamino::internal::v1::Hello;
using kamino::internal::v1::LINK_PURPOSE_APPEND;
using kamino::internal::v1::LINK_PURPOSE_COMPLETION;
using kamino::internal::v1::LINK_PURPOSE_TRANSFER;
using kamino::internal::v1::LinkPurpose;
using membership::Member;
using membership::Role;

LinkUse LinkTable::UseOf(LinkId link) const {
  if (link == kNoLink) return LinkUse::kNone;
  if (links_->joiner.Has(link)) return LinkUse::kDonor;  // also carries entries
  if (links_->upstream.Has(link)) return LinkUse::kPredecessor;
  if (links_->downstream.Has(link)) {
    return links_->downstream.joins() ? LinkUse::kJoining : LinkUse::kSuccessor;
  }
  const Completions& completions = links_->completions;
  if (!completions.Has(link)) return LinkUse::kNone;
  return completions.state() == Completions::State::kTail ? LinkUse::kHead
                                                          : LinkUse::kTail;
}

std::string LinkTable::PeerOf(LinkId link) const {
  for (const LinkState& state : All()) {
    if (state.link == link) return state.peer;
  }
  return "";
}

std::vector<LinkTable::LinkState> LinkTable::All() const {
  const Place& place = *chain_.place;
  std::vector<LinkState> states;
  if (const Joiner& joiner = links_->joiner; joiner.link() != kNoLink) {
    states.push_back({place.view.tail().node_id, kamino::v1::LINK_ROLE_JOINING,
                      joiner.link(), joiner.established()});
  }
  if (!place.inside()) return states;
  const Downstream& downstream = links_->downstream;
  if (downstream.joins()) {
    states.push_back({links_->donor.joining(), kamino::v1::LINK_ROLE_JOINING,
                      downstream.link(), downstream.replicates()});
  }
  if (const Member* member = place.predecessor()) {
    states.push_back({member->node_id, kamino::v1::LINK_ROLE_PREDECESSOR,
                      links_->upstream.link(), links_->upstream.attached()});
  }
  if (const Member* member = place.successor()) {
    states.push_back({member->node_id, kamino::v1::LINK_ROLE_SUCCESSOR,
                      downstream.link(), downstream.replicates()});
  }
  const Completions& completions = links_->completions;
  const bool tells = completions.state() == Completions::State::kTail;
  if (tells || place.role() == Role::kHead) {
    states.push_back({(tells ? place.view.head() : place.view.tail()).node_id,
                      kamino::v1::LINK_ROLE_COMPLETION, completions.link(),
                      completions.connected()});
  }
  return states;
}

void LinkTable::OnView(absl::Time now) {
  link_watch_.Leave();
  if (chain_.place->inside()) link_watch_.Enter(now);
}

void LinkTable::OnTick(absl::Time now) {
  if (!link_watch_.watches()) return;
  const auto states = All();
  link_watch_.Update(std::all_of(states.begin(), states.end(),
                                 [](const LinkState& each) {
                                   return each.connected ||
                                          each.role ==
                                              kamino::v1::LINK_ROLE_JOINING;
                                 }),
                     now);
}

void LinkTable::Lose(LinkId link, absl::Time now) {
  data_->damage.OnLinkClosed(link);
  links_->upstream.OnClosed(link);
  links_->completions.OnClosed(link, now);
  data_->neighbour_repair.OnLinkClosed(link);
  if (links_->donor.OnClosed(link, now)) return;
  links_->downstream.OnClosed(link, now);
  links_->joiner.OnClosed(link, now);
}

void LinkTable::EndFailedLinks(absl::Time now) {
  for (const Outbox::FailedLink& failed : chain_.outbox->TakeFailedLinks()) {
    const LinkId link = failed.link;
    const LinkUse use = UseOf(link);
    const std::string peer = PeerOf(link);
    if (const auto end = told_failed_.Take(now)) {
      LOG(WARNING) << "ended a link with " << LinkUseName(use)
                   << (peer.empty() ? "" : ", ") << peer << ": " << failed.why
                   << *end;
    }
    chain_.outbox->Close(link);
    if (use == LinkUse::kNone) continue;  // no known peer
    Lose(link, now);
    const absl::Time until = rejected_peers_.Note(peer, now);
    if (use == LinkUse::kSuccessor) links_->downstream.Delay(until);
    if (use == LinkUse::kHead) links_->completions.Delay(until);
    if (use == LinkUse::kDonor) links_->joiner.Delay(until);
  }
}

const Member* LinkTable::Dials(LinkPurpose purpose) const {
  const Place& place = *chain_.place;
  const Completions& completions = links_->completions;
  switch (purpose) {
    case LINK_PURPOSE_APPEND:
      return links_->downstream.link() == kNoLink ||
                     links_->downstream.replicates()
                 ? nullptr
                 : place.successor();
    case LINK_PURPOSE_COMPLETION:
      return completions.link() == kNoLink || completions.connected()
                 ? nullptr
                 : &place.view.head();
    case LINK_PURPOSE_TRANSFER:
      return links_->joiner.link() == kNoLink || links_->joiner.established()
                 ? nullptr
                 : &place.view.tail();
    default:
      return nullptr;
  }
}

bool LinkTable::EndSelfDial(LinkId link, const Hello& hello, absl::Time now) {
  const ChainOptions& options = *chain_.options;
  if (hello.cluster_id() != options.cluster_id ||
      hello.node_id() != options.node_id ||
      hello.incarnation() != options.incarnation) {
    return false;
  }
  if (options.identity_of != nullptr &&
      !RefuseImpostor(options, chain_.place->view, hello,
                      options.identity_of(link))
           .empty()) {
    return false;
  }
  const Member* const dialed = Dials(hello.purpose());
  chain_.outbox->Close(link);
  if (dialed == nullptr) return true;
  const absl::Duration pause = link_watch_.NextPause();
  LOG(ERROR)
      << "a link that " << options.node_id << " opened to " << dialed->node_id
      << " has reached " << options.node_id << " itself: the view has "
      << absl::StrJoin(dialed->link_addresses, ", ", absl::PairFormatter(" "))
      << " for " << dialed->node_id
      << ", and one of these is an address of this machine; --link_listen "
         "or --link_advertise of "
      << dialed->node_id
      << " must name a host that the other nodes reach; the next "
         "attempt is in "
      << pause;
  if (hello.purpose() == LINK_PURPOSE_APPEND) {
    links_->downstream.OnRejected(links_->downstream.link(), now);
    links_->downstream.Delay(now + pause);
  } else if (hello.purpose() == LINK_PURPOSE_COMPLETION) {
    links_->completions.OnRejected(links_->completions.link(), now);
    links_->completions.Delay(now + pause);
  } else {
    links_->joiner.OnRejected(links_->joiner.link(), now);
    links_->joiner.Delay(now + pause);
  }
  return true;
}

}  // namespace kamino::replica
