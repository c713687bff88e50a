// Planned stops of a node's process (docs/operate/planned_stops.md).
#ifndef KAMINO_NODE_HAND_OVER_H_
#define KAMINO_NODE_HAND_OVER_H_

#include <functional>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "node/driver/node.h"

namespace kamino::node {

// Makes the chain continue without this node, if it can. A second signal ends
// the wait. `has_failed`: the node has failed, and there is nothing to hand
// over. Not on the core thread; takes some seconds at most.
void HandOver(Node* node, const std::function<bool()>& has_failed);

// Ends the process when that takes too long.
class EndsInTime {
 public:
  EndsInTime();
  ~EndsInTime();

 private:
  // The last lines of the log may take another second (logs/line_writer.h).
  static constexpr absl::Duration kLongest = absl::Milliseconds(8900);

  void Run();

  absl::Notification ended_;
  std::thread thread_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_HAND_OVER_H_
