// The runtime of a node in its own process: a thread, and the system's clock.
#ifndef KAMINO_NODE_DRIVER_REAL_RUNTIME_H_
#define KAMINO_NODE_DRIVER_REAL_RUNTIME_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "node/driver/node.h"

namespace kamino::node {

// `spin`: as TransportOptions::spin, for the thread that links also live on.
// `goes_on`: as CoreWatchdogOptions::goes_on. Error: the system lacks
// descriptors.
absl::StatusOr<NodeRuntime> RealRuntime(absl::Duration spin,
                                        std::function<void()> goes_on);

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_REAL_RUNTIME_H_
