#include "transport/verbs/verbs_context.h"

#include <sys/epoll.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "transport/verbs/farewell.h"

namespace kamino::transport {
namespace {

// Checks for a device in one peer_timeout.
constexpr int kLooksPerTimeout = 4;

}  // namespace

PairPatience PatienceFor(absl::Duration timeout) {
  PairPatience patience;
  const auto total = [&] {
    return absl::Nanoseconds(4096) * (int64_t{1} << patience.ack_timeout) *
           (patience.retries + 1);
  };
  while (patience.ack_timeout > 8 && total() > timeout / 4) {
    --patience.ack_timeout;
  }
  return patience;
}

VerbsContext::VerbsContext(const TransportOptions& options,
                           std::shared_ptr<EventLoop> loop, VerbsSetup setup)
    : LinkContext(options, std::move(loop)), setup_(std::move(setup)) {}

VerbsContext::~VerbsContext() = default;

absl::StatusOr<OpenedPort> VerbsContext::Port() {
  absl::MutexLock lock(&mu_);
  if (device_ != nullptr && device_->Present()) {
    auto ports = device_->Ports();
    if (ports.ok()) {
      const DevicePorts own{device_->name(), *std::move(ports)};
      auto choice = ChoosePort(absl::MakeConstSpan(&own, 1), setup_.wish);
      if (choice.ok()) return OpenedPort{device_, *std::move(choice)};
    }
  }
  auto opened = OpenPort(setup_.api.get(), setup_.wish);
  if (!opened.ok()) {
    return absl::UnavailableError(opened.status().message());
  }
  LOG(INFO) << "verbs links use " << Describe(opened->choice);
  device_ = opened->device;
  loop->Post([this, device = device_] { Watch(device); });
  return opened;
}

void VerbsContext::Watch(const std::shared_ptr<VerbsDevice>& device) {
  auto watch =
      loop->Watch(device->event_fd(), EPOLLIN,
                  [this, raw = std::weak_ptr<VerbsDevice>(device)](uint32_t) {
                    if (auto held = raw.lock()) OnDeviceEvents(held);
                  });
  if (!watch.ok()) {
    // Its links notice by themselves, but later.
    LOG(WARNING) << "no events of " << device->name() << ": " << watch.status();
    return;
  }
  watched_[device].events = *watch;
  StartLooking(device);
  OnDeviceEvents(device);
}

void VerbsContext::StartLooking(const std::shared_ptr<VerbsDevice>& device) {
  watched_[device].look = loop->StartTimer(
      options.peer_timeout / kLooksPerTimeout,
      [this, raw = std::weak_ptr<VerbsDevice>(device)] {
        const auto held = raw.lock();
        if (held == nullptr) return;
        watched_[held].look = 0;
        if (held->Present()) return StartLooking(held);
        OnDeviceEvent(held, {DeviceEvent::Kind::kDeviceGone, 0, 0,
                             "the device is being removed"});
      });
}

void VerbsContext::Retire(const std::shared_ptr<VerbsDevice>& device) {
  auto found = watched_.find(device);
  if (found != watched_.end()) {
    loop->Unwatch(found->second.events);
    if (found->second.look != 0) loop->CancelTimer(found->second.look);
    watched_.erase(found);
  }
  absl::MutexLock lock(&mu_);
  if (device_ == device) device_ = nullptr;
}

void VerbsContext::RetireAll() {
  loop->RunSync([this] {
    while (!watched_.empty()) {
      const std::shared_ptr<VerbsDevice> device = watched_.begin()->first;
      Retire(device);
    }
  });
}

void VerbsContext::OnDeviceEvents(const std::shared_ptr<VerbsDevice>& device) {
  while (std::optional<DeviceEvent> event = device->NextEvent()) {
    OnDeviceEvent(device, *event);
  }
}

void VerbsContext::OnDeviceEvent(const std::shared_ptr<VerbsDevice>& device,
                                 const DeviceEvent& event) {
  if (event.kind == DeviceEvent::Kind::kPairDrained) {
    return OnPairDrained({device.get(), event.pair});
  }
  LOG(WARNING) << device->name() << ": " << event.text;
  const absl::Status why =
      absl::UnavailableError(absl::StrCat(device->name(), ": ", event.text));
  switch (event.kind) {
    case DeviceEvent::Kind::kPairFailed:
      FailPairs([&](const PairId& id,
                    int) { return id == PairId(device.get(), event.pair); },
                why);
      return;
    case DeviceEvent::Kind::kPortDown:
      FailPairs(
          [&](const PairId& id, int port) {
            return id.first == device.get() && port == event.port;
          },
          why);
      return;
    case DeviceEvent::Kind::kGroupFailed:
    case DeviceEvent::Kind::kDeviceGone:
      FailPairs([&](const PairId& id, int) { return id.first == device.get(); },
                why);
      OnDeviceGone(device);
      Retire(device);
      return;
    case DeviceEvent::Kind::kPairDrained:
    case DeviceEvent::Kind::kOther:
      return;
  }
}

void VerbsContext::FailPairs(
    const std::function<bool(const PairId&, int port)>& lost,
    const absl::Status& why) {
  std::vector<std::shared_ptr<LoopLink>> failing;
  for (const auto& [id, watcher] : pairs_) {
    if (lost(id, watcher.port)) {
      failing.push_back(watcher.link->shared_from_this());
    }
  }
  for (const std::shared_ptr<LoopLink>& link : failing) link->Fail(why);
}

void VerbsContext::AddPair(const PairId& id, LoopLink* link, int port) {
  pairs_[id] = {link, port};
}

void VerbsContext::RemovePair(const PairId& id) { pairs_.erase(id); }

void VerbsContext::SayGoodBye(std::unique_ptr<VerbsWire> wire) {
  wire->RevokeRing();
  auto farewell = std::make_shared<Farewell>(this, std::move(wire));
  farewells_.insert(farewell);
  {
    absl::MutexLock lock(&mu_);
    ++farewell_count_;
  }
  farewell->Start();
}

void VerbsContext::Done(const std::shared_ptr<Farewell>& farewell) {
  if (farewells_.erase(farewell) == 0) return;
  absl::MutexLock lock(&mu_);
  --farewell_count_;
}

void VerbsContext::AwaitGoodByes() {
  // After the links were closed, which starts the goodbyes. Their own timers
  // bound the wait.
  loop->RunSync([] {});
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &VerbsContext::NoFarewells));
}

}  // namespace kamino::transport
