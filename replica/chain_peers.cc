// The identities of the peers of a core's links, and the handling of peers that
// send messages they may not send.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "replica/chain_core.h"
#include "replica/handshake.h"

namespace kamino::replica {

using kamino::internal::v1::Hello;
using kamino::internal::v1::LINK_PURPOSE_APPEND;
using kamino::internal::v1::LINK_PURPOSE_COMPLETION;
using kamino::internal::v1::LINK_PURPOSE_TRANSFER;
using kamino::internal::v1::LinkPurpose;
using membership::Member;
using membership::Role;

LinkUse ChainCore::UseOf(LinkId link) const {
  if (link == kNoLink) return LinkUse::kNone;
  if (joiner_.Has(link)) return LinkUse::kDonor;  // also carries entries
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

std::vector<ChainCore::LinkState> ChainCore::links() const {
  std::vector<LinkState> states;
  if (joiner_.link() != kNoLink) {
    states.push_back({place_.view.tail().node_id, kamino::v1::LINK_ROLE_JOINING,
                      joiner_.link(), joiner_.established()});
  }
  if (!place_.inside()) return states;
  if (downstream_.joins()) {
    states.push_back({donor_.joining(), kamino::v1::LINK_ROLE_JOINING,
                      downstream_.link(), downstream_.replicates()});
  }
  if (const Member* member = place_.predecessor()) {
    states.push_back({member->node_id, kamino::v1::LINK_ROLE_PREDECESSOR,
                      upstream_.link(), upstream_.attached()});
  }
  if (const Member* member = place_.successor()) {
    states.push_back({member->node_id, kamino::v1::LINK_ROLE_SUCCESSOR,
                      downstream_.link(), downstream_.replicates()});
  }
  const bool tells = completions_.state() == Completions::State::kTail;
  if (tells || role() == Role::kHead) {
    states.push_back({(tells ? place_.view.head() : place_.view.tail()).node_id,
                      kamino::v1::LINK_ROLE_COMPLETION, completions_.link(),
                      completions_.connected()});
  }
  return states;
}

void ChainCore::NoteLinks(absl::Time now) {
  if (!link_watch_.watches()) return;
  const auto states = links();
  link_watch_.Update(std::all_of(states.begin(), states.end(),
                                 [](const LinkState& each) {
                                   return each.connected ||
                                          each.role ==
                                              kamino::v1::LINK_ROLE_JOINING;
                                 }),
                     now);
}

const Member* ChainCore::Dials(LinkPurpose purpose) const {
  switch (purpose) {
    case LINK_PURPOSE_APPEND:
      return downstream_.link() == kNoLink || downstream_.replicates()
                 ? nullptr
                 : place_.successor();
    case LINK_PURPOSE_COMPLETION:
      return completions_.link() == kNoLink || completions_.connected()
                 ? nullptr
                 : &place_.view.head();
    case LINK_PURPOSE_TRANSFER:
      return joiner_.link() == kNoLink || joiner_.established()
                 ? nullptr
                 : &place_.view.tail();
    default:
      return nullptr;
  }
}

bool ChainCore::EndSelfDial(LinkId link, const Hello& hello, absl::Time now) {
  if (hello.cluster_id() != options_.cluster_id ||
      hello.node_id() != options_.node_id ||
      hello.incarnation() != options_.incarnation) {
    return false;
  }
  if (options_.identity_of != nullptr &&
      !RefuseImpostor(options_, place_.view, hello, options_.identity_of(link))
           .empty()) {
    return false;
  }
  const Member* const dialed = Dials(hello.purpose());
  outbox_.Close(link);
  if (dialed == nullptr) return true;
  const absl::Duration pause = link_watch_.NextPause();
  LOG(ERROR)
      << "a link that " << options_.node_id << " opened to " << dialed->node_id
      << " has reached " << options_.node_id << " itself: the view has "
      << absl::StrJoin(dialed->link_addresses, ", ", absl::PairFormatter(" "))
      << " for " << dialed->node_id
      << ", and one of these is an address of this machine; --link_listen "
         "or --link_advertise of "
      << dialed->node_id
      << " must name a host that the other nodes reach; the next "
         "attempt is in "
      << pause;
  if (hello.purpose() == LINK_PURPOSE_APPEND) {
    downstream_.OnRejected(downstream_.link(), now);
    downstream_.Delay(now + pause);
  } else if (hello.purpose() == LINK_PURPOSE_COMPLETION) {
    completions_.OnRejected(completions_.link(), now);
    completions_.Delay(now + pause);
  } else {
    joiner_.OnRejected(joiner_.link(), now);
    joiner_.Delay(now + pause);
  }
  return true;
}

void ChainCore::CheckResumed(const Hello& hello) {
  const uint64_t sequence = hello.applied() + 1;
  if (!hello.resume() || sequence <= context_.ring->cleaned() ||
      sequence > context_.ring->applied()) {
    return;
  }
  const auto entry =
      LogEntry::Check(context_.ring->EntryOf(sequence).bytes(), options_.mode);
  if (entry.ok()) return;
  LOG(ERROR) << "mutation " << sequence
             << " is damaged in this node's ring: " << entry.status().message()
             << "; " << hello.node_id() << " has to begin anew";
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
    if (use == LinkUse::kNone) continue;  // no known peer
    Lose(link, now);
    const absl::Time until = misfits_.Note(peer, now);
    if (use == LinkUse::kSuccessor) downstream_.Delay(until);
    if (use == LinkUse::kHead) completions_.Delay(until);
    if (use == LinkUse::kDonor) joiner_.Delay(until);
  }
}

}  // namespace kamino::replica
