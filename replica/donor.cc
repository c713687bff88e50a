#include "replica/donor.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/pmem/page_set.h"
#include "glog/logging.h"

namespace kamino::replica {

using kamino::internal::v1::Hello;
using kamino::internal::v1::StateBegin;
using kamino::internal::v1::StateWanted;
using membership::Member;
using membership::View;

namespace {

// Longer than the time between two ticks.
constexpr absl::Duration kLongTick = absl::Milliseconds(50);
constexpr absl::Duration kPacedBurst = kLongTick;
// Between two acknowledged chunks; longer than over any usable link.
constexpr absl::Duration kLongPause = absl::Milliseconds(250);
// Passes over the changed pages without slowing clients down. A heap that
// changes more slowly than it is sent nearly always reaches the cut by then.
constexpr uint64_t kFreePasses = 3;
// Passes up to this one are logged each; later ones every so many.
constexpr uint64_t kLoggedPasses = 32;

}  // namespace

Donor::Donor(const ChainContext& chain, Downstream* downstream)
    : options_(*chain.options),
      ring_(chain.ring),
      copy_(chain.copy),
      downstream_(downstream),
      outbox_(chain.outbox),
      stats_(chain.stats),
      pacer_(options_.transfer_bytes_per_s, kPacedBurst) {}

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
  if (!joining_.empty() && joining_ != hello.node_id() && !Stutters(now)) {
    return absl::StrCat(joining_, " is joining just now");
  }
  if (joining_ == hello.node_id() &&
      hello.incarnation() < joining_incarnation_) {
    return absl::StrCat(joining_, " is joining in a later incarnation");
  }
  return "";
}

absl::Duration Donor::Pause(absl::Time now) const {
  // This node itself may have been held up, with unread messages.
  return std::min(now, ticked_ + kLongTick) - progressed_;
}

bool Donor::Stutters(absl::Time now) const {
  return paused_ + Pause(now) >= options_.joining_patience;
}

void Donor::NoteProgress(absl::Time now) {
  const absl::Duration pause = now - progressed_;
  // Bounded, because otherwise a node that stopped for long would have to make
  // up for it.
  paused_ = pause >= kLongPause
                ? std::min(paused_ + pause, 2 * options_.joining_patience)
                : std::max(absl::ZeroDuration(), paused_ - pause);
  progressed_ = now;
}

void Donor::UpdateBrake(absl::Time now) {
  brake_.Update(IsBehind(now), now);
  braked_ = braked_ || brake_.holds();
}

void Donor::Begin(LinkId link, const Hello& hello,
                  const CatchUpHistory::Plan& plan, bool borne_out,
                  absl::Time now) {
  LOG_IF(WARNING, !joining_.empty() && joining_ != hello.node_id())
      << joining_ << " makes no progress, or only with long pauses; "
      << hello.node_id() << " joins in its place";
  if (state() == State::kCopying) EndCopy();
  downstream_->Join(link);
  joining_ = hello.node_id();
  joining_incarnation_ = hello.incarnation();
  progressed_ = now;
  paused_ = absl::ZeroDuration();
  braked_ = told_ = awaits_wanted_ = false;
  progress_ = chunks_sent_ = chunks_acked_ = 0;
  brake_.Reset();
  const bool resume = hello.resume() && hello.applied() <= ring_->applied() &&
                      hello.applied() >= unreadable_ &&
                      ring_->EndsEntry(hello.applied());
  StateBegin* begin = outbox_->Send(link).mutable_state_begin();
  begin->set_resume(resume);
  begin->set_applied(ring_->applied());
  begin->set_borne_out(borne_out);
  ++stats_->begun;
  if (resume) {
    ++stats_->went_on;
    LOG(INFO) << joining_ << " goes on after mutation " << hello.applied();
    return SendEntriesAfter(hello.applied());
  }
  BeginCopy(plan, begin);
}

void Donor::BeginCopy(const CatchUpHistory::Plan& plan, StateBegin* begin) {
  stats_->bytes = stats_->pass = stats_->pages = 0;
  stats_->of_changes = awaits_wanted_ = plan.changes_after.has_value();
  bytes_sent_ = pass_sent_ = pass_left_ = 0;
  if (!plan.changes_after.has_value()) {
    ++stats_->whole[static_cast<size_t>(plan.reason)];
    LOG(INFO) << "sending the whole heap to " << joining_
              << (plan.why.empty() ? "" : ": ") << plan.why;
    return copy_->BeginSending(ring_->applied());
  }
  ++stats_->caught_up;
  stats_->pages =
      copy_->BeginSendingChanges(ring_->applied(), *plan.changes_after);
  stats_->bytes_left = copy_->BytesLeft();
  begin->set_changes(true);
  begin->set_changes_after(*plan.changes_after);
  begin->set_changed_pages(stats_->pages);
  LOG(INFO) << joining_ << " catches up after mutation " << *plan.changes_after
            << ": " << stats_->pages << " pages have changed since";
}

bool Donor::OnWanted(const StateWanted& wanted) {
  if (state() != State::kCopying || !awaits_wanted_) return false;
  if (static_cast<size_t>(wanted.runs_size()) > StateCopy::kMaxRuns) {
    return false;
  }
  std::vector<PageRun> runs;
  for (const auto& run : wanted.runs()) {
    runs.push_back({run.first(), run.count()});
  }
  copy_->AddWanted(runs);
  stats_->pages = copy_->BytesLeft() / engine::PageSet::kPageBytes;
  awaits_wanted_ = false;
  return true;
}

void Donor::SendEntriesAfter(uint64_t sequence) {
  retain_until_.reset();
  target_ = ring_->applied();
  downstream_->ContinueAfter(sequence);
}

