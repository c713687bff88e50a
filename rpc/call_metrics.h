// Metrics of every Kamino process: calls (rpc/call_counts.h) and log lines.
#ifndef KAMINO_RPC_CALL_METRICS_H_
#define KAMINO_RPC_CALL_METRICS_H_

#include "metrics/page.h"

namespace kamino::rpc {

// Sources of a metrics page.
void DescribeCalls(metrics::Families* families);
void DescribeLog(metrics::Families* families);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CALL_METRICS_H_
