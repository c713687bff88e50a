// The nodes that a call's attempts go to. A read that any replica may answer
// goes to a replica once, which ReadSpread chooses, and then to the tail,
// whatever the replica has answered. Private to the library.
#ifndef KAMINO_CLIENT_CALL_ROUTE_H_
#define KAMINO_CLIENT_CALL_ROUTE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/directory.h"
#include "client/read_spread.h"

namespace kamino::client {

// A longer attempt is abandoned and retried: the node may hang.
inline constexpr absl::Duration kAttemptTimeout = absl::Seconds(2);
// The same at a replica, but shorter: the tail may be well.
inline constexpr absl::Duration kReplicaTimeout = absl::Seconds(1);

// Not thread-safe. The directory and the spread must outlive it.
class CallRoute {
 public:
  CallRoute(Target target, Directory* directory, ReadSpread* reads)
      : target_(target), directory_(directory), reads_(reads) {}

  // Chooses the node of the next attempt. False: no address is known.
  bool Choose();
  // host:port of the node of the last attempt.
  const std::string& address() const { return address_; }
  // The longest attempt at that node for a call that has `left`. Leaves the
  // tail time to answer if the replica does not.
  absl::Duration AttemptTimeout(absl::Duration left) const;

  // The node has answered, or the attempt has failed. True: it was a replica
  // without an answer to the call, and the next attempt goes to the tail.
  bool TurnsToTail(const absl::Status& status);
  // Whether a newer view is known than at the last attempt.
  bool HasNewerView() const { return directory_->view_id() > view_id_; }

 private:
  Target target_;
  Directory* const directory_;
  ReadSpread* const reads_;
  std::string address_;
  bool at_replica_ = false;  // otherwise at the tail or the head
  uint64_t view_id_ = 0;     // known at the last attempt
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CALL_ROUTE_H_
