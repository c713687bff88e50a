#include "membership/manager/manager_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/chain_mode.h"
#include "glog/logging.h"

namespace kamino::membership {
namespace {

constexpr absl::Duration kComplainEvery = absl::Seconds(5);
// Unknown nodes may be refused for another reason each time.
constexpr absl::Duration kRefusalsEvery = absl::Seconds(1);
// Interval between checks of the silent nodes.
constexpr absl::Duration kSilentEvery = absl::Milliseconds(50);
// An expelled member leaves the view within two failure timeouts, and then
// registers again.
constexpr int kRefusedTimeouts = 3;

}  // namespace

void ManagerLog::Tell(const ManagerCore& core, absl::Time now) {
  LogSilentNodes(core, now);
  LogMissingMembers(core, now);
  LogOldCopies(core, now);
  LogRefusedNodes(core, now);
  LogSuspect(core, now);
  LogShortChain(core, now);
  LogAwayMembers(core, now);
}

void ManagerLog::Say(google::LogSeverity severity, std::string text,
                     absl::Time now) {
  LOG_AT_LEVEL(severity) << text;
  events_.Add(std::move(text), now);
}

void ManagerLog::LogOldCopies(const ManagerCore& core, absl::Time now) {
  if (now < next_old_) return;
  for (const std::string& why :
       {core.watch().WhyBehind(), core.old_copies().WhyWaits(now)}) {
    if (why.empty()) continue;
    next_old_ = now + kComplainEvery;
    Say(google::GLOG_ERROR, why, now);
  }
}

void ManagerLog::LogRefusedNodes(const ManagerCore& core, absl::Time now) {
  if (now < next_refused_) return;
  std::map<std::string, std::string> refused;
  for (const auto& [id, refusal] : core.refusals().Lately(now)) {
    refused[id] = refusal.why;
    const auto told = refused_.find(id);
    if (told != refused_.end() && told->second == refusal.why) continue;
    next_refused_ = now + kRefusalsEvery;
    Say(google::GLOG_WARNING,
        absl::StrCat("refused node ", id, ": ", refusal.why), now);
  }
  refused_ = std::move(refused);
}

void ManagerLog::LogSilentNodes(const ManagerCore& core, absl::Time now) {
  if (now < next_silent_) return;
  next_silent_ = now + kSilentEvery;
  const absl::Duration most_refused =
      kRefusedTimeouts * core.options().failure_timeout;
  std::map<std::string, bool> alive;
  for (const ManagerCore::Known& node : core.nodes(now)) {
    const std::string& id = node.state.member.node_id;
    alive[id] = node.state.alive;
    const auto told = alive_.find(id);
    if (told == alive_.end() || told->second == node.state.alive) continue;
    // The manager refuses the heartbeats of a member that it expels, so the
    // node counts as silent until it registers again.
    const bool refused =
        node.suspect ||
        (node.kept_out > absl::ZeroDuration() && node.silent < most_refused);
    if (refused) {
      alive[id] = told->second;
    } else if (node.state.alive) {
      Say(google::GLOG_INFO, absl::StrCat(id, " is alive again"), now);
    } else {
      Say(google::GLOG_WARNING,
          absl::StrCat(id, " was not heard of for ",
                       absl::FormatDuration(
                           absl::Trunc(node.silent, absl::Milliseconds(1)))),
          now);
    }
  }
  alive_ = std::move(alive);
}

void ManagerLog::LogMissingMembers(const ManagerCore& core, absl::Time now) {
  std::vector<std::string> missing = core.registry().WaitingFor(now);
  if (missing == missing_) return;
  missing_ = std::move(missing);
  if (missing_.empty()) return;
  Say(google::GLOG_WARNING,
      absl::StrCat("the chain of ", core.view().ToString(),
                   " cannot go on with the nodes that are alive: it waits for ",
                   absl::StrJoin(missing_, " or ")),
      now);
}

void ManagerLog::LogSuspect(const ManagerCore& core, absl::Time now) {
  if (suspect_ == core.removals().suspects().present()) return;
  suspect_ = core.removals().suspects().present();
  if (!suspect_.has_value()) return;
  const std::string duration = absl::FormatDuration(suspect_->waited);
  if (suspect_->reporter == suspect_->suspect) {
    return Say(
        google::GLOG_WARNING,
        absl::StrCat(suspect_->suspect, " was in long steps for ", duration,
                     " of the last second, as on a slow medium, and the "
                     "other members were not: the chain continues without it"),
        now);
  }
  const char* others =
      suspect_->turned
          ? ", as before for other members, which answer their neighbours"
          : "";
  const std::string& waiting =
      suspect_->turned ? suspect_->suspect : suspect_->reporter;
  const std::string& silent =
      suspect_->turned ? suspect_->reporter : suspect_->suspect;
  Say(google::GLOG_WARNING,
      absl::StrCat(waiting, " has waited for an answer of ", silent, " for ",
                   duration, others, ": the chain continues without ",
                   suspect_->suspect),
      now);
}

void ManagerLog::LogAwayMembers(const ManagerCore& core, absl::Time now) {
  std::map<std::string, bool> away;
  for (const auto& [id, each] : core.view().away) {
    if (core.places().AwayLeft(id, now) == absl::ZeroDuration()) continue;
    const bool member = core.view().IndexOf(id, each.incarnation) >= 0;
    away[id] = member;
    const auto told = away_.find(id);
    if (told != away_.end() && told->second == member) continue;
    const std::string left = absl::FormatDuration(
        absl::Trunc(core.places().AwayLeft(id, now), absl::Seconds(1)));
    Say(member ? google::GLOG_WARNING : google::GLOG_INFO,
        member
            ? absl::StrCat(id,
                           " was stopped, and more members are stopped than "
                           "the chain can lose: none is removed, and the chain "
                           "waits for it, for ",
                           left, " at most")
            : absl::StrCat(id,
                           " is away after a planned stop; its place is "
                           "kept for ",
                           left),
        now);
  }
  for (const auto& [id, member] : away_) {
    if (away.count(id) > 0) continue;
    const bool gone = core.view().away.count(id) > 0;
    Say(gone ? google::GLOG_WARNING : google::GLOG_INFO,
        absl::StrCat(
            id, gone ? " was away for too long: another node may take its place"
                     : " is no longer away"),
        now);
  }
  away_ = std::move(away);
}

void ManagerLog::LogShortChain(const ManagerCore& core, absl::Time now) {
  if (!core.view().formed()) return;
  std::string why =
      WhyTooShort(core.view().mode(), core.options().chain_length);
  if (why == too_short_) return;
  too_short_ = std::move(why);
  if (!too_short_.empty()) Say(google::GLOG_WARNING, too_short_, now);
}

void ManagerLog::Complain(const absl::Status& error, absl::Time now) {
  if (now < next_complaint_) return;
  next_complaint_ = now + kComplainEvery;
  const bool full = absl::IsResourceExhausted(error);
  Say(google::GLOG_ERROR,
      absl::StrCat(error.message(),
                   full ? "; etcd is full, and no manager can lead until it "
                          "has space again: see \"A full etcd\" in "
                          "docs/operate/operations.md"
                        : "; trying again"),
      now);
}

}  // namespace kamino::membership
