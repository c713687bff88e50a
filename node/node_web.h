// A node's HTTP pages: its metrics, and probes.
#ifndef KAMINO_NODE_NODE_WEB_H_
#define KAMINO_NODE_NODE_WEB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "membership/agent/membership_agent.h"
#include "metrics/page.h"
#include "node/driver/node.h"
#include "web/server.h"

namespace kamino::node {

// Thread-safe. Pages exist before and after the node.
class NodeWeb {
 public:
  // A core thread that is in one step for so long is dead.
  static constexpr absl::Duration kStuck = absl::Seconds(30);
  // A page waits so long for the core thread, then shows the previous values.
  static constexpr absl::Duration kPatience = absl::Milliseconds(500);

  NodeWeb();

  // /metrics, /livez and /readyz; this outlives the callers.
  std::vector<web::Route> Routes();
  // Also on /metrics from now on.
  void Add(metrics::Page::Source source) { page_.Add(std::move(source)); }

  // Pages show these from now on, until Detach has returned.
  void Attach(Node* node, const membership::MembershipAgent* agent);
  void Detach();

  // As /metrics has them.
  std::string Metrics() const { return page_.Text(); }
  // The routes' answers, at `now` of MonotonicNow.
  web::Answer Live(absl::Time now);
  web::Answer Ready();

 private:
  // A request to the core thread.
  struct Asked {
    absl::Mutex mutex;
    bool answered ABSL_GUARDED_BY(mutex) = false;
    NodeSample sample ABSL_GUARDED_BY(mutex);
  };

  void Describe(metrics::Families* families);
  void AskCore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(ask_mutex_)
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  metrics::Page page_;

  // Callers of the node hold it shared.
  absl::Mutex mutex_;
  Node* node_ ABSL_GUARDED_BY(mutex_) = nullptr;
  const membership::MembershipAgent* agent_ ABSL_GUARDED_BY(mutex_) = nullptr;

  // One request to the core thread at a time. After mutex_.
  absl::Mutex ask_mutex_;
  std::shared_ptr<Asked> asked_
      ABSL_GUARDED_BY(ask_mutex_);  // not answered yet
  std::shared_ptr<const NodeSample> sample_ ABSL_GUARDED_BY(ask_mutex_);
  absl::Time sampled_at_ ABSL_GUARDED_BY(ask_mutex_);

  // The core thread as seen by probes.
  absl::Mutex probe_mutex_;
  uint64_t step_ ABSL_GUARDED_BY(probe_mutex_) = 0;
  absl::Time step_since_ ABSL_GUARDED_BY(probe_mutex_) = absl::InfiniteFuture();
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_NODE_WEB_H_
