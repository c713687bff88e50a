// Dependencies of a transport over verbs.
#ifndef KAMINO_TRANSPORT_VERBS_VERBS_SETUP_H_
#define KAMINO_TRANSPORT_VERBS_VERBS_SETUP_H_

#include <memory>

#include "transport/verbs/choose_port.h"
#include "transport/verbs/device.h"
#include "transport/verbs/rendezvous.h"

namespace kamino::transport {

// No member is null.
struct VerbsSetup {
  PortWish wish;
  std::shared_ptr<VerbsRendezvous> rendezvous;  // how ends find each other
  std::shared_ptr<VerbsApi> api;                // the host's devices
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_VERBS_SETUP_H_
