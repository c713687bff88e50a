#include "node/listener_metrics.h"

#include <utility>

namespace kamino::node {
namespace {

metrics::Counters refusals(
    "kamino_listener_refusals_total",
    "Connections to a listener of links that got no link, by reason.",
    {"listener", "reason"});

metrics::LatencyCounters handshakes("kamino_listener_handshake_seconds",
                                    "Time from the connection to a listener of "
                                    "links until the link was established.",
                                    {"listener"});

}  // namespace

ListenerMetrics::ListenerMetrics(std::string of)
    : of_(std::move(of)), handshakes_(handshakes.Of({of_})) {
  for (int i = 0; i < transport::kLinkRefusals; ++i) {
    refused_[static_cast<size_t>(i)] =
        refusals.Of({of_, std::string(transport::LinkRefusalName(
                              static_cast<transport::LinkRefusal>(i)))});
  }
}

void ListenerMetrics::Describe(metrics::Families* families) const {
  families->Gauge(
      "kamino_listener_half_open",
      "Connections to a listener of links whose link is not established yet.",
      half_open_.load(std::memory_order_relaxed), {{"listener", of_}});
}

}  // namespace kamino::node
