#include "replica/integrity/scrub.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"

namespace kamino::replica {

using kamino::internal::v1::RangeVote;
using Kind = RangeJudgement::Kind;

namespace {

// Longer than the time between two ticks.
constexpr absl::Duration kPacedBurst = absl::Milliseconds(50);
// A head has other work while it searches a range's start.
constexpr absl::Duration kBetweenWalks = absl::Milliseconds(10);
// A head that knows of an unresolved range asks once in options.scrub_retry, or
// in two of them if a question was lost.
constexpr int kUnasked = 4;

}  // namespace

Scrub::Scrub(const ChainOptions& options, ScrubbedHeap* heap)
    : options_(options),
      heap_(heap),
      pacer_(options.scrub_bytes_per_s, kPacedBurst) {
  if (heap_ == nullptr) return;
  stats_.on = options.scrub_bytes_per_s > 0;
  stats_.ranges = heap_->range_states()->count();
  stats_.range_bytes = heap_->range_bytes();
  // Ranges may have had another size.
  if (has_unresolved_range() && *unresolved_range() >= stats_.ranges) {
    SetUnresolved(0);
  }
  next_ = stats_.next = unresolved_range().value_or(0);
}

std::optional<uint64_t> Scrub::unresolved_range() const {
  if (heap_ == nullptr) return std::nullopt;
  return heap_->record()->state().unresolved;
}

bool Scrub::confirmed() const {
  return heap_ == nullptr ||
         (!heap_->record()->state().copied && heap_->range_states()->all_own());
}

std::string Scrub::origin() const {
  return confirmed() ? options_.node_id : heap_->record()->state().source;
}

void Scrub::OnCopied(const std::string& source) {
  if (heap_ == nullptr) return;
  heap_->range_states()->Reset(RangeStates::Origin::kCopied);
  heap_->record()->Update({.copied = true, .source = source, .unresolved = {}});
  asked_.reset();
  walking_.reset();
  in_a_row_ = 0;
}

void Scrub::OnAlone() {
  if (!has_unresolved_range()) return;
  LOG(WARNING) << "no other node is left to compare range "
               << *unresolved_range()
               << " of the heap with: this node's data counts";
  SetUnresolved(std::nullopt);
}

void Scrub::SetUnresolved(std::optional<uint64_t> range) {
  if (unresolved_range() == range) return;
  ScrubState state = heap_->record()->state();
  state.unresolved = range;
  heap_->record()->Update(state);
}

void Scrub::Leave() {
  asked_.reset();
  told_ = false;
  tell_at_ = absl::InfiniteFuture();
  not_before_ = absl::InfinitePast();
  rest_until_ = absl::InfinitePast();
  pass_is_of_view_ = false;
  stats_.between_passes = false;
}

void Scrub::OnWritten(const engine::WriteSet& write_set) {
  if (heap_ == nullptr) return;
  for (const engine::Intent& intent : write_set) {
    heap_->OnWritten(intent.object);
  }
}

void Scrub::OnTick(absl::Time now) {
  if (walking_.has_value() && heap_->Reach(*walking_)) walking_.reset();
  if (!asked_.has_value() || !asked_->by_this_node ||
      now - asked_->at < options_.scrub_retry) {
    return;
  }
  ++stats_.unanswered;
  asked_.reset();
}

void Scrub::AddVote(uint64_t range, RangeVotes* votes) {
  const RangeStates& ranges = *heap_->range_states();
  RangeVote* vote = votes->Add();
  vote->set_node_id(options_.node_id);
  vote->set_digest(heap_->Digest(range));
  vote->set_agreed(ranges.agreed(range));
  vote->set_copied(ranges.origin(range) != RangeStates::Origin::kOwn);
  if (ranges.origin(range) == RangeStates::Origin::kCopied) {
    vote->set_source(heap_->record()->state().source);
  }
  heap_->range_states()->Begin(range);
}

std::optional<Scrub::Compare> Scrub::Next(uint64_t position, absl::Time now) {
  const bool passes = stats_.on && now >= rest_until_;
  if (!(passes || told_ || has_unresolved_range()) || asked_.has_value() ||
      now < not_before_ || !pacer_.MayGo(now)) {
    return std::nullopt;
  }
  const uint64_t range = unresolved_range().value_or(next_);
  if (!heap_->Reach(range)) {
    not_before_ = now + kBetweenWalks;
    return std::nullopt;
  }
  if (!told_ && !has_unresolved_range()) stats_.between_passes = false;
  asked_ = Asked{++last_number_, range, now, /*by_this_node=*/true};
  pacer_.Went(stats_.range_bytes);
  Compare compare;
  compare.set_number(asked_->number);
  compare.set_range(range);
  compare.set_range_bytes(stats_.range_bytes);
  compare.set_position(position);
  AddVote(range, compare.mutable_votes());
  return compare;
}

Scrub::Answer Scrub::OnCompare(Compare* compare, absl::Time now) {
  const uint64_t range = compare->range();
  if (compare->range_bytes() != stats_.range_bytes || range >= stats_.ranges) {
    return Answer::kNone;
  }
  asked_.reset();
  next_ = stats_.next = range;
  stats_.between_passes = false;
  tell_at_ = now + kUnasked * options_.scrub_retry;
  if (has_unresolved_range() && *unresolved_range() != range) {
    return Answer::kFirst;
  }
  if (!heap_->Reach(range)) {
    walking_ = range;
    return Answer::kNone;
  }
  asked_ = Asked{compare->number(), range, now, /*by_this_node=*/false};
  AddVote(range, compare->mutable_votes());
  return Answer::kVoted;
}

std::optional<uint64_t> Scrub::Tell(absl::Time now) {
  if (!has_unresolved_range()) return std::nullopt;
  if (tell_at_ == absl::InfiniteFuture()) {
    tell_at_ = now + kUnasked * options_.scrub_retry;
  }
  if (now < tell_at_) return std::nullopt;
  tell_at_ = now + options_.scrub_retry;
  return unresolved_range();
}

void Scrub::OnFirst(uint64_t range, absl::Time now) {
  if (asked_.has_value() && asked_->range == range) return;
  asked_.reset();
  if (range >= stats_.ranges) return;
  next_ = stats_.next = range;
  told_ = true;
  not_before_ = now + options_.scrub_retry;
}

RangeJudgement Scrub::Conclude(const RangeVotes& votes, size_t own,
                               absl::Time now) {
  const Asked asked = *std::exchange(asked_, std::nullopt);
  told_ = false;
  const RangeJudgement judgement = JudgeRange(votes);
  const bool right = judgement.kind != Kind::kUndecided &&
                     votes[static_cast<int>(own)].digest() == judgement.digest;
  if (right) heap_->range_states()->Agree(asked.range, judgement.digest);
  if (heap_->range_states()->all_own() && heap_->record()->state().copied) {
    LOG(INFO) << "all data that this node received from another is confirmed";
    ScrubState state = heap_->record()->state();
    state.copied = false;
    state.source.clear();
    heap_->record()->Update(state);
  }
  if (judgement.kind == Kind::kAgreed) {
    if (stats_.between_passes) {
      next_ = stats_.next = 0;
    } else {
      next_ = stats_.next = (asked.range + 1) % stats_.ranges;
      CountAgreed(asked.range, asked.at, now);
    }
  } else {
    not_before_ = now + options_.scrub_retry;
    Describe(asked.range, votes, judgement);
  }
  if (!right &&
      !(judgement.kind == Kind::kExpel && judgement.expelled == own)) {
    next_ = stats_.next = asked.range;
    SetUnresolved(asked.range);
  } else if (unresolved_range() == asked.range) {
    SetUnresolved(std::nullopt);
  }
  return judgement;
}

void Scrub::CountAgreed(uint64_t range, absl::Time asked_at, absl::Time now) {
  if (range == 0) {
    pass_began_ = asked_at;
    pass_is_of_view_ = true;
    in_a_row_ = 0;
  }
  if (range + 1 == in_a_row_) return;  // a repetition
  in_a_row_ = range == in_a_row_ ? in_a_row_ + 1 : 0;
  if (in_a_row_ < stats_.ranges) return;
  ++stats_.passes;
  stats_.between_passes = true;
  stats_.ended = now;
  stats_.took = now - pass_began_;
  // A new view that has missed the start of a pass makes a whole one at once.
  if (pass_is_of_view_) rest_until_ = pass_began_ + options_.scrub_min_pass;
}

void Scrub::Describe(uint64_t range, const RangeVotes& votes,
                     const RangeJudgement& judgement) {
  ++stats_.differences;
  const std::string held =
      absl::StrJoin(votes, ", ", [](std::string* out, const RangeVote& vote) {
        absl::StrAppend(out, vote.node_id(), " ", absl::Hex(vote.digest()));
        if (vote.copied()) {
          absl::StrAppend(
              out, " (a copy",
              vote.source().empty() ? "" : absl::StrCat(" of ", vote.source()),
              ")");
        }
        if (vote.agreed() != 0 && vote.agreed() != vote.digest()) {
          absl::StrAppend(out, ", agreed before ", absl::Hex(vote.agreed()));
        }
      });
  stats_.last_found = absl::StrCat(
      "range ", range, " of the heap: ",
      judgement.kind == Kind::kExpel
          ? absl::StrCat(votes[static_cast<int>(judgement.expelled)].node_id(),
                         " holds other bytes than the chain wrote")
          : "no majority holds the same bytes",
      "; ", held);
}

}  // namespace kamino::replica
