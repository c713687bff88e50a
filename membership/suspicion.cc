#include "membership/suspicion.h"

#include <algorithm>
#include <vector>

namespace kamino::membership {
namespace {

bool HasToMend(Condition condition) {
  return condition != Condition::kSound && condition != Condition::kBehind;
}

// The reports of all members, in their order; nothing when one of them is
// away, in another view, or has something to mend.
std::optional<std::vector<NodeReport>> Reports(const View& view,
                                               const KnownNodes& nodes) {
  std::vector<NodeReport> reports;
  for (const Member& member : view.members) {
    const auto found = nodes.find(member.node_id);
    if (found == nodes.end() || !found->second.alive ||
        found->second.member.incarnation != member.incarnation ||
        found->second.report.view_id != view.id ||
        HasToMend(found->second.report.condition)) {
      return std::nullopt;
    }
    reports.push_back(found->second.report);
  }
  return reports;
}

std::optional<Suspicion> AccusationOf(const View& view,
                                      const std::vector<NodeReport>& reports,
                                      absl::Duration patience) {
  const auto& members = view.members;
  const bool due = std::any_of(
      reports.begin(), reports.end() - 1,
      [&](const NodeReport& each) { return each.append_debt >= patience; });
  // Those that follow from the same failure began to wait a little later.
  const auto accuses = [&](size_t i) {
    return due && reports[i].append_debt >= patience / 2;
  };
  for (size_t i = members.size() - 1; i-- > 0;) {
    if (!accuses(i)) continue;
    const size_t by = i > 0 && accuses(i - 1) ? i - 1 : i;
    return Suspicion{members[by + 1].node_id, members[by].node_id,
                     reports[by].append_debt};
  }
  const NodeReport& head = reports.front();
  if (head.completion_debt < patience ||
      reports.back().cursors.applied < head.cursors.applied) {
    return std::nullopt;
  }
  return Suspicion{view.tail().node_id, view.head().node_id,
                   head.completion_debt};
}

// Of the last second: who stands in the chain's way; whom one may be slowed
// down by what all are asked for.
constexpr absl::Duration kTooLate = absl::Milliseconds(800);
constexpr absl::Duration kAlsoLate = absl::Milliseconds(400);

std::optional<Suspicion> SlowestOf(const View& view,
                                   const std::vector<NodeReport>& reports,
                                   const std::optional<Suspicion>& last) {
  std::optional<Suspicion> found;
  for (size_t i = 0; i < reports.size(); ++i) {
    if (reports[i].late < kAlsoLate) continue;
    if (found.has_value()) return std::nullopt;
    const std::string& id = view.members[i].node_id;
    found = {id, id, reports[i].late};
  }
  const bool another = last.has_value() && found.has_value() &&
                       last->suspect == last->accuser &&
                       last->suspect != found->suspect;
  if (!found.has_value() || found->debt < kTooLate || another) {
    return std::nullopt;
  }
  return found;
}

}  // namespace

std::optional<Suspicion> SuspectOf(const View& view, const KnownNodes& nodes,
                                   absl::Duration patience,
                                   const std::optional<Suspicion>& last) {
  const auto reports = Reports(view, nodes);
  if (!reports.has_value()) return std::nullopt;
  auto found = AccusationOf(view, *reports, patience);
  if (!found.has_value()) found = SlowestOf(view, *reports, last);
  if (!found.has_value()) return std::nullopt;
  if (last.has_value() && found->accuser == last->accuser &&
      found->suspect != last->suspect) {
    std::swap(found->accuser, found->suspect);
  }
  const KnownNode& suspect = nodes.at(found->suspect);
  // One that has just joined is no loss to those who were enough before.
  const bool spared =
      view.members.size() > 2 || suspect.report.condition == Condition::kBehind;
  if (!spared || !CanGoOn(view, nodes, {{found->suspect, false}})) {
    return std::nullopt;
  }
  return found;
}

}  // namespace kamino::membership
