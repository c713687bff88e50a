#include "tests/simulation/operator.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace kamino::simulation {

using membership::ManagerCore;
using membership::View;

namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(50);
// A waiting operator asks again after this time.
constexpr absl::Duration kTimeout = absl::Seconds(1);
constexpr absl::Duration kSettled = absl::Milliseconds(200);
// How long a command may take when no more faults strike.
constexpr absl::Duration kPatience = absl::Seconds(25);

bool IsMember(const View& view, const std::string& node) {
  return std::any_of(
      view.members.begin(), view.members.end(),
      [&](const membership::Member& each) { return each.node_id == node; });
}

}  // namespace

Operator::Operator(Cluster* cluster)
    : cluster_(cluster), world_(cluster->world()) {}

void Operator::TakeOut(const std::string& node, Removal how,
                       std::function<void()> out, bool insists) {
  Task task;
  task.how = how;
  task.out = std::move(out);
  task.insists = insists;
  task.since = world_->now();
  tasks_[node] = std::move(task);
  if (!std::exchange(polls_, true)) Poll();
}

void Operator::Add(const std::string& node) {
  Task task;
  task.adds = true;
  task.since = world_->now();
  tasks_[node] = std::move(task);
}

void Operator::Finish() {
  finishes_ = true;
  for (auto& [node, task] : tasks_) {
    task.since = world_->now();
    if (task.is_out) task.adds = true;
  }
  if (!std::exchange(polls_, true)) Poll();
}

void Operator::Poll() {
  SimManager* leader = nullptr;
  for (const auto& manager : cluster_->managers()) {
    if (manager->leads() && !manager->paused()) leader = manager.get();
  }
  if (leader != nullptr) {
    std::vector<std::string> nodes;
    for (const auto& [node, task] : tasks_) nodes.push_back(node);
    for (const std::string& node : nodes) See(leader, node, &tasks_[node]);
    if (finishes_) AddAll(leader);
  }
  world_->After(kPoll, [this] { Poll(); });
}

// The node's state as the leader shows it to an operator.
void Operator::See(SimManager* leader, const std::string& node, Task* task) {
  const View view = leader->view();
  const bool kept_out = view.excluded.count(node) > 0;
  const bool in = IsMember(view, node);
  const bool asked = task->asked_of == leader->name();
  if (task->adds) {
    // etcd has stored all writes in flight by then.
    if (asked && !kept_out && world_->now() - task->asked > kSettled) {
      tasks_.erase(node);
      return;
    }
  } else if (task->is_out) {
    return;
  } else if (kept_out && !in) {
    task->is_out = true;
    leader->Trace("tells an operator that ", node, " is out");
    const std::function<void()> out = task->out;  // it may add the node
    if (out != nullptr) out();
    if (finishes_) Add(node);
    return;
  }
  if (asked && world_->now() - task->asked < kTimeout) return;
  if (finishes_ && world_->now() - task->since > kPatience) {
    return world_->Fail(absl::DeadlineExceededError(absl::StrCat(
        "an operator asked for ", node, task->adds ? " to be in" : " to be out",
        ", and in ", absl::FormatDuration(kPatience),
        " without faults neither is it so nor is it said why not; ",
        view.ToString())));
  }
  Ask(leader, node, task);
}

void Operator::Ask(SimManager* leader, const std::string& node, Task* task) {
  task->asked_of = leader->name();
  task->asked = world_->now();
  const absl::Status status =
      leader->Administer([&](ManagerCore* core, absl::Time now) {
        if (!task->adds) return core->removals().Exclude(node, task->how, now);
        core->removals().Include(node);
        return absl::OkStatus();
      });
  const char* const what = task->adds                      ? "add "
                           : task->how == Removal::kDrain  ? "drain "
                           : task->how == Removal::kForced ? "remove by force "
                                                           : "remove ";
  if (!status.ok()) world_->tally().Count(Kind::kRefused);
  leader->Trace("is asked to ", what, node, ": ",
                status.ok() ? "ok" : status.message());
  if (status.ok() || absl::IsUnavailable(status)) return;
  if (status.message().empty()) {
    return world_->Fail(absl::InternalError(
        absl::StrCat("no reason is given for not taking ", node, " out")));
  }
  if (!task->insists) return Add(node);
  task->since = world_->now();
}

void Operator::AddAll(SimManager* leader) {
  for (const auto& [node, drains] : leader->view().excluded) {
    if (tasks_.count(node) == 0) Add(node);
  }
}

}  // namespace kamino::simulation
