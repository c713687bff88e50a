// What a manager that leads tells of the chain, in its log and on its page:
// what has changed, and now and then what keeps it from being led.
#ifndef KAMINO_MEMBERSHIP_MANAGER_LOG_H_
#define KAMINO_MEMBERSHIP_MANAGER_LOG_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "glog/logging.h"
#include "membership/chain_events.h"
#include "membership/manager_core.h"

namespace kamino::membership {

// Not thread-safe.
class ManagerLog {
 public:
  // To be called again and again.
  void Tell(const ManagerCore& core, absl::Time now);
  // An error of etcd's, once a while.
  void Complain(const absl::Status& error, absl::Time now);
  // What has happened otherwise; one line.
  void Say(google::LogSeverity severity, std::string text, absl::Time now);

  const ChainEvents& events() const { return events_; }

 private:
  // Which members are missing, when the chain cannot go on without.
  void TellWhoIsMissing(const ManagerCore& core, absl::Time now);
  // That the store is behind; for what the chain waits, where all who came back
  // are on old copies.
  void TellWhatIsOld(const ManagerCore& core, absl::Time now);
  void TellWhoIsRefused(const ManagerCore& core, absl::Time now);
  void TellWhoIsSuspect(const ManagerCore& core, absl::Time now);
  // Who was stopped in order, and for how long its place is kept; and who was
  // for too long.
  void TellWhoIsAway(const ManagerCore& core, absl::Time now);
  // Who is not heard of any more, and who is again.
  void TellWhoIsSilent(const ManagerCore& core, absl::Time now);
  // Once: that the chain is to have too few nodes for its mode.
  void TellWhatIsTooShort(const ManagerCore& core, absl::Time now);

  ChainEvents events_;
  absl::Time next_complaint_ = absl::InfinitePast();
  absl::Time next_old_ = absl::InfinitePast();
  absl::Time next_refused_ = absl::InfinitePast();
  absl::Time next_silent_ = absl::InfinitePast();
  std::map<std::string, bool> alive_;           // as told, by node id
  std::vector<std::string> missing_;            // as told
  std::optional<Suspicion> suspect_;            // likewise
  std::map<std::string, std::string> refused_;  // likewise, by node id
  std::string too_short_;                       // likewise
  // Those that are away: whether as members.
  std::map<std::string, bool> away_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_LOG_H_
