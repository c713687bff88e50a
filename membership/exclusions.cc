// The part of ManagerCore that removes nodes from the chain, mostly for
// operators.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "membership/manager_core.h"

namespace kamino::membership {
namespace {

bool OtherMembersRun(const View& view, const std::string& node_id,
                     const KnownNodes& states) {
  return std::all_of(view.members.begin(), view.members.end(),
                     [&](const Member& member) {
                       const auto found = states.find(member.node_id);
                       return member.node_id == node_id ||
                              (found != states.end() && found->second.alive);
                     });
}

}  // namespace

std::string ManagerCore::LastWithout(const std::string& node_id,
                                     const KnownNodes& states,
                                     const Exclusions& excluded) const {
  std::vector<std::string> left;
  for (const Member& member : view_.members) {
    const auto found = states.find(member.node_id);
    if (found == states.end() || !found->second.alive) continue;
    const auto out = excluded.find(member.node_id);
    const bool stays = out == excluded.end() || out->second;  // drained later
    if (member.node_id != node_id && stays) left.push_back(member.node_id);
  }
  return left.size() == 1 ? left[0] : "";
}

absl::Status ManagerCore::Exclude(const std::string& node_id, Removal how,
                                  absl::Time now) {
  const bool member =
      std::any_of(view_.members.begin(), view_.members.end(),
                  [&](const Member& each) { return each.node_id == node_id; });
  if (!member && nodes_.count(node_id) == 0) {
    return absl::NotFoundError(
        absl::StrCat("no node ", node_id, " is known to the manager"));
  }
  if (!view_.formed()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "there is no chain yet, and what operators want is stored with its "
        "view; stop ",
        node_id, " to keep it out of the first one"));
  }
  if (excluded_.size() >= options_.max_nodes && excluded_.count(node_id) == 0) {
    return absl::ResourceExhaustedError(absl::StrCat(
        excluded_.size(), " nodes are removed already; add some again"));
  }
  if (!ahead_.empty()) return absl::FailedPreconditionError(WhyBehind());
  Exclusions wanted = excluded_;
  wanted[node_id] = how == Removal::kDrain && member;
  const KnownNodes states = States(now);
  if (member && !CanGoOn(view_, states, wanted)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the chain could not go on without ", node_id,
                     ": no other running member holds everything and was "
                     "never away; ",
                     OtherMembersRun(view_, node_id, states)
                         ? "wait until kamino admin status shows another "
                           "member as sound; if there is none, start a node"
                         : "start the members that do not run, on their data, "
                           "or with an empty data directory if it is lost"));
  }
  if (member && how == Removal::kNow) {
    const std::string last = LastWithout(node_id, states, wanted);
    if (!last.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "without ", node_id, " all data would be at ", last,
          " alone, and lost with it; drain it once another node has caught up, "
          "or force it: kamino admin remove --force ",
          node_id));
    }
  }
  if (member && how == Removal::kDrain) {
    size_t others = 0;
    std::string removed;
    for (const auto& [id, node] : states) {
      if (!node.alive || id == node_id) continue;
      others += wanted.count(id) == 0;
      if (wanted.count(id) > 0) removed = id;
    }
    if (others < options_.chain_length) {
      return absl::FailedPreconditionError(absl::StrCat(
          node_id, " would stay until another node has taken its place, and ",
          "none stands by that could: without it a chain of ",
          options_.chain_length, " (--chain_length) lacks ",
          options_.chain_length - others,
          removed.empty()
              ? "; start another node first"
              : absl::StrCat("; take ", removed,
                             " back first, which was removed and runs: kamino "
                             "admin add ",
                             removed),
          ", or take it out now, which leaves the chain shorter: kamino admin "
          "remove ",
          node_id));
    }
  }
  excluded_ = std::move(wanted);
  return absl::OkStatus();
}

bool ManagerCore::Leaves(const Node& node, absl::Time now) const {
  const Member& member = node.state.member;
  return ActsInView(member) &&
         (suspects_.Is(member.node_id) ||
          ShouldLeave(view_, States(now), options_.chain_length, excluded_,
                      member.node_id));
}

}  // namespace kamino::membership
