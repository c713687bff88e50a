// Links between processes of one host, over rings in shared memory.
#ifndef KAMINO_TRANSPORT_SHM_SHM_TRANSPORT_H_
#define KAMINO_TRANSPORT_SHM_SHM_TRANSPORT_H_

#include <string>

#include "transport/link.h"

namespace kamino::transport {

// Addresses: the path of a Unix socket, or the name of one in `directory`.
TransportFactory ShmTransports(const std::string& directory = "/tmp");

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SHM_SHM_TRANSPORT_H_
