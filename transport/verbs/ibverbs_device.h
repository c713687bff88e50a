// The devices that libibverbs finds on this host.
#ifndef KAMINO_TRANSPORT_VERBS_IBVERBS_DEVICE_H_
#define KAMINO_TRANSPORT_VERBS_IBVERBS_DEVICE_H_

#include <memory>

#include "transport/verbs/device.h"

namespace kamino::transport {

// Never null; a host without RDMA has no devices.
std::shared_ptr<VerbsApi> SystemVerbs();

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_IBVERBS_DEVICE_H_
