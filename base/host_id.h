// Tells processes that can share memory from those that cannot.
#ifndef KAMINO_BASE_HOST_ID_H_
#define KAMINO_BASE_HOST_ID_H_

#include <cstdint>
#include <string>

namespace kamino {

// Equal for two processes if and only if they run under the same boot of the
// same kernel, see the same files and belong to the same user. 16 hexadecimal
// digits; empty if unknown, which equals no other id.
std::string HostId();

// Unique to this boot of the machine; 0 if unknown.
uint64_t BootId();

}  // namespace kamino

#endif  // KAMINO_BASE_HOST_ID_H_
