// SimNode's planned stop, as node/kamino_node.cc does it.
#include <functional>
#include <utility>

#include "tests/simulation/sim_node.h"

namespace kamino::simulation {

void SimNode::StopInOrder(std::function<void()> ended) {
  if (!up() || node_ == nullptr) return;
  on_ended_ = std::move(ended);
  if (std::exchange(stopping_, true)) {
    Trace("is told once more to end");
    return After(absl::ZeroDuration(), [this] { EndInOrder(); });
  }
  Trace("is told to end");
  node_->planned_stop().HandOver([this](bool has_left) {
    if (!up()) return;
    Trace(has_left ? "has left" : "keeps its place");
    // Requests that arrive meanwhile are answered, as long as the node serves.
    const absl::Duration serves =
        has_left
            ? random_.Between(absl::ZeroDuration(), absl::Milliseconds(200))
            : absl::ZeroDuration();
    After(serves, [this] {
      node_->planned_stop().Retire(
          [this] { After(absl::ZeroDuration(), [this] { EndInOrder(); }); });
      After(node::PlannedStop::kRetireTime, [this] { EndInOrder(); });
    });
  });
}

void SimNode::EndInOrder() {
  if (!up() || node_ == nullptr || !stopping_) return;
  Trace("ends");
  node_->Stop();
  ended_ = true;
  if (!up()) return;  // of what that has made durable
  node_->restarts()->OnEndInOrder();
  if (!up()) return;
  --deaths_;  // it is none
  const auto ended = std::exchange(on_ended_, nullptr);
  GoDown(Crash::kProcess);
  if (ended != nullptr) ended();
}

void SimNode::StartOnceEnded() {
  if (!stopping()) return;
  on_ended_ = [this] {
    world()->After(absl::Milliseconds(50), [this] {
      if (!up()) Start();
    });
  };
}

}  // namespace kamino::simulation
