// Common parts of link tests: a recorder of events on one end, and a rig that
// makes transports of any kind and waits until something has happened.
#ifndef KAMINO_TESTS_TRANSPORT_LINK_RIG_H_
#define KAMINO_TESTS_TRANSPORT_LINK_RIG_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "security/certificates.h"
#include "security/identity.h"
#include "tests/simulation/timed_network.h"
#include "tests/simulation/world.h"
#include "tests/transport/fake_verbs.h"
#include "transport/link.h"
#include "transport/passes.h"
#include "transport/verbs/rendezvous.h"

namespace kamino::transport {

absl::Span<const std::byte> Bytes(absl::string_view text);

// One end's handler. Checks the contract's order of callbacks as it records.
// Thread-safe; the fields are read in LinkRig::Until, or with mutex().
class Recorder : public LinkHandler {
 public:
  explicit Recorder(absl::Mutex* mutex) : mutex_(mutex) {}

  void OnConnected(const std::shared_ptr<Link>& link) override;
  void OnMessage(absl::Span<const std::byte> message) override;
  void OnWritable() override;
  void OnClosed(const absl::Status& why) override;

  // `callback` runs at the end of each OnMessage from now on, no lock held.
  void WithEachMessage(std::function<void()> callback);

  // Called at the end of OnConnected, no lock held. Set before Connect.
  std::function<void(const std::shared_ptr<Link>&)> on_connected;

  std::shared_ptr<Link> link;  // the acceptor's end sets it, else OnConnected
  int connected = 0;
  int writable = 0;
  std::vector<std::string> messages;
  int closed = 0;
  absl::Status why;

 private:
  absl::Mutex* const mutex_;
  std::function<void()> with_each_message_;
};

class LinkRig {
 public:
  static constexpr char kSends[] = "Sends";
  static constexpr char kGuest[] = "Guest";
  static constexpr char kKnown[] = "Known";

  // `kind`: the name of a transport, or "sim", which is what the simulator has
  // (tests/simulation/timed_network.h). Options are the test's to
  // change before the first NewTransport. "verbs" is on devices in memory,
  // unless the environment names a real one in KAMINO_VERBS_DEVICE; with kSends
  // behind it, its links have no rings. Behind that kKnown may stand: both ends
  // have certificates then, both of `identity`; and behind that kGuest:
  // transports live on loops of the rig's.
  explicit LinkRig(std::string kind);
  ~LinkRig();

  const std::string& kind() const { return kind_; }
  bool simulated() const { return kind_ == "sim"; }

  std::unique_ptr<Transport> NewTransport();
  // An address without a listener.
  std::string NewAddress();
  std::shared_ptr<Recorder> NewRecorder();

  // Waits until `happened` (called with mutex() held); false when it does not
  // within any reasonable time, or cannot in the simulation.
  bool Until(absl::FunctionRef<bool()> happened) ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex* mutex() { return &mutex_; }

  // Null unless the kind is "verbs" without a real device.
  FakeFabric* fabric() const { return fabric_.get(); }
  // Only for "verbs".
  VerbsRendezvous& rendezvous() { return *rendezvous_; }
  // Folder of the sockets of "shm".
  const std::string& folder() const { return folder_; }

  // Only for "shm": the passes that are given out. With kKnown, both ends'
  // identity.
  PassRegistry& registry() { return *registry_; }
  const std::shared_ptr<security::Certificates>& certificates() const {
    return options.certificates;
  }
  static security::Identity identity() {
    return {"kamino", security::Role::kNode, "n1"};
  }

  TransportOptions options;

 private:
  TransportFactory Factory();

  const std::string kind_;
  const bool guests_;
  const bool known_;
  const bool sends_;
  std::vector<std::shared_ptr<EventLoop>> loops_;  // of guests
  std::string folder_;
  absl::Mutex mutex_;
  simulation::World world_{/*seed=*/1, /*trace=*/nullptr};
  // "sim": each transport is of a process of its own, which outlives it.
  std::vector<std::unique_ptr<simulation::Process>> processes_;
  std::unique_ptr<simulation::TimedNetwork> network_;
  std::shared_ptr<FakeFabric> fabric_;
  std::shared_ptr<VerbsRendezvous> rendezvous_;  // constant once made
  const std::shared_ptr<PassRegistry> registry_ =
      std::make_shared<PassRegistry>();
  int addresses_ = 0;
};

// A listener that records what it accepted, the newest last.
class RecordingListener {
 public:
  RecordingListener(LinkRig* rig, Transport* transport);

  const std::string& address() const { return listener_->address(); }
  // Stops listening.
  void Close() { listener_.reset(); }

  // Guarded by the rig's mutex.
  bool refuse = false;
  std::vector<std::shared_ptr<Recorder>> accepted;

 private:
  std::unique_ptr<Listener> listener_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TESTS_TRANSPORT_LINK_RIG_H_
