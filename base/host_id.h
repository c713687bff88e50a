// Tells processes that can share memory from those that cannot.
#ifndef KAMINO_BASE_HOST_ID_H_
#define KAMINO_BASE_HOST_ID_H_

#include <cstdint>
#include <string>

namespace kamino {

// Equal for two processes exactly if they are of one boot of one kernel, see
// the same files and are of one user. 16 hexadecimal digits; empty when it
// cannot be found out, which is equal to nothing.
std::string HostId();

// Of this boot of the machine; another one has another number. 0 when it cannot
// be found out.
uint64_t BootId();

}  // namespace kamino

#endif  // KAMINO_BASE_HOST_ID_H_
