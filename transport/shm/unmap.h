// Gives mappings back on a thread that nobody waits for.
#ifndef KAMINO_TRANSPORT_SHM_UNMAP_H_
#define KAMINO_TRANSPORT_SHM_UNMAP_H_

#include <cstddef>

namespace kamino::transport {

// Whoever unmaps shared memory last frees its pages, which takes milliseconds
// for a few MiB: a node's loop, which carries everybody's messages, must not do
// that for each client that goes. What is left when the process ends goes with
// it. Any thread.
void UnmapSoon(void* base, size_t bytes);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SHM_UNMAP_H_
