#include "membership/manager/suspects.h"

#include <algorithm>

namespace kamino::membership {
namespace {

// In failure timeouts: how long suspicions count against their reporters after
// the last one, and how long an expelled node is kept out at first.
constexpr int kRemembered = 20;
constexpr size_t kMostRemembered = 64;
constexpr int kKeptOut = 4;
// At most this many times longer.
constexpr int kMostDoubled = 64;

}  // namespace

void Suspects::Look(const View& view, const KnownNodes& nodes, absl::Time now) {
  if (present_.has_value()) {
    // Other members may have died meanwhile.
    if (!CanContinue(view, nodes, {{present_->suspect, false}})) LetGo();
    return;
  }
  if (now - last_expulsion_ >= failure_timeout_ * kRemembered) lately_.clear();
  present_ = SuspectOf(view, nodes, failure_timeout_, lately_);
}

void Suspects::Heed(const View& view, const Member& member,
                    const NodeReport& report) {
  if (DivergesFromHead(view, member, report)) LetGo();
}

void Suspects::OnView(const View& before, const View& after, absl::Time now) {
  if (!present_.has_value() || after.id == before.id) return;
  const bool stays =
      std::any_of(after.members.begin(), after.members.end(),
                  [this](const Member& member) { return Is(member.node_id); });
  if (!stays) {
    KeepOut(present_->suspect, now);
    if (lately_.size() == kMostRemembered) lately_.erase(lately_.begin());
    lately_.push_back(*present_);
    last_expulsion_ = now;
  }
  LetGo();
}

void Suspects::KeepOut(const std::string& node_id, absl::Time now) {
  const absl::Duration first = failure_timeout_ * kKeptOut;
  // Forgets terms that ended long ago.
  std::erase_if(kept_out_, [now](const auto& kept) {
    return now >= kept.second.until + kept.second.lasts;
  });
  const auto [kept, is_new] = kept_out_.try_emplace(node_id);
  Term& term = kept->second;
  term.lasts = is_new ? first : std::min(term.lasts * 2, first * kMostDoubled);
  term.until = now + term.lasts;
}

absl::Duration Suspects::KeptOut(const std::string& node_id,
                                 absl::Time now) const {
  const auto found = kept_out_.find(node_id);
  if (found == kept_out_.end()) return absl::ZeroDuration();
  return std::max(found->second.until - now, absl::ZeroDuration());
}

void Suspects::AddKeptOut(absl::Time now, Exclusions* exclusions) const {
  for (const auto& [id, term] : kept_out_) {
    if (now < term.until) exclusions->emplace(id, false);
  }
}

}  // namespace kamino::membership
