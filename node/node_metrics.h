// A node's metrics, from its own counters; docs/operate/metrics.md lists them.
#ifndef KAMINO_NODE_NODE_METRICS_H_
#define KAMINO_NODE_NODE_METRICS_H_

#include "absl/time/time.h"
#include "base/chain_id.h"
#include "metrics/page.h"
#include "node/driver/node.h"

namespace kamino::node {

// The program's version: kamino_build_info.
void DescribeBuild(metrics::Families* families);

// From a sample of the node of chain `chain`, which was taken so long ago.
void DescribeNode(const NodeSample& sample, ChainId chain, absl::Duration age,
                  metrics::Families* families);

// Metrics that do not need the core thread.
void DescribeStages(const StageTimes& stages, ChainId chain,
                    metrics::Families* families);

}  // namespace kamino::node

#endif  // KAMINO_NODE_NODE_METRICS_H_
