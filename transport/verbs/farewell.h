// Says goodbye for a pair whose link is closed; otherwise the peer would notice
// only by its next probe.
#ifndef KAMINO_TRANSPORT_VERBS_FAREWELL_H_
#define KAMINO_TRANSPORT_VERBS_FAREWELL_H_

#include <memory>

#include "transport/loop/event_loop.h"
#include "transport/verbs/verbs_context.h"
#include "transport/verbs/verbs_wire.h"

namespace kamino::transport {

// The loop's thread only.
class Farewell final : public std::enable_shared_from_this<Farewell>,
                       private Poller {
 public:
  Farewell(VerbsContext* context, std::unique_ptr<VerbsWire> wire);

  // Ends with context->Done, perhaps at once.
  void Start();
  // Stops; the wire is destroyed with the object.
  void Stop();

 private:
  bool Poll() override;
  bool Arm() override;
  void Disarm() override {}
  // Handles what completed; false when it is over.
  bool Progress();

  VerbsContext* const context_;
  const std::unique_ptr<VerbsWire> wire_;
  bool posted_ = false;
  bool stopped_ = false;
  EventLoop::Id watch_ = 0;
  EventLoop::Id timer_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_FAREWELL_H_
