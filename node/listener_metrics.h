// Counts peers that connect to a node's link listeners;
// docs/operate/metrics.md.
#ifndef KAMINO_NODE_LISTENER_METRICS_H_
#define KAMINO_NODE_LISTENER_METRICS_H_

#include <array>
#include <atomic>
#include <string>

#include "metrics/counters.h"
#include "metrics/page.h"
#include "transport/link.h"

namespace kamino::node {

// For one kind of listeners. Thread-safe.
class ListenerMetrics final : public transport::ListenerEvents {
 public:
  // `of`: the label "listener": "links", "sessions".
  explicit ListenerMetrics(std::string of);

  void OnHalfOpen(int change) override { half_open_ += change; }
  void OnEstablished(absl::Duration took) override { handshakes_->Add(took); }
  void OnRefused(transport::LinkRefusal why) override {
    refused_[static_cast<size_t>(why)]->Add();
  }

  // Adds gauges: links that are being established.
  void Describe(metrics::Families* families) const;

 private:
  const std::string of_;
  std::atomic<int> half_open_{0};
  metrics::Latencies* const handshakes_;
  std::array<metrics::Counter*, transport::kLinkRefusals> refused_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_LISTENER_METRICS_H_
