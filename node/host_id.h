// Tells nodes that can share memory from those that cannot.
#ifndef KAMINO_NODE_HOST_ID_H_
#define KAMINO_NODE_HOST_ID_H_

#include <string>

namespace kamino::node {

// Equal for two processes exactly if they are of one boot of one kernel, see
// the same files and are of one user. 16 hexadecimal digits; empty when it
// cannot be found out, which is equal to nothing.
std::string HostId();

}  // namespace kamino::node

#endif  // KAMINO_NODE_HOST_ID_H_