void Donor::OnChunkAck(uint64_t chunks) {
  chunks_acked_ = std::min(chunks_sent_, std::max(chunks_acked_, chunks));
}

void Donor::Continue(absl::Time now) {
  if (state() == State::kCopying && awaits_wanted_) return;
  for (int i = 0; state() == State::kCopying && i < options_.chunks_at_once &&
                  chunks_sent_ - chunks_acked_ < options_.window_chunks;
       ++i) {
    CountPass();
    if (stats_->bytes_left <= options_.cut_bytes) {
      SendCut();
    } else if (brake_.overrun() || pacer_.MayGo(now)) {
      SendChunk();
    } else {
      break;
    }
  }
  UpdateBrake(now);
}

void Donor::CountPass() {
  stats_->bytes_left = copy_->BytesLeft();
  if (stats_->pass > 0 && stats_->bytes - pass_sent_ < pass_left_) return;
  ++stats_->pass;
  pass_sent_ = stats_->bytes;
  pass_left_ = stats_->bytes_left;
  if (stats_->pass <= kFreePasses) return;
  if (stats_->pass == kFreePasses + 1) {
    braked_sent_ = pass_sent_;
    braked_left_ = pass_left_;
  }
  LOG_IF(INFO,
         stats_->pass <= kLoggedPasses || stats_->pass % kLoggedPasses == 0)
      << joining_ << " joins: pass " << stats_->pass << ", "
      << (stats_->bytes_left >> 10)
      << " KiB are left; writes are slowed down until it has them";
}

bool Donor::IsBehind(absl::Time now) const {
  if (state() == State::kIdle || Stutters(now)) return false;
  if (state() == State::kFollowed) {
    return ring_->bytes_used() > ring_->bytes_total() / 4;
  }
  if (stats_->pass <= kFreePasses) return false;
  const uint64_t gained = (stats_->bytes - braked_sent_) / 2;
  return copy_->BytesLeft() > braked_left_ - std::min(braked_left_, gained);
}

uint64_t Donor::MayComplete() {
  const uint64_t applied = ring_->applied();
  if (brake_.holds()) {
    released_ = std::max(released_, ring_->cleaned());
    if (brake_.TakeOne() && released_ < applied) {
      released_ = ring_->EntryOf(released_ + 1).last();
    }
  } else {
    released_ = applied;
  }
  held_at_.reset();
  if (released_ < applied) held_at_ = released_;
  return released_;
}

void Donor::Send(std::string chunk, size_t bytes) {
  ++chunks_sent_;
  stats_->bytes += bytes;
  bytes_sent_ += chunk.size();
  pacer_.Went(chunk.size());
  outbox_->Send(downstream_->link())
      .mutable_state_chunk()
      ->set_snapshot(std::move(chunk));
}

bool Donor::SendChunk() {
  std::string chunk;
  const size_t bytes = copy_->NextChunk(&chunk);
  if (bytes == 0) return false;
  Send(std::move(chunk), bytes);
  return true;
}

void Donor::SendCut() {
  copy_->PrepareCut();
  while (SendChunk()) {
  }
  std::string end;
  copy_->FinishSending(ring_->applied(), &end);
  EndCopy();
  Send(std::move(end), 0);
  LOG(INFO) << joining_ << " has the heap as of mutation " << ring_->applied()
            << ", " << (stats_->bytes >> 20) << " MiB, of which "
            << (bytes_sent_ >> 20) << " were sent";
  SendEntriesAfter(ring_->applied());
}

void Donor::EndCopy() {
  copy_->EndSending();
  stats_->bytes_left = 0;
}

bool Donor::KeepsRing() {
  if (state() != State::kFollowed && !retains()) return false;
  // While writes are slowed down, entries on their way may still arrive.
  const uint64_t quarters = brake_.holds() ? 3 : 2;
  if (ring_->bytes_used() <= ring_->bytes_total() / 4 * quarters) {
    return true;  // the node cleans up to its position
  }
  Forget();
  return false;
}

uint64_t Donor::Progress() const {
  return state() == State::kFollowed
             ? chunks_acked_ + std::min(downstream_->acked(), target_)
             : chunks_acked_;
}

bool Donor::OnTick(absl::Time now) {
  const absl::Duration held_up = now - ticked_ - kLongTick;
  if (held_up > absl::ZeroDuration()) {
    progressed_ = std::min(now, progressed_ + held_up);
  }
  ticked_ = now;
  const uint64_t progress = Progress();
  // It can take nothing while nothing is sent.
  const bool waits = state() == State::kCopying && !awaits_wanted_ &&
                     chunks_acked_ == chunks_sent_;
  if (waits || progress != progress_) NoteProgress(now);
  progress_ = progress;
  if (braked_ && !joining_.empty() && Stutters(now) &&
      !std::exchange(told_, true)) {
    LOG(WARNING) << joining_
                 << " receives with long pauses; writes do not wait for it, so "
                    "that it may never catch up, and another invited node may "
                    "take its place";
  }
  UpdateBrake(now);
  if (!retains() || now < *retain_until_) return held_at_.has_value();
  retain_until_.reset();
  return true;
}

void Donor::Forget() {
  LOG(WARNING) << "log entries are no longer kept for the joining node";
  retain_until_.reset();
  if (joining_.empty()) return;
  if (state() == State::kCopying) EndCopy();
  joining_.clear();
  brake_.Reset();
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
  held_at_.reset();  // the next view's tail completes it
  if (!joining_.empty()) Lose(now);
}

void Donor::Lose(absl::Time now) {
  if (state() == State::kFollowed) retain_until_ = now + options_.retain;
  if (state() == State::kCopying) EndCopy();
  joining_.clear();
  brake_.Reset();
}

}  // namespace kamino::replica
