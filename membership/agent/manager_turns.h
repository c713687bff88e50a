// The order in which a node calls its managers.
#ifndef KAMINO_MEMBERSHIP_AGENT_MANAGER_TURNS_H_
#define KAMINO_MEMBERSHIP_AGENT_MANAGER_TURNS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kamino::membership {

// The given managers take turns, and so does the last leader that a manager
// named and that is not among them. A manager that does not lead names the
// leader that it knows, so a turn may follow a redirect. A redirect does not
// move the turns: the named leader may be dead, or belong to another cluster,
// and then the next manager in the list may lead. Not thread-safe.
class ManagerTurns {
 public:
  // At least one address.
  explicit ManagerTurns(std::vector<std::string> given);

  // The manager to ask.
  const std::string& current() const { return managers_[current_]; }

  // The manager has answered as the leader: the node stays with it.
  void OnSuccess() { redirects_ = 0; }
  // The call has failed. `leader`: the address that the answer names as the
  // leader, or "".
  void OnFailure(absl::string_view leader);

 private:
  void Redirect(const std::string& leader);

  const size_t given_;
  std::vector<std::string> managers_;  // those given, and a leader named
  size_t turn_ = 0;
  size_t current_ = 0;  // turn_, or the leader of a redirect
  int redirects_ = 0;   // followed in this turn
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGENT_MANAGER_TURNS_H_
