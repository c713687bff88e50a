#include "membership/manager/removals.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace kamino::membership {
namespace {

// The operator's step that lets the chain continue without `node_id`, which it
// cannot do now.
std::string RemedyFor(const View& view, const std::string& node_id,
                      const KnownNodes& states, const Exclusions& excluded) {
  std::vector<std::string> down;
  bool any_has_all = false;
  for (const Member& member : view.members) {
    const auto found = states.find(member.node_id);
    if (found == states.end() || !found->second.alive) {
      down.push_back(member.node_id);
    }
    any_has_all = any_has_all || RunsWithAll(member, states);
  }
  if (!down.empty()) {
    // All are silent to a manager that was paused.
    return absl::StrCat(
        down.size() == view.members.size()
            ? "the manager hears no member at present: try again in a moment; "
              "if it still hears none, "
            : "",
        "start ", absl::StrJoin(down, " and "), " on ",
        down.size() == 1 ? "its" : "their", " data",
        any_has_all ? ", or with an empty data directory if that is lost" : "");
  }
  for (const auto& [id, node] : states) {
    const auto out = excluded.find(id);
    if (node.alive && id != node_id && out != excluded.end() && !out->second) {
      return absl::StrCat("add ", id,
                          " first, which was removed and "
                          "runs: kamino admin add ",
                          id);
    }
  }
  return absl::StrCat("start another node, if there is no spare, then drain ",
                      node_id,
                      ", which stays until that one has its data: "
                      "kamino admin drain ",
                      node_id);
}

}  // namespace

std::string Removals::LastWithout(const std::string& node_id,
                                  const KnownNodes& states,
                                  const Exclusions& excluded) const {
  std::vector<std::string> left;
  for (const Member& member : context_->view.members) {
    const auto found = states.find(member.node_id);
    if (found == states.end() || !found->second.alive) continue;
    const auto out = excluded.find(member.node_id);
    const bool stays = out == excluded.end() || out->second;  // drained later
    if (member.node_id != node_id && stays) left.push_back(member.node_id);
  }
  return left.size() == 1 ? left[0] : "";
}

bool Removals::MayRemove(const std::string& node_id,
                         const KnownNodes& states) const {
  Exclusions wanted = context_->excluded;
  wanted[node_id] = false;
  return CanContinue(context_->view, states, wanted) &&
         LastWithout(node_id, states, wanted).empty();
}

absl::Status Removals::CheckDrain(const std::string& node_id,
                                  const KnownNodes& states,
                                  const Exclusions& wanted) const {
  size_t others = 0;
  std::string removed;
  for (const auto& [id, node] : states) {
    if (!node.alive || id == node_id) continue;
    others += wanted.count(id) == 0;
    if (wanted.count(id) > 0) removed = id;
  }
  if (others < context_->options.chain_length) {
    return absl::FailedPreconditionError(absl::StrCat(
        node_id, " cannot leave yet: there is no spare to take its place, and ",
        "without ", node_id, " a chain of ", context_->options.chain_length,
        " (--chain_length) lacks ", context_->options.chain_length - others,
        removed.empty()
            ? "; start another node first"
            : absl::StrCat("; add ", removed,
                           " first, which was removed and runs: kamino "
                           "admin add ",
                           removed),
        MayRemove(node_id, states)
            ? absl::StrCat(", or remove ", node_id,
                           " now, which leaves the chain shorter: kamino "
                           "admin remove ",
                           node_id)
            : ""));
  }
  return absl::OkStatus();
}

absl::Status Removals::Exclude(const std::string& node_id, Removal how,
                               absl::Time now) {
  const bool member =
      std::any_of(context_->view.members.begin(), context_->view.members.end(),
                  [&](const Member& each) { return each.node_id == node_id; });
  if (!member && registry_->Find(node_id) == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("no node ", node_id,
                     " is known to the manager; kamino admin status lists the "
                     "nodes"));
  }
  if (!context_->view.formed()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "there is no chain yet, and removals are stored with its view; stop ",
        node_id, " to keep it out of the first view"));
  }
  if (context_->excluded.size() >= context_->options.max_nodes &&
      context_->excluded.count(node_id) == 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat(context_->excluded.size(),
                     " nodes are removed already; add some again"));
  }
  if (watch_->behind()) {
    return absl::FailedPreconditionError(watch_->WhyBehind());
  }
  Exclusions wanted = context_->excluded;
  wanted[node_id] = how == Removal::kDrain && member;
  const KnownNodes states = registry_->States(now);
  if (member && !CanContinue(context_->view, states, wanted)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the chain could not go on without ", node_id,
        ": no other running member holds everything and was never away; ",
        RemedyFor(context_->view, node_id, states, context_->excluded)));
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
    RETURN_IF_ERROR(CheckDrain(node_id, states, wanted));
  }
  context_->excluded = std::move(wanted);
  return absl::OkStatus();
}

void Removals::Include(const std::string& node_id) {
  context_->excluded.erase(node_id);
}

void Removals::ForgetSuspects() {
  suspects_ = Suspects(context_->options.failure_timeout);
}

void Removals::HeedDivergence(const Member& member, const NodeReport& report) {
  if (!context_->proposed.has_value()) {
    suspects_.Heed(context_->view, member, report);
  }
}

bool Removals::Leaves(const Member& member, absl::Time now) const {
  return context_->ActsInView(member) &&
         (suspects_.Is(member.node_id) ||
          ShouldLeave(context_->view, registry_->States(now),
                      context_->options.chain_length, context_->excluded,
                      member.node_id));
}

Exclusions Removals::KeptOut(absl::Time now) const {
  Exclusions excluded = context_->excluded;
  suspects_.AddKeptOut(now, &excluded);
  return excluded;
}

}  // namespace kamino::membership
