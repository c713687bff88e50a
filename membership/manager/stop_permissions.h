// Planned stops: the answers to members that ask to leave, and the request to
// the other members to look for the next view more often meanwhile, so that
// they learn it as soon as it is stored.
#ifndef KAMINO_MEMBERSHIP_MANAGER_STOP_PERMISSIONS_H_
#define KAMINO_MEMBERSHIP_MANAGER_STOP_PERMISSIONS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "membership/manager/next_view.h"
#include "membership/view.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class StopPermissions {
 public:
  // Between two looks for the next view.
  static constexpr absl::Duration kLook = absl::Milliseconds(5);
  // Longer than any node asks; a node that asks longer no longer shortens the
  // intervals of others.
  static constexpr absl::Duration kLongest = absl::Seconds(10);

  // A member that has not called for `patience` may miss the request to look
  // often, as long as LeastMembers of those that stay have called.
  explicit StopPermissions(absl::Duration patience) : patience_(patience) {}

  // The answer to that member of `view`. A former answer holds: kGo
  // permanently, because the member may have surrendered its lease.
  StopPermission Answer(const View& view, const KnownNodes& nodes,
                        const Exclusions& excluded, const Member& member,
                        absl::Time now);
  // Whether `next` may follow `view`. If it leaves out a member that has
  // surrendered its lease, enough of the members that stay must have called
  // lately for the chain to go on: a node surrenders its lease after some time
  // even without permission.
  bool MayFollow(const View& view, const View& next, const KnownNodes& nodes,
                 const Exclusions& excluded, absl::Time now) const;
  // When the calling node must call again; zero: at the usual interval.
  absl::Duration CallAgainAfter(const View& view, const KnownNodes& nodes,
                                const std::string& node_id, absl::Time now);
  // Another view is in force.
  void OnView(const View& view);
  void Clear();

 private:
  struct Asked {
    uint64_t incarnation = 0;
    absl::Time since;
    bool goes = false;
  };

  // Whether enough of the members that stay have called lately. The view still
  // contains a member that has just died; its last report must not permit the
  // last holder of the data to leave.
  bool EnoughCalled(const View& view, const KnownNodes& nodes,
                    const Exclusions& excluded, absl::Time now) const;
  // Whether all members that stay have called since that member asked.
  bool AllCalled(const View& view, const KnownNodes& nodes,
                 const Exclusions& excluded, const Asked& asked) const;

  const absl::Duration patience_;
  std::map<std::string, Asked> asked_;      // by node id
  std::map<std::string, absl::Time> told_;  // last request to call again soon
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_STOP_PERMISSIONS_H_
