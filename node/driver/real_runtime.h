// What a node runs on in a process of its own: a thread, and a clock that goes
// on.
#ifndef KAMINO_NODE_DRIVER_REAL_RUNTIME_H_
#define KAMINO_NODE_DRIVER_REAL_RUNTIME_H_

#include "node/driver/node.h"

namespace kamino::node {

NodeRuntime RealRuntime();

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_REAL_RUNTIME_H_
