// State that the links of one verbs transport share: their device, its
// asynchronous events, and the pairs that are saying goodbye.
#ifndef KAMINO_TRANSPORT_VERBS_VERBS_CONTEXT_H_
#define KAMINO_TRANSPORT_VERBS_VERBS_CONTEXT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "transport/loop/loop_link.h"
#include "transport/verbs/choose_port.h"
#include "transport/verbs/device.h"
#include "transport/verbs/verbs_setup.h"
#include "transport/verbs/verbs_wire.h"

namespace kamino::transport {

class Farewell;

// Pairs are told apart by their device and number.
using PairId = std::pair<const VerbsDevice*, uint32_t>;

// All retries together take about a quarter of `timeout` at most.
PairPatience PatienceFor(absl::Duration timeout);

class VerbsContext : public LinkContext {
 public:
  VerbsContext(const TransportOptions& options, std::shared_ptr<EventLoop> loop,
               VerbsSetup setup);
  virtual ~VerbsContext();

  VerbsRendezvous& rendezvous() const { return *setup_.rendezvous; }

  // Any thread. The port to make the next pair on. Keeps the open device while
  // it has a usable port.
  absl::StatusOr<OpenedPort> Port();

  // The loop's thread only: the link to close when its pair, port or device
  // fails.
  void AddPair(const PairId& id, LoopLink* link, int port);
  void RemovePair(const PairId& id);

  // The loop's thread only. Says goodbye to the peer and destroys the wire
  // soon; on return the peer's key to the ring is gone.
  void SayGoodBye(std::unique_ptr<VerbsWire> wire);

  // Any thread but the loop's: returns when all goodbyes are said or given up.
  void AwaitGoodByes();

  // Any thread but the loop's. After that nothing on the loop, which may be
  // shared and go on, refers to this. The last step of a transport's destructor
  // before it ends the loop.
  void RetireAll();

 protected:
  // The loop's thread: further events for a context of groups.
  virtual void OnPairDrained(const PairId& id) { (void)id; }
  // The device is lost, and its links are closed.
  virtual void OnDeviceGone(const std::shared_ptr<VerbsDevice>& device) {
    (void)device;
  }

 private:
  friend class Farewell;

  struct Watcher {
    LoopLink* link;
    int port;
  };

  struct Watched {
    EventLoop::Id events = 0;
    EventLoop::Id look = 0;  // the timer; 0 while its callback runs
  };

  void Watch(const std::shared_ptr<VerbsDevice>& device);
  // Checks periodically whether the host still has the device.
  void StartLooking(const std::shared_ptr<VerbsDevice>& device);
  void Retire(const std::shared_ptr<VerbsDevice>& device);
  void OnDeviceEvents(const std::shared_ptr<VerbsDevice>& device);
  void OnDeviceEvent(const std::shared_ptr<VerbsDevice>& device,
                     const DeviceEvent& event);
  // Closes the links whose pair `lost` accepts.
  void FailPairs(const std::function<bool(const PairId&, int port)>& lost,
                 const absl::Status& why);
  void Done(const std::shared_ptr<Farewell>& farewell);
  bool NoFarewells() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return farewell_count_ == 0;
  }

  const VerbsSetup setup_;

  absl::Mutex mu_;
  std::shared_ptr<VerbsDevice> device_ ABSL_GUARDED_BY(mu_);
  int farewell_count_ ABSL_GUARDED_BY(mu_) = 0;

  // The loop's thread only.
  absl::flat_hash_map<std::shared_ptr<VerbsDevice>, Watched> watched_;
  absl::flat_hash_map<PairId, Watcher> pairs_;
  absl::flat_hash_set<std::shared_ptr<Farewell>> farewells_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_VERBS_CONTEXT_H_
