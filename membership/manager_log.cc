#include "membership/manager_log.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "base/chain_mode.h"
#include "glog/logging.h"

namespace kamino::membership {
namespace {

constexpr absl::Duration kComplainEvery = absl::Seconds(5);
// Strangers may be refused for another reason each time.
constexpr absl::Duration kRefusalsEvery = absl::Seconds(1);

}  // namespace

void ManagerLog::Tell(const ManagerCore& core, absl::Time now) {
  TellWhoIsMissing(core, now);
  TellWhatIsOld(core, now);
  TellWhoIsRefused(core, now);
  TellWhoIsSuspect(core);
  TellWhatIsTooShort(core);
}

void ManagerLog::TellWhatIsOld(const ManagerCore& core, absl::Time now) {
  if (now < next_old_) return;
  for (const std::string& why : {core.WhyBehind(), core.WhyWaits(now)}) {
    if (why.empty()) continue;
    next_old_ = now + kComplainEvery;
    LOG(ERROR) << why;
  }
}

void ManagerLog::TellWhoIsRefused(const ManagerCore& core, absl::Time now) {
  if (now < next_refused_) return;
  std::map<std::string, std::string> refused;
  for (const auto& [id, refusal] : core.refusals().Lately(now)) {
    refused[id] = refusal.why;
    const auto told = refused_.find(id);
    if (told != refused_.end() && told->second == refusal.why) continue;
    next_refused_ = now + kRefusalsEvery;
    LOG(WARNING) << "refused node " << id << ": " << refusal.why;
  }
  refused_ = std::move(refused);
}

void ManagerLog::TellWhoIsMissing(const ManagerCore& core, absl::Time now) {
  std::vector<std::string> missing = core.WaitingFor(now);
  if (missing == missing_) return;
  missing_ = std::move(missing);
  if (missing_.empty()) return;
  LOG(WARNING) << "the chain of " << core.view().ToString()
               << " cannot go on with those that are alive: it waits for "
               << absl::StrJoin(missing_, " or ");
}

void ManagerLog::TellWhoIsSuspect(const ManagerCore& core) {
  if (suspect_ == core.suspicion()) return;
  suspect_ = core.suspicion();
  if (!suspect_.has_value()) return;
  if (suspect_->accuser == suspect_->suspect) {
    LOG(WARNING) << suspect_->suspect << " was in long steps for "
                 << absl::FormatDuration(suspect_->debt)
                 << " of the last second, as on a medium that is slow, and "
                    "others are not: the chain goes on without it";
    return;
  }
  if (suspect_->turned) {
    LOG(WARNING) << suspect_->suspect << " has waited for an answer of "
                 << suspect_->accuser << " for "
                 << absl::FormatDuration(suspect_->debt)
                 << ", as of others before, who answer others: the chain goes "
                    "on without "
                 << suspect_->suspect;
    return;
  }
  LOG(WARNING) << suspect_->accuser << " has waited for an answer of "
               << suspect_->suspect << " for "
               << absl::FormatDuration(suspect_->debt)
               << ": the chain goes on without " << suspect_->suspect;
}

void ManagerLog::TellWhatIsTooShort(const ManagerCore& core) {
  if (!core.view().formed()) return;
  std::string why =
      WhyTooShort(core.view().mode(), core.options().chain_length);
  if (why == too_short_) return;
  too_short_ = std::move(why);
  if (!too_short_.empty()) LOG(WARNING) << too_short_;
}

void ManagerLog::Complain(const absl::Status& error, absl::Time now) {
  if (now < next_complaint_) return;
  next_complaint_ = now + kComplainEvery;
  const bool full = absl::IsResourceExhausted(error);
  LOG(ERROR) << error.message()
             << (full ? "; etcd is full, and nobody can lead until it has "
                        "space again: see \"A full etcd\" in "
                        "docs/operations.md"
                      : "; trying again");
}

}  // namespace kamino::membership
