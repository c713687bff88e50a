#include "replica/repair/catch_up_history.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::replica {

using kamino::internal::v1::Hello;
using membership::Member;
using membership::View;

namespace {

// Views whose first mutation is remembered.
constexpr size_t kMostViews = 64;

bool IsMember(const View& view, const std::string& node_id) {
  for (const Member& member : view.members) {
    if (member.node_id == node_id) return true;
  }
  return false;
}

}  // namespace

void CatchUpHistory::OnView(const View& last, bool was_member, const View& next,
                            bool is_member, bool whole, absl::Time now) {
  if (!is_member || !was_member || last.epoch != next.epoch) Forget();
  view_ = next;
  if (!is_member) return;
  if (since_ == 0) {
    since_ = newest_ = next.id;
    noted_ = ring_->applied();
    return;
  }
  for (Generation& generation : generations_) {
    for (const Member& member : next.members) {
      generation.gone.erase(member.node_id);
    }
  }
  std::set<std::string> gone;
  for (const Member& member : last.members) {
    if (!IsMember(next, member.node_id)) gone.insert(member.node_id);
  }
  if (!gone.empty() && options_.keep_changes > absl::ZeroDuration()) {
    if (whole) {
      BeginGeneration(std::move(gone), now);
    } else {
      generations_.clear();
      copy_->ForgetChanges();
    }
  }
  DropOld(now);
}

void CatchUpHistory::BeginGeneration(std::set<std::string> gone,
                                     absl::Time now) {
  if (generations_.size() == kMostGenerations) {
    // The changes remembered for nodes that left before also cover these.
    generations_.back().begun = now;
    generations_.back().gone.merge(gone);
    return;
  }
  const uint64_t since = ring_->cleaned();
  copy_->KeepChanges(since, *ring_);
  generations_.push_back({since, now, std::move(gone)});
}

void CatchUpHistory::DropOld(absl::Time now) {
  if (generations_.empty()) return;
  const uint64_t first = generations_.front().since;
  while (!generations_.empty() &&
         (generations_.front().gone.empty() ||
          now - generations_.front().begun > options_.keep_changes)) {
    generations_.pop_front();
  }
  if (generations_.empty()) {
    copy_->ForgetChanges();
  } else if (generations_.front().since != first) {
    copy_->ForgetChangesBefore(generations_.front().since);
  }
}

void CatchUpHistory::OnTick(absl::Time now) { DropOld(now); }

void CatchUpHistory::Forget() {
  since_ = newest_ = noted_ = 0;
  begins_.clear();
  generations_.clear();
  copy_->ForgetChanges();
}

void CatchUpHistory::OnApplied() {
  if (since_ == 0) return;
  // Everything that follows is of this view.
  if (newest_ != view_.id && noted_ < ring_->cleaned()) {
    // Nothing is known of mutations that were not seen.
    since_ = newest_ = view_.id;
    begins_.clear();
  }
  while (newest_ != view_.id && noted_ < ring_->applied()) {
    const LogEntry entry = ring_->EntryOf(noted_ + 1);
    noted_ = entry.last();
    if (entry.view_id() <= newest_) continue;
    newest_ = entry.view_id();
    begins_.emplace_back(newest_, entry.first());
    if (begins_.size() <= kMostViews) continue;
    since_ = begins_.front().first;
    begins_.pop_front();
  }
  noted_ = ring_->applied();
}

std::optional<uint64_t> CatchUpHistory::EndOf(uint64_t view_id) const {
  if (since_ == 0 || view_id < since_) return std::nullopt;
  for (const auto& [view, first] : begins_) {
    if (view > view_id) return first - 1;
  }
  return ring_->applied();
}

std::optional<uint64_t> CatchUpHistory::DigestOf(uint64_t view_id) const {
  if (view_id == view_.id) return view_.digest;
  if (view_id > view_.id) return std::nullopt;
  const uint64_t before = view_.id - view_id;  // from 1
  if (before <= view_.ancestors.size()) return view_.ancestors[before - 1];
  if (view_.digest == 0) return 0;  // no view has one
  return std::nullopt;
}

CatchUpHistory::Plan CatchUpHistory::For(const Hello& hello) const {
  Plan plan;
  if (hello.member_view() == 0 || hello.epoch() != view_.epoch) {
    plan.why = "it holds no state of the chain to continue from";
    return plan;
  }
  plan.reason = WholeHeapFor::kHistory;
  const std::optional<uint64_t> end = EndOf(hello.member_view());
  const std::optional<uint64_t> digest = DigestOf(hello.member_view());
  if (!end.has_value() || !digest.has_value()) {
    plan.why = absl::StrCat(
        "its last view was ", hello.member_view(), ", and ", options_.node_id,
        since_ == 0 ? absl::StrCat(" is not a member")
                    : absl::StrCat(" has been a member since view ", since_));
    return plan;
  }
  if (*digest != hello.member_view_digest()) {
    plan.why = hello.member_view_digest() == 0
                   ? absl::StrCat("it does not know which view ",
                                  hello.member_view(), " it was last in")
                   : absl::StrCat("it was in another view ",
                                  hello.member_view(), " than the chain's");
    return plan;
  }
  const uint64_t after = std::min<uint64_t>(hello.applied(), *end);
  if (!copy_->KnowsChangesAfter(after)) {
    plan.reason = WholeHeapFor::kChanges;
    plan.why =
        absl::StrCat(options_.node_id,
                     " does not know what has changed since mutation ", after);
    return plan;
  }
  plan.changes_after = after;
  return plan;
}

}  // namespace kamino::replica
