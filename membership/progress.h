// How far the chain is known to have come: what no member may be below, unless
// it is on an old copy of its data. The managers' store keeps it, beside the
// leader's renewals, and it never goes back.
//
// States of the chain are ordered by recovery epoch, then by the last view in
// which whoever holds one was a member, then by how far it has applied:
// sequences compare only within one view. What a head had not sent when it was
// dropped, under numbers that the chain has given to others since, is so no
// more than what the chain has.
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
  uint64_t view_id = 0;      // in which that was
  // Mutations up to this are applied, durably, by all members, but for one that
  // has just joined. Clients may have been told so.
  uint64_t acknowledged = 0;

  friend bool operator==(const Progress&, const Progress&) = default;
};

// What the store is to say once there is `view`: `before`, unless that is of
// another cluster or of a lower epoch.
Progress ProgressIn(const View& view, const Progress& before);

// As far as either says, where both are of one cluster and epoch; else `one`.
Progress Later(const Progress& one, const Progress& other);

// What is acknowledged for certain by what `member`, one of `view`, says; 0: it
// tells nothing.
uint64_t AcknowledgedBy(const View& view, const Member& member,
                        const NodeReport& report);

// What a node holds.
struct StateRank {
  uint64_t epoch = 0;
  uint64_t member_view = 0;
  uint64_t applied = 0;

  friend auto operator<=>(const StateRank&, const StateRank&) = default;
};
StateRank RankOf(const NodeReport& report);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_PROGRESS_H_
