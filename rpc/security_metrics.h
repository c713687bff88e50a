// What a process that has certificates shows of them, and of whom it has turned
// down, as metrics.
#ifndef KAMINO_RPC_SECURITY_METRICS_H_
#define KAMINO_RPC_SECURITY_METRICS_H_

#include <memory>

#include "metrics/page.h"
#include "rpc/credentials.h"
#include "security/access.h"

namespace kamino::rpc {

// A source of a page, which keeps both. Null: in the clear, where there is
// nothing to show.
metrics::Page::Source SecuritySource(
    std::shared_ptr<const Credentials> credentials,
    std::shared_ptr<security::Access> access);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_SECURITY_METRICS_H_
