// How long a node waits for its managers: the deadline of a call, and when a
// call opens a new connection.
#ifndef KAMINO_MEMBERSHIP_AGENT_MANAGER_PATIENCE_H_
#define KAMINO_MEMBERSHIP_AGENT_MANAGER_PATIENCE_H_

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class ManagerPatience {
 public:
  // `deadline`: of the first call.
  explicit ManagerPatience(absl::Duration deadline);

  // The deadline of the next call (AgentCore::Call). `lease`: duration of the
  // manager's last lease.
  absl::Duration Deadline(absl::Duration lease) const;
  // Whether the next call opens a new connection. Each new connection gets
  // twice as long as the one before.
  bool TakesNewConnection(absl::Time now);

  // The manager has answered the call that was sent then, perhaps with an
  // error.
  void OnAnswer(absl::Time sent, const absl::Status& status, absl::Time now);
  // It has not. `connected`: the call ended with a connection to it.
  void OnSilence(absl::Time sent, const absl::Status& status, bool connected);

 private:
  const absl::Duration deadline_;
  // No manager has answered since this call was sent.
  absl::Time silent_since_ = absl::InfiniteFuture();
  absl::Duration patience_;  // with a connection without answers
  int late_calls_ = 0;       // ended by their deadlines since the last answer
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGENT_MANAGER_PATIENCE_H_
