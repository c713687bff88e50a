// What a node runs on in a process of its own: a thread, a clock that goes on,
// real transports.
#ifndef KAMINO_HEAD_REAL_RUNTIME_H_
#define KAMINO_HEAD_REAL_RUNTIME_H_

#include "head/node.h"

namespace kamino::head {

NodeRuntime RealRuntime();

}  // namespace kamino::head

#endif  // KAMINO_HEAD_REAL_RUNTIME_H_
