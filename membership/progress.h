// The chain's known progress. Only a member on a stale copy of its data can be
// below it. The managers' store keeps it beside the leader's renewals, and it
// never decreases.
//
// States of the chain are ordered by recovery epoch, then by the last view in
// which their holder was a member, then by its applied position, because
// sequence numbers compare only within one view. The unsent mutations of a
// dropped head, whose numbers the chain has reused, thus do not rank above the
// chain's state.
#ifndef KAMINO_MEMBERSHIP_PROGRESS_H_
#define KAMINO_MEMBERSHIP_PROGRESS_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "membership/node_report.h"
#include "membership/view.h"

namespace kamino::membership {

struct Progress {
  std::string cluster_uuid;  // as in View
  uint64_t epoch = 0;        // likewise
  uint64_t view_id = 0;      // the view of that progress
  // All members, except one that has just joined, have applied mutations up to
  // this durably. Clients may have been told so.
  uint64_t acknowledged = 0;

  friend bool operator==(const Progress&, const Progress&) = default;
};

// The progress to store once there is `view`: `before`, unless that is of
// another cluster or of a lower epoch.
Progress ProgressIn(const View& view, const Progress& before);

// The maximum of both, if they are of one cluster and epoch; otherwise `one`.
Progress Later(const Progress& one, const Progress& other);

// The mutation up to which the report of `member`, one of `view`, proves
// acknowledgement; 0: none.
uint64_t AcknowledgedBy(const View& view, const Member& member,
                        const NodeReport& report);

// The rank of a node's state.
struct StateRank {
  uint64_t epoch = 0;
  uint64_t member_view = 0;
  uint64_t applied = 0;

  friend auto operator<=>(const StateRank&, const StateRank&) = default;
};
StateRank RankOf(const NodeReport& report);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_PROGRESS_H_
