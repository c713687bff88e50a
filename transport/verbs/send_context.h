// State that the links of one transport without rings share: the devices' hubs.
#ifndef KAMINO_TRANSPORT_VERBS_SEND_CONTEXT_H_
#define KAMINO_TRANSPORT_VERBS_SEND_CONTEXT_H_

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "transport/verbs/send_hub.h"
#include "transport/verbs/verbs_context.h"

namespace kamino::transport {

class SendContext final : public VerbsContext {
 public:
  using VerbsContext::VerbsContext;

  // The hub to make the next wire on, which lives while it has any. The loop's
  // thread only, as all but AwaitWires.
  absl::StatusOr<SendHub*> Hub();
  // Ends `wire`, as SendHub::RetireWire does.
  void RetireWire(SendHub* hub, std::unique_ptr<SendWire> wire, bool at_once);

  // For listeners: whether one more link may be set up now. Each setup costs
  // the thread some system calls, and any peer can request one.
  absl::Status CheckSetUp();
  // A setup has begun, or ended with or without success.
  void CountSetUp(int change) { set_ups_ += change; }

  // Any thread but the loop's: no more wires are made, and all are gone on
  // return. To be called after CloseAll.
  void AwaitWires();

 private:
  void OnPairDrained(const PairId& id) override;
  void OnDeviceGone(const std::shared_ptr<VerbsDevice>& device) override;
  // Drops hubs of devices that are not used any more.
  void DropIdleHubs();
  void DropIdleHubsBut(const SendHub* in_use);
  bool NoneLeaving() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return leaving_ == 0;
  }

  // The newest is last, and in use unless its device is lost.
  std::vector<std::unique_ptr<SendHub>> hubs_;
  bool newest_lost_ = false;
  int set_ups_ = 0;  // under way
  absl::Time second_ = absl::InfinitePast();
  int this_second_ = 0;

  absl::Mutex mutex_;
  int leaving_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_SEND_CONTEXT_H_
