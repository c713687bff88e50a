#include "replica/integrity/divergence.h"

#include <utility>

#include "glog/logging.h"

namespace kamino::replica {

Divergence::Judgement Divergence::Judge(const Votes& votes) {
  if (!votes.successor) {
    return votes.before > 1 ? Judgement::kThisNodeErred : Judgement::kUndecided;
  }
  if (!votes.vote.has_value()) return Judgement::kAsk;
  if (*votes.vote == votes.head) return Judgement::kThisNodeErred;
  if (*votes.vote != votes.own) return Judgement::kUndecided;
  if (votes.before > 1) {
    return votes.one_origin ? Judgement::kThisNodeErred : Judgement::kUndecided;
  }
  return votes.one_origin ? Judgement::kUndecided : Judgement::kHeadErred;
}

Divergence::Judgement Divergence::Judge(size_t before, bool successor) const {
  return Judge({.before = before,
                .head = entry_->head,
                .own = entry_->own,
                .successor = successor,
                .vote = vote_,
                .one_origin = one_origin_});
}

void Divergence::Begin(const LogEntry& entry, const absl::Status& why,
                       uint64_t own) {
  LOG(ERROR) << "the result of mutation " << entry.first()
             << " at this node differs from the head's: "
             << (why.ok() ? "it leaves other bytes" : why.message())
             << "; the node does not apply it, and executes nothing after it";
  Resume(entry, why.ok(), own);
  NodeState state = record_->state();
  state.disputed = entry.first();
  state.disputed_whole = why.ok();
  record_->Update(state);
}

void Divergence::Resume(const LogEntry& entry, bool whole, uint64_t own) {
  entry_ = Entry{entry.first(), entry.last(), entry.image_hash(), own, whole};
  ForgetVotes();
}

void Divergence::End() {
  entry_.reset();
  NodeState state = record_->state();
  if (state.disputed == 0) return;
  state.disputed = 0;
  state.disputed_whole = false;
  record_->Update(state);
}

void Divergence::ForgetVotes() {
  vote_.reset();
  speak_at_ = absl::InfinitePast();
  told_ = false;
}

void Divergence::OnVote(uint64_t first, uint64_t hash, bool one_origin) {
  if (!open() || first != entry_->first || vote_.has_value()) return;
  vote_ = hash;
  one_origin_ = one_origin;
  speak_at_ = absl::InfinitePast();  // there is news
}

bool Divergence::MaySpeak(absl::Time now) {
  if (now < speak_at_) return false;
  speak_at_ = now + retry_;
  return true;
}

bool Divergence::FirstUndecided() { return !std::exchange(told_, true); }

}  // namespace kamino::replica
