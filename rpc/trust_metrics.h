// What Prometheus is told of certificates and of who is let in.
#ifndef KAMINO_RPC_TRUST_METRICS_H_
#define KAMINO_RPC_TRUST_METRICS_H_

#include <memory>

#include "metrics/page.h"
#include "security/access.h"
#include "security/certificates.h"

namespace kamino::rpc {

// A source; it says nothing where these are null: all is in the clear.
metrics::Page::Source DescribeTrust(
    std::shared_ptr<const security::Certificates> certificates,
    std::shared_ptr<const security::Access> access);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_TRUST_METRICS_H_
