#include "membership/manager/node_registry.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kamino::membership {
namespace {

const NodeRegistry::Node* FindIn(const NodeRegistry::Nodes& nodes,
                                 const std::string& node_id) {
  const auto found = nodes.find(node_id);
  return found == nodes.end() ? nullptr : &found->second;
}

}  // namespace

void NodeRegistry::Begin(absl::Duration former_leases, uint64_t lease_term,
                         absl::Time now) {
  leases_.Begin(former_leases, context_->options.lease(), lease_term, now);
  KnowMembersOf(context_->view, leases_.end());
}

void NodeRegistry::KnowMembersOf(const View& view, absl::Time last_heard) {
  nodes_.clear();
  waiting_.clear();
  for (const Member& member : view.members) {
    Node& node = nodes_[member.node_id];
    node.state.member = member;
    node.last_heard = last_heard;
  }
}

void NodeRegistry::Clear() {
  nodes_.clear();
  waiting_.clear();
}

void NodeRegistry::OnView(const View& next) {
  for (const Member& member : next.members) {
    Node* const found = FindMutable(member.node_id);
    if (found == nullptr || context_->HasPlace(member)) continue;
    found->last_heard =
        leases_.HeardAsMember(found->state.report, found->last_heard);
  }
}

const NodeRegistry::Node* NodeRegistry::Find(const std::string& node_id) const {
  return FindIn(nodes_, node_id);
}

NodeRegistry::Node* NodeRegistry::FindMutable(const std::string& node_id) {
  const auto found = nodes_.find(node_id);
  return found == nodes_.end() ? nullptr : &found->second;
}

void NodeRegistry::Put(Node node) {
  std::string node_id = node.state.member.node_id;
  nodes_[std::move(node_id)] = std::move(node);
}

void NodeRegistry::EraseIf(absl::FunctionRef<bool(Node*)> erases) {
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    it = erases(&it->second) ? nodes_.erase(it) : std::next(it);
  }
}

absl::Status NodeRegistry::MakeRoom(absl::Time now) {
  if (nodes_.size() < context_->options.max_nodes) return absl::OkStatus();
  for (auto it = nodes_.begin(); it != nodes_.end(); ++it) {
    const Member& member = it->second.state.member;
    if (Alive(it->second, now) || context_->HasPlace(member)) continue;
    nodes_.erase(it);
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      context_->options.max_nodes,
      " nodes are registered, which is the limit; stop a spare first"));
}

const NodeRegistry::Node* NodeRegistry::FindWaiting(
    const std::string& node_id) const {
  return FindIn(waiting_, node_id);
}

void NodeRegistry::KeepWaiting(Node node) {
  std::string node_id = node.state.member.node_id;
  waiting_[std::move(node_id)] = std::move(node);
}

KnownNode NodeRegistry::StateOf(const Node& node, absl::Time now) const {
  KnownNode state = node.state;
  state.alive = Alive(node, now) && !state.surrendered();
  // Its place is no longer kept: the manager treats it as any silent node.
  if (places_->IsGone(state.member.node_id, now)) {
    state.report.stopping = Stopping::kNo;
  }
  state.must_hold = context_->progress.acknowledged;
  return state;
}

KnownNodes NodeRegistry::States(absl::Time now) const {
  KnownNodes states;
  for (const auto& [id, node] : nodes_) states[id] = StateOf(node, now);
  return states;
}

absl::Status NodeRegistry::CheckTakeover(const Node& known,
                                         const Member& member,
                                         absl::Time now) const {
  const Member& there = known.state.member;
  if (there.incarnation == member.incarnation) {
    if (there.service_address == member.service_address) {
      return absl::OkStatus();
    }
    // A process has one address: these are two processes on copies of one
    // folder.
    return absl::AlreadyExistsError(absl::StrCat(
        "node ", member.node_id, " runs at ", there.service_address,
        " with the same incarnation: the files here are a copy of its files; "
        "move them away, and give the node another id"));
  }
  // Outside the chain no lease counts.
  if (!context_->HasPlace(there) && there.incarnation < member.incarnation &&
      there.service_address == member.service_address) {
    return absl::OkStatus();
  }
  if (there.IsRestartedAs(member)) {
    if (there.service_address == member.service_address ||
        now - known.last_heard >= context_->options.lease()) {
      return absl::OkStatus();
    }
    return absl::AlreadyExistsError(absl::StrCat(
        "node ", member.node_id, " was alive at ", there.service_address,
        " a moment ago; if it still is, the files here are a copy of its "
        "files: move them away, and give the node another id"));
  }
  if (member.IsRestartedAs(there)) {
    return absl::AlreadyExistsError(
        absl::StrCat("node ", member.node_id, " was started again since, at ",
                     there.service_address,
                     "; if no other process of it runs, its files are a stale "
                     "copy: move them away, and it joins as a new node"));
  }
  if (!Alive(known, now)) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(
      "a node ", member.node_id, " is alive at ", there.service_address,
      "; stop that process, or give this one another --node_id"));
}

// Heartbeats come at different moments: if all members stop together, one
// exceeds its time before the others do. A live member, however, is never
// silent for half of that time.
bool NodeRegistry::HearsAMember(absl::Time now) const {
  for (const Member& member : context_->view.members) {
    const Node* const found = Find(member.node_id);
    if (found != nullptr &&
        now - found->last_heard < context_->options.failure_timeout / 2) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> NodeRegistry::WaitingFor(absl::Time now) const {
  std::vector<std::string> missing;
  std::vector<std::string> lost;
  const KnownNodes states = States(now);
  if (!context_->view.formed()) return missing;
  if (CanContinue(context_->view, states)) {
    for (const Member& member : context_->view.members) {
      if (places_->Keeps(member, now)) missing.push_back(member.node_id);
    }
    return missing;
  }
  for (const Member& member : context_->view.members) {
    const auto found = states.find(member.node_id);
    if (found == states.end()) {
      missing.push_back(member.node_id);
    } else if (found->second.turned_away ||
               (found->second.alive &&
                found->second.member.heap_id != member.heap_id)) {
      lost.push_back(member.node_id);
    } else if (!found->second.alive) {
      missing.push_back(member.node_id);
    }
  }
  return missing.empty() ? lost : missing;
}

size_t NodeRegistry::NodesMissing(absl::Time now) const {
  return membership::NodesMissing(context_->view, States(now),
                                  context_->options.chain_length,
                                  context_->excluded);
}

}  // namespace kamino::membership
