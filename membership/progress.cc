#include "membership/progress.h"

#include <algorithm>

namespace kamino::membership {

Progress ProgressIn(const View& view, const Progress& before) {
  if (before.cluster_uuid == view.cluster_uuid && before.epoch >= view.epoch) {
    return before;
  }
  Progress progress{view.cluster_uuid, view.epoch, view.id, 0};
  // After a forced recovery: what all its members hold.
  bool first = true;
  for (const auto& [id, applied] : view.recovered_at) {
    progress.acknowledged =
        first ? applied : std::min(progress.acknowledged, applied);
    first = false;
  }
  return progress;
}

Progress Later(const Progress& one, const Progress& other) {
  if (one.cluster_uuid != other.cluster_uuid || one.epoch != other.epoch) {
    return one;
  }
  Progress later = one;
  later.view_id = std::max(one.view_id, other.view_id);
  later.acknowledged = std::max(one.acknowledged, other.acknowledged);
  return later;
}

uint64_t AcknowledgedBy(const View& view, const Member& member,
                        const NodeReport& report) {
  const int index = view.IndexOf(member.node_id, member.incarnation);
  if (index < 0 || view.members[index].heap_id != member.heap_id ||
      report.epoch != view.epoch) {
    return 0;
  }
  // The tail answers reads without confirmation by others.
  const bool as_tail = index + 1 == static_cast<int>(view.members.size()) &&
                       report.view_id == view.id &&
                       report.condition == Condition::kSound;
  return as_tail ? report.cursors.applied : report.cursors.cleaned;
}

StateRank RankOf(const NodeReport& report) {
  return {report.epoch, report.member_view, report.cursors.applied};
}

}  // namespace kamino::membership
