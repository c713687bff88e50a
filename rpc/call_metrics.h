// What rpc/call_counts.h counts, as metrics.
#ifndef KAMINO_RPC_CALL_METRICS_H_
#define KAMINO_RPC_CALL_METRICS_H_

#include "metrics/page.h"

namespace kamino::rpc {

// A source of a page.
void DescribeCalls(metrics::Families* families);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CALL_METRICS_H_
