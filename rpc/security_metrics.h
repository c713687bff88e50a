// Metrics of a process with certificates: the certificates, and the refused
// peers.
#ifndef KAMINO_RPC_SECURITY_METRICS_H_
#define KAMINO_RPC_SECURITY_METRICS_H_

#include <memory>

#include "metrics/page.h"
#include "rpc/credentials.h"
#include "security/access.h"

namespace kamino::rpc {

// A source of a metrics page, which keeps both alive. Null arguments: no
// certificates, and no metrics.
metrics::Page::Source SecuritySource(
    std::shared_ptr<const Credentials> credentials,
    std::shared_ptr<security::Access> access);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_SECURITY_METRICS_H_
