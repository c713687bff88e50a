#include "membership/manager/suspicion.h"

#include <algorithm>
#include <vector>

namespace kamino::membership {
namespace {

bool NeedsRepair(Condition condition) {
  return condition != Condition::kSound && condition != Condition::kBehind;
}

// The reports of all members, in order; nothing: one of them is away or in
// another view.
std::optional<std::vector<NodeReport>> Reports(const View& view,
                                               const KnownNodes& nodes) {
  std::vector<NodeReport> reports;
  for (const Member& member : view.members) {
    const auto found = nodes.find(member.node_id);
    if (found == nodes.end() || !found->second.alive ||
        found->second.member.incarnation != member.incarnation ||
        found->second.report.view_id != view.id) {
      return std::nullopt;
    }
    reports.push_back(found->second.report);
  }
  return reports;
}

std::optional<Suspicion> SuspicionOf(const View& view,
                                     const std::vector<NodeReport>& reports,
                                     absl::Duration patience) {
  const auto& members = view.members;
  const bool due = std::any_of(
      reports.begin(), reports.end() - 1,
      [&](const NodeReport& each) { return each.append_wait >= patience; });
  // Members that follow from the same failure began to wait a little later.
  const auto has_waited = [&](size_t i) {
    return due && reports[i].append_wait >= patience / 2;
  };
  for (size_t i = members.size() - 1; i-- > 0;) {
    if (!has_waited(i)) continue;
    const size_t by = i > 0 && has_waited(i - 1) ? i - 1 : i;
    return Suspicion{members[by + 1].node_id, members[by].node_id,
                     reports[by].append_wait};
  }
  const NodeReport& head = reports.front();
  if (head.completion_wait < patience ||
      reports.back().cursors.applied < head.cursors.applied) {
    return std::nullopt;
  }
  return Suspicion{view.tail().node_id, view.head().node_id,
                   head.completion_wait};
}

// A repair takes a few messages to a neighbour and back, and covers only
// entries that were in flight.
constexpr int kRepairing = 4;

// `reports` of the members, in their order.
bool AnyMemberDiverges(const View& view,
                       const std::vector<NodeReport>& reports) {
  for (size_t i = 0; i < reports.size(); ++i) {
    if (DivergesFromHead(view, view.members[i], reports[i])) return true;
  }
  return false;
}

// Per second: such a member holds up the chain. A lower share may come from the
// load.
constexpr absl::Duration kTooLate = absl::Milliseconds(800);
constexpr absl::Duration kAlsoLate = absl::Milliseconds(400);

std::optional<Suspicion> SlowestOf(const View& view,
                                   const std::vector<NodeReport>& reports,
                                   const std::vector<Suspicion>& lately) {
  std::optional<Suspicion> found;
  for (size_t i = 0; i < reports.size(); ++i) {
    if (reports[i].late < kAlsoLate) continue;
    if (found.has_value()) return std::nullopt;
    const std::string& id = view.members[i].node_id;
    found = {id, id, reports[i].late};
  }
  const bool another = !lately.empty() && found.has_value() &&
                       lately.back().suspect == lately.back().reporter &&
                       lately.back().suspect != found->suspect;
  if (!found.has_value() || found->waited < kTooLate || another) {
    return std::nullopt;
  }
  return found;
}

bool IsReportOf(const Suspicion& each, const std::string& reporter,
                const std::string& suspect) {
  return each.turned ? each.suspect == reporter && each.reporter == suspect
                     : each.reporter == reporter && each.suspect == suspect;
}

bool IsSuspectOfOthers(const std::string& id, const std::string& but,
                       const std::vector<Suspicion>& lately) {
  return std::any_of(lately.begin(), lately.end(), [&](const Suspicion& each) {
    return !each.turned && each.suspect == id && each.reporter != id &&
           each.reporter != but;
  });
}

// Whether the reporter's links are more likely to be bad.
bool IsTurned(const Suspicion& found, const std::vector<Suspicion>& lately) {
  if (found.reporter == found.suspect ||
      IsSuspectOfOthers(found.suspect, found.reporter, lately)) {
    return false;
  }
  return std::any_of(lately.begin(), lately.end(), [&](const Suspicion& each) {
    const std::string& other = each.turned ? each.reporter : each.suspect;
    return other != found.suspect && other != found.reporter &&
           IsReportOf(each, found.reporter, other) &&
           !IsSuspectOfOthers(other, found.reporter, lately);
  });
}

}  // namespace

std::optional<Suspicion> SuspectOf(const View& view, const KnownNodes& nodes,
                                   absl::Duration patience,
                                   const std::vector<Suspicion>& lately) {
  const auto reports = Reports(view, nodes);
  if (!reports.has_value() || AnyMemberDiverges(view, *reports)) {
    return std::nullopt;
  }
  const bool repairing = std::any_of(
      reports->begin(), reports->end(),
      [](const NodeReport& each) { return NeedsRepair(each.condition); });
  auto found =
      SuspicionOf(view, *reports, repairing ? patience * kRepairing : patience);
  if (!found.has_value() && !repairing) {
    found = SlowestOf(view, *reports, lately);
  }
  if (!found.has_value()) return std::nullopt;
  if (IsTurned(*found, lately)) {
    std::swap(found->reporter, found->suspect);
    found->turned = true;
  }
  const KnownNode& suspect = nodes.at(found->suspect);
  // A node that has just joined is not needed by members that were enough
  // before.
  const bool spared =
      view.members.size() > 2 || suspect.report.condition == Condition::kBehind;
  if (!spared || !CanContinue(view, nodes, {{found->suspect, false}})) {
    return std::nullopt;
  }
  return found;
}

bool DivergesFromHead(const View& view, const Member& member,
                      const NodeReport& report) {
  return report.disputed != 0 &&
         view.IndexOf(member.node_id, member.incarnation) > 0;
}

}  // namespace kamino::membership
