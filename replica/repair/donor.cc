#include "replica/repair/donor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::replica {

using kamino::internal::v1::Hello;
using kamino::internal::v1::StateBegin;
using kamino::internal::v1::StateWanted;
using membership::Member;
using membership::View;

Donor::Donor(const ChainContext& chain, Downstream* downstream)
    : options_(*chain.options),
      ring_(chain.ring),
      downstream_(downstream),
      outbox_(chain.outbox),
      stats_(chain.stats),
      sending_(chain, downstream),
      pace_(options_.joining_patience),
      held_(ring_) {}

Donor::State Donor::state() const {
  switch (downstream_->state()) {
    case Downstream::State::kSnapshot:
      return State::kCopying;
    case Downstream::State::kFollow:
      return State::kFollowed;
    default:
      return State::kIdle;
  }
}

std::string Donor::Refuse(const Hello& hello, const View& view, bool may_give,
                          absl::Time now) const {
  if (!may_give) {
    return absl::StrCat(options_.node_id, " cannot give its state to ",
                        hello.node_id(), " now");
  }
  if (hello.node_id().empty()) return "a node without a name cannot join";
  if (hello.incarnation() == 0) {
    return absl::StrCat(hello.node_id(), " does not send its incarnation");
  }
  for (const Member& member : view.members) {
    if (member.node_id == hello.node_id()) {
      return absl::StrCat(hello.node_id(), " is in view ", view.id);
    }
  }
  if (!joining_.empty() && joining_ != hello.node_id() &&
      !pace_.Stutters(now)) {
    return absl::StrCat(joining_, " is joining just now");
  }
  if (joining_ == hello.node_id() &&
      hello.incarnation() < joining_incarnation_) {
    return absl::StrCat(joining_, " is joining in a later incarnation");
  }
  return "";
}

void Donor::Begin(LinkId link, const Hello& hello,
                  const CatchUpHistory::Plan& plan, bool confirmed,
                  absl::Time now) {
  LOG_IF(WARNING, !joining_.empty() && joining_ != hello.node_id())
      << joining_ << " makes no progress, or only with long pauses; "
      << hello.node_id() << " joins in its place";
  if (state() == State::kCopying) sending_.End();
  downstream_->Join(link);
  joining_ = hello.node_id();
  joining_incarnation_ = hello.incarnation();
  told_ = false;
  sending_.Reset(joining_);
  pace_.Begin(now);
  held_.Begin();
  const bool resume = hello.resume() && hello.applied() <= ring_->applied() &&
                      hello.applied() >= unreadable_ &&
                      ring_->EndsEntry(hello.applied());
  StateBegin* begin = outbox_->Send(link).mutable_state_begin();
  begin->set_resume(resume);
  begin->set_applied(ring_->applied());
  begin->set_borne_out(confirmed);
  ++stats_->begun;
  if (resume) {
    ++stats_->went_on;
    LOG(INFO) << joining_ << " goes on after mutation " << hello.applied();
    return SendEntriesAfter(hello.applied());
  }
  sending_.Begin(plan, begin);
}

bool Donor::OnWanted(const StateWanted& wanted) {
  return state() == State::kCopying && sending_.OnWanted(wanted);
}

void Donor::SendEntriesAfter(uint64_t sequence) {
  retain_until_.reset();
  target_ = ring_->applied();
  downstream_->ContinueAfter(sequence);
}

void Donor::Continue(absl::Time now) {
  if (state() == State::kCopying) {
    if (sending_.awaits_wanted()) return;
    if (sending_.Continue(/*unpaced=*/held_.overrun(), now)) {
      SendEntriesAfter(ring_->applied());
    }
  }
  held_.Update(IsBehind(now), now);
}

bool Donor::IsBehind(absl::Time now) const {
  if (state() == State::kIdle || pace_.Stutters(now)) return false;
  if (state() == State::kFollowed) {
    return ring_->space().used() > ring_->space().total() / 4;
  }
  return sending_.lags();
}

bool Donor::KeepsRing() {
  if (state() != State::kFollowed && !retains()) return false;
  // While writes are slowed down, entries on their way may still arrive.
  const uint64_t quarters = held_.holds() ? 3 : 2;
  if (ring_->space().used() <= ring_->space().total() / 4 * quarters) {
    return true;  // the node cleans up to its position
  }
  Forget();
  return false;
}

uint64_t Donor::Progress() const {
  return state() == State::kFollowed
             ? sending_.acked() + std::min(downstream_->acked(), target_)
             : sending_.acked();
}

bool Donor::OnTick(absl::Time now) {
  // It can take nothing while nothing is sent.
  const bool waits = state() == State::kCopying && !sending_.awaits_wanted() &&
                     sending_.all_acked();
  pace_.OnTick(Progress(), waits, now);
  if (held_.braked() && !joining_.empty() && pace_.Stutters(now) &&
      !std::exchange(told_, true)) {
    LOG(WARNING) << joining_
                 << " receives with long pauses; writes do not wait for it, so "
                    "that it may never catch up, and another invited node may "
                    "take its place";
  }
  held_.Update(IsBehind(now), now);
  if (!retains() || now < *retain_until_) return held_at().has_value();
  retain_until_.reset();
  return true;
}

void Donor::Forget() {
  LOG(WARNING) << "log entries are no longer kept for the joining node";
  retain_until_.reset();
  if (joining_.empty()) return;
  if (state() == State::kCopying) sending_.End();
  joining_.clear();
  held_.Release();
  downstream_->Leave();
}

void Donor::ForgetUnreadable(uint64_t first) {
  NoteUnreadable(first);
  Forget();
}

void Donor::Stop() {
  if (!joining_.empty() || retains()) Forget();
}

bool Donor::OnClosed(LinkId link, absl::Time now) {
  if (joining_.empty() || !downstream_->Has(link)) return false;
  Lose(now);
  downstream_->OnClosed(link, now);
  return true;
}

void Donor::Leave(absl::Time now) {
  held_.Leave();
  if (!joining_.empty()) Lose(now);
}

void Donor::Lose(absl::Time now) {
  if (state() == State::kFollowed) retain_until_ = now + options_.retain;
  if (state() == State::kCopying) sending_.End();
  joining_.clear();
  held_.Release();
}

}  // namespace kamino::replica
