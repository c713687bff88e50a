// Implementation of the devices of fake_verbs.h; private to it.
#ifndef KAMINO_TESTS_TRANSPORT_FAKE_DEVICE_H_
#define KAMINO_TESTS_TRANSPORT_FAKE_DEVICE_H_

#include <sys/eventfd.h>
#include <unistd.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/transport/fake_verbs.h"
#include "transport/loop/unique_fd.h"
#include "transport/verbs/verbs_group.h"

namespace kamino::transport {

inline constexpr char kFlushed[] = "flushed";
inline constexpr char kNoAnswer[] = "transport retry counter exceeded";
inline constexpr char kNoReceive[] = "receiver not ready, retries exceeded";
inline constexpr char kNoAccess[] = "remote access error";

inline UniqueFd NewEventFd() {
  return UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

inline void Ring(const UniqueFd& fd) {
  const uint64_t one = 1;
  (void)!::write(fd.get(), &one, sizeof(one));
}

inline void Drain(const UniqueFd& fd) {
  uint64_t count;
  (void)!::read(fd.get(), &count, sizeof(count));
}

class FakeDevice final : public VerbsDevice,
                         public std::enable_shared_from_this<FakeDevice> {
 public:
  FakeDevice(std::shared_ptr<FakeFabric> fabric, std::string name)
      : fabric_(std::move(fabric)), name_(std::move(name)) {}

  const std::string& name() const override { return name_; }
  absl::StatusOr<std::vector<PortInfo>> Ports() override;
  absl::StatusOr<std::unique_ptr<VerbsPair>> CreatePair(
      int port, const PairSize& size) override;
  absl::StatusOr<std::shared_ptr<VerbsGroup>> CreateGroup(
      int port, const GroupSize& size) override;
  bool Present() const override {
    absl::MutexLock lock(&fabric_->mu_);
    const FakeFabric::Unit& unit = fabric_->units_.at(name_);
    return unit.present && !unit.being_removed;
  }
  int event_fd() const override { return event_fd_.get(); }
  std::optional<DeviceEvent> NextEvent() override {
    absl::MutexLock lock(&fabric_->mu_);
    Drain(event_fd_);
    if (events_.empty()) return std::nullopt;
    DeviceEvent event = events_.front();
    events_.pop_front();
    return event;
  }

  const std::shared_ptr<FakeFabric> fabric_;
  const std::string name_;
  const UniqueFd event_fd_ = NewEventFd();
  std::deque<DeviceEvent> events_;  // guarded by the fabric's lock
};

// A pair of any kind. Everything is guarded by the fabric's lock.
class FakeEnd {
 public:
  FakeEnd(std::shared_ptr<FakeDevice> device, uint32_t number)
      : device_(std::move(device)),
        fabric_(*device_->fabric_),
        number_(number) {}
  virtual ~FakeEnd() = default;

  absl::Status ConnectTo(const GidEntry& own_gid, const PairAddress& own,
                         const PairAddress& peer, const PairPatience& patience);

  // The peer it is connected with, if that answers.
  FakeEnd* Peer();

  // Accesses by a peer.
  virtual std::byte* FindRemote(uint32_t, uint64_t, size_t) { return nullptr; }
  virtual bool HasReceive() const = 0;
  // It has a receive. What went wrong, or null.
  virtual const char* TakeNotice(uint32_t immediate) = 0;
  virtual const char* TakeSend(absl::Span<const std::byte> bytes) = 0;

  virtual bool HasPosted() const = 0;
  virtual void DropPosted() = 0;
  // Does the first that was posted; false when it has to wait for a receive.
  virtual bool ExecuteFirst() = 0;
  // It is in error; `first` is what was under way completes with.
  virtual void FailLocked(const char* first) = 0;

  const std::shared_ptr<FakeDevice> device_;
  FakeFabric& fabric_;
  const uint32_t number_;
  PairAddress peer_;
  bool connected_ = false;
  bool error_ = false;
  bool dead_ = false;  // answers no peer and hears of nothing
};

// Defined in fake_group.cc.
absl::StatusOr<std::shared_ptr<VerbsGroup>> NewFakeGroup(
    std::shared_ptr<FakeDevice> device, const GroupSize& size);

}  // namespace kamino::transport

#endif  // KAMINO_TESTS_TRANSPORT_FAKE_DEVICE_H_
