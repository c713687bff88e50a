// Unmaps memory on a background thread.
#ifndef KAMINO_TRANSPORT_SHM_UNMAP_H_
#define KAMINO_TRANSPORT_SHM_UNMAP_H_

#include <cstddef>

namespace kamino::transport {

// The last process to unmap shared memory frees its pages, which takes
// milliseconds for a few MiB. A node's loop serves all clients and must not do
// that for each one that leaves. Memory that is still mapped when the process
// ends is freed with it. Any thread.
void UnmapSoon(void* base, size_t bytes);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SHM_UNMAP_H_
