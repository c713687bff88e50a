// RDMA devices that exist in memory only, as strict as real ones: keys, bounds
// and the depths of queues are checked, a missing receive is an error, a pair
// in error flushes what was posted. Faults are the test's to cause.
#ifndef KAMINO_TESTS_TRANSPORT_FAKE_VERBS_H_
#define KAMINO_TESTS_TRANSPORT_FAKE_VERBS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "transport/verbs/device.h"

namespace kamino::transport {

class FakeDevice;
class FakeEnd;
class FakeGroup;
class FakeGroupPair;
class FakePair;

// All devices of the test and what connects them. Thread-safe. Outlives what is
// made from it.
class FakeFabric : public VerbsApi,
                   public std::enable_shared_from_this<FakeFabric> {
 public:
  FakeFabric();
  ~FakeFabric() override;

  // Adds a device with one active RoCE port of two GIDs; one device, "fake0",
  // is there from the start.
  void AddDevice(const std::string& name);
  // Limits of pairs and operations made from now on. A SEND waits for a receive
  // for as long as there is none; all else that finds none fails.
  void LimitMessage(size_t bytes);
  void LimitMemory(size_t bytes);

  // Writes wait, in order, while the fabric is held.
  void Hold();
  void Release();
  // The next write that would move bytes or a notice fails instead.
  void FailNextWrite(const char* error);
  // The port goes down and says so; later ports are not active.
  void PortDown(const std::string& device);
  void PortUp(const std::string& device);
  // The device is removed: everything on it fails, and it is not listed.
  void Unplug(const std::string& device);
  // The device is being removed: it is not listed, and all on it goes on until
  // it has been closed.
  void Remove(const std::string& device);
  // The pair fails with an asynchronous event and without a completion.
  void FailPair(uint32_t number);
  // The process that made the pair died: it does not answer any more.
  void Kill(uint32_t number);

  struct Counts {
    int pairs = 0;          // alive
    size_t registered = 0;  // bytes, now
    uint64_t writes = 0;    // ever, as the following
    uint64_t signaled = 0;
    uint64_t inlined = 0;
    uint64_t in_pieces = 0;  // of a record, without immediate data
    uint64_t sends = 0;      // of groups
    uint64_t waits = 0;      // of those, for a receive
  };
  Counts counts();
  std::vector<uint32_t> live_pairs();
  int times_open(const std::string& device);

  absl::StatusOr<std::vector<std::string>> DeviceNames() override;
  absl::StatusOr<std::shared_ptr<VerbsDevice>> Open(
      const std::string& name) override;

 private:
  friend class FakeDevice;
  friend class FakeEnd;
  friend class FakeGroup;
  friend class FakeGroupPair;
  friend class FakePair;

  struct Unit {
    bool present = true;
    bool being_removed = false;
    bool port_active = true;
    std::vector<std::weak_ptr<FakeDevice>> opened;
  };

  // A write under way.
  struct Posted {
    RdmaWrite write;
    std::vector<std::byte> inlined;  // what was inlined
  };

  void RunLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Tell(const std::string& device, const DeviceEvent& event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex mu_;
  std::map<std::string, Unit> units_ ABSL_GUARDED_BY(mu_);
  std::map<uint32_t, FakeEnd*> pairs_ ABSL_GUARDED_BY(mu_);
  uint32_t next_number_ ABSL_GUARDED_BY(mu_) = 100;
  uint32_t next_key_ ABSL_GUARDED_BY(mu_) = 7000;
  bool held_ ABSL_GUARDED_BY(mu_) = false;
  const char* fail_next_ ABSL_GUARDED_BY(mu_) = nullptr;
  size_t max_message_ ABSL_GUARDED_BY(mu_) = size_t{8} << 20;
  size_t max_memory_ ABSL_GUARDED_BY(mu_) = ~size_t{0};
  Counts counts_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kamino::transport

#endif  // KAMINO_TESTS_TRANSPORT_FAKE_VERBS_H_
