#include "node/node_web.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "node/node_metrics.h"
#include "rpc/call_metrics.h"

namespace kamino::node {
namespace {

constexpr char kPrometheusText[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kText[] = "text/plain; charset=utf-8";

web::Answer No(absl::string_view why) {
  return {503, kText, absl::StrCat(why, "\n")};
}

}  // namespace

NodeWeb::NodeWeb() {
  page_.Add(metrics::DescribeProcess);
  page_.Add(DescribeBuild);
  page_.Add(rpc::DescribeCalls);
  page_.Add(rpc::DescribeLog);
  page_.Add([this](metrics::Families* families) { Describe(families); });
}

std::vector<web::Route> NodeWeb::Routes() {
  return {{"/metrics",
           [this] {
             return web::Answer{200, kPrometheusText, Metrics()};
           }},
          {"/livez", [this] { return Live(MonotonicNow()); },
           /*for_everybody=*/true},
          {"/readyz", [this] { return Ready(); }, /*for_everybody=*/true}};
}

void NodeWeb::Attach(Node* node, const membership::MembershipAgent* agent) {
  absl::MutexLock lock(&mutex_);
  node_ = node;
  agent_ = agent;
}

void NodeWeb::Detach() { Attach(nullptr, nullptr); }

web::Answer NodeWeb::Live(absl::Time now) {
  absl::ReaderMutexLock lock(&mutex_);
  // It starts, or ends; these have time limits of their own.
  if (node_ == nullptr) return {200, kText, "there is no core thread\n"};
  absl::MutexLock probe(&probe_mutex_);
  const uint64_t step = node_->meters().activity.steps();
  if (node_->meters().activity.idle() || step != step_) {
    step_ = step;
    step_since_ = now;
  }
  if (now - step_since_ < kStuck) return {200, kText, "ok\n"};
  return No(absl::StrCat(
      "the core thread has been busy for ",
      absl::FormatDuration(absl::Trunc(now - step_since_, absl::Seconds(1))),
      " with ", node_->meters().activity.ToString()));
}

web::Answer NodeWeb::Ready() {
  absl::ReaderMutexLock lock(&mutex_);
  if (node_ == nullptr) return No("the node is starting or stopping");
  const NodeStanding standing = node_->standing();
  if (standing.ready) return {200, kText, "ok\n"};
  if (standing.role == membership::Role::kOutside) {
    return No(
        absl::StrCat("it is not in the chain; the condition of its heap is ",
                     membership::ConditionName(standing.condition)));
  }
  if (!standing.lease) return No("it holds no lease of the manager");
  if (standing.unlinked) {
    return No(
        "its links to the neighbours in its view have never come up; kamino "
        "status shows which");
  }
  return No(absl::StrCat(
      "it is ", membership::RoleName(standing.role),
      ", but the condition of its heap is ",
      membership::ConditionName(standing.condition),
      ", or the members differ and it is undecided which node is wrong"));
}

void NodeWeb::AskCore() {
  if (asked_ == nullptr) {
    asked_ = std::make_shared<Asked>();
    const bool runs =
        node_->Run([asked = asked_, node = node_](ChainNode& chain_node) {
          NodeSample sample;
          node->Sample(chain_node, &sample);
          absl::MutexLock lock(&asked->mutex);
          asked->sample = std::move(sample);
          asked->answered = true;
        });
    if (!runs) return asked_.reset();
  }
  const std::shared_ptr<Asked> asked = asked_;
  absl::MutexLock lock(&asked->mutex);
  asked->mutex.AwaitWithTimeout(absl::Condition(&asked->answered), kPatience);
  if (!asked->answered) return;
  sample_ = std::make_shared<NodeSample>(std::move(asked->sample));
  sampled_at_ = MonotonicNow();
  asked_.reset();
}

void NodeWeb::Describe(metrics::Families* families) {
  absl::ReaderMutexLock lock(&mutex_);
  if (node_ == nullptr) return;
  const absl::Time asked_at = MonotonicNow();
  std::shared_ptr<const NodeSample> sample;
  absl::Time sampled_at;
  {
    absl::MutexLock ask(&ask_mutex_);
    AskCore();
    sample = sample_;
    sampled_at = sampled_at_;
  }
  if (sample != nullptr) {
    DescribeNode(*sample, node_->chain_id(),
                 std::max(absl::ZeroDuration(), asked_at - sampled_at),
                 families);
  }
  DescribeStages(node_->meters().stages, node_->chain_id(), families);
  const absl::Duration lease_age = agent_->LeaseAge();
  if (lease_age != absl::InfiniteDuration()) {
    families->Gauge("kamino_lease_age_seconds",
                    "Time since the node requested its present lease from the "
                    "manager; absent without a lease.",
                    absl::ToDoubleSeconds(lease_age),
                    {{"chain", absl::StrCat(node_->chain_id())}});
  }
}

}  // namespace kamino::node
