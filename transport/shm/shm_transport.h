// Links between processes of one host, over rings in shared memory.
#ifndef KAMINO_TRANSPORT_SHM_SHM_TRANSPORT_H_
#define KAMINO_TRANSPORT_SHM_SHM_TRANSPORT_H_

#include <memory>
#include <string>

#include "transport/link.h"
#include "transport/passes.h"

namespace kamino::transport {

// With TransportOptions::certificates: how the ends authenticate each other. A
// side that only listens has no source; one that only connects has no registry.
struct ShmPasses {
  std::shared_ptr<PassRegistry> registry;
  std::shared_ptr<PassSource> source;
};

// Addresses: the path of a Unix socket, or the name of one in `directory`.
TransportFactory ShmTransports(const std::string& directory = "/tmp",
                               ShmPasses passes = {});

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SHM_SHM_TRANSPORT_H_
