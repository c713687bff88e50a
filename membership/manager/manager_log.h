// Logs and lists what happens to the chain while this manager leads: changes,
// and from time to time the reason why it cannot lead the chain.
#ifndef KAMINO_MEMBERSHIP_MANAGER_MANAGER_LOG_H_
#define KAMINO_MEMBERSHIP_MANAGER_MANAGER_LOG_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "glog/logging.h"
#include "membership/manager/chain_events.h"
#include "membership/manager/manager_core.h"

namespace kamino::membership {

// Not thread-safe.
class ManagerLog {
 public:
  // Call it regularly.
  void Tell(const ManagerCore& core, absl::Time now);
  // Logs an error of etcd, at a limited rate.
  void Complain(const absl::Status& error, absl::Time now);
  // Logs any other event, on one line.
  void Say(google::LogSeverity severity, std::string text, absl::Time now);

  const ChainEvents& events() const { return events_; }

 private:
  // Logs which members are missing if the chain cannot continue without them.
  void LogMissingMembers(const ManagerCore& core, absl::Time now);
  // Logs that the store is behind, or what the chain waits for if all returned
  // members are on stale copies.
  void LogOldCopies(const ManagerCore& core, absl::Time now);
  void LogRefusedNodes(const ManagerCore& core, absl::Time now);
  void LogSuspect(const ManagerCore& core, absl::Time now);
  // Logs which members are in a planned stop, how long their places are kept,
  // and which exceeded that.
  void LogAwayMembers(const ManagerCore& core, absl::Time now);
  // Logs which nodes fell silent, and which are heard again.
  void LogSilentNodes(const ManagerCore& core, absl::Time now);
  // Logs once that the chain has too few nodes for its mode.
  void LogShortChain(const ManagerCore& core, absl::Time now);

  ChainEvents events_;
  absl::Time next_complaint_ = absl::InfinitePast();
  absl::Time next_old_ = absl::InfinitePast();
  absl::Time next_refused_ = absl::InfinitePast();
  absl::Time next_silent_ = absl::InfinitePast();
  std::map<std::string, bool> alive_;           // as logged, by node id
  std::vector<std::string> missing_;            // as logged
  std::optional<Suspicion> suspect_;            // likewise
  std::map<std::string, std::string> refused_;  // likewise, by node id
  std::string too_short_;                       // likewise
  // Nodes that are away; true: as members.
  std::map<std::string, bool> away_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_MANAGER_LOG_H_
