#include "replica/link/announcements.h"

#include <algorithm>

#include "glog/logging.h"

namespace kamino::replica {

using kamino::internal::v1::AnnounceAck;
using kamino::internal::v1::Sync;
using membership::View;

Announcements::Announcements(const ChainOptions& options, NodeRecord* record,
                             Outbox* outbox)
    : options_(options), record_(record), outbox_(outbox) {
  const NodeState& state = record_->state();
  if (state.announced.client_id != 0) quarantined_ = state.announced;
}

void Announcements::Enter(const View& view, int index) {
  if (state_ == State::kHeard) state_ = State::kAsked;
  if (index != 0) {
    state_ = State::kQuiet;
    heard_number_ = number_;
  }
  // A restarted node is not in the view that it finds.
  if (index > 0) {
    quarantined_.reset();
    Note({});
  }
  head_id_.clear();
  if (index == 1) {
    head_id_ = view.head().node_id;
    head_incarnation_ = view.head().incarnation;
  }
  if (!heard_.has_value()) return;
  const bool lives = view.IndexOf(heard_->node_id, heard_->incarnation) >= 0;
  if (index == 0 && !lives) quarantined_ = heard_->request;
  // A live head with another successor announces to that one.
  const bool follows = index == 1 && (!lives || head_id_ == heard_->node_id);
  if (!follows) heard_.reset();
}

// --- At the head.

bool Announcements::Announce(const RequestIdentity& request, LinkId successor,
                             bool alone) {
  if (alone) {
    state_ = State::kQuiet;
    Note(request);
    return true;
  }
  if (state_ != State::kQuiet && request_ == request) {
    return state_ == State::kHeard;
  }
  state_ = State::kAsked;
  request_ = request;
  ++number_;
  Send(successor);
  return false;
}

void Announcements::Send(LinkId successor) {
  if (successor == kNoLink) return;
  auto* announce = outbox_->Send(successor).mutable_announce();
  announce->set_number(number_);
  if (state_ != State::kQuiet) ToProto(request_, announce->mutable_request());
}

void Announcements::End(LinkId successor) {
  Note({});
  if (state_ == State::kQuiet) return;
  state_ = State::kQuiet;
  ++number_;
  Send(successor);
}

void Announcements::Note(const RequestIdentity& request) {
  NodeState state = record_->state();
  if (state.announced == request) return;
  state.announced = request;
  record_->Update(state);
}

void Announcements::OnAck(const AnnounceAck& ack) {
  heard_number_ = std::max(heard_number_, std::min(ack.number(), number_));
  if (state_ != State::kAsked || ack.number() != number_) return;
  state_ = State::kHeard;
  ++answers_;
}

void Announcements::OnSync(const Sync& sync, LinkId successor) {
  const auto& heard = sync.announced();
  const bool own = heard.node_id() == options_.node_id &&
                   heard.incarnation() == options_.incarnation;
  if (sync.has_announced() && !own) quarantined_ = FromProto(heard.request());
  if (state_ == State::kQuiet) {
    if (sync.has_announced() && own) Send(successor);
    return;
  }
  state_ = State::kAsked;
  Send(successor);
}

std::optional<RequestIdentity> Announcements::TakeQuarantined() {
  auto quarantined = quarantined_;
  quarantined_.reset();
  return quarantined;
}

// --- At the successor.

void Announcements::OnAnnounce(const kamino::internal::v1::Announce& announce,
                               LinkId link) {
  if (head_id_.empty()) {
    return outbox_->ProtocolError(
        link, "an announcement came from a node that is not the head");
  }
  heard_.reset();
  if (announce.has_request()) {
    heard_ = {head_id_, head_incarnation_, FromProto(announce.request())};
  }
  outbox_->Send(link).mutable_announce_ack()->set_number(announce.number());
}

void Announcements::TellIn(Sync* sync) const {
  if (!heard_.has_value()) return;
  auto* announced = sync->mutable_announced();
  announced->set_node_id(heard_->node_id);
  announced->set_incarnation(heard_->incarnation);
  ToProto(heard_->request, announced->mutable_request());
}

}  // namespace kamino::replica
