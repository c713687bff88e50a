// What a node runs on in a process of its own: a thread, and a clock that goes
// on.
#ifndef KAMINO_NODE_DRIVER_REAL_RUNTIME_H_
#define KAMINO_NODE_DRIVER_REAL_RUNTIME_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "node/driver/node.h"

namespace kamino::node {

// `spin`: as TransportOptions::spin, of the thread that links live on as well.
// `goes_on`: as CoreWatchdogOptions::goes_on. An error: the system lacks
// descriptors.
absl::StatusOr<NodeRuntime> RealRuntime(absl::Duration spin,
                                        std::function<void()> goes_on);

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_REAL_RUNTIME_H_
