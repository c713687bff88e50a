#include "transport/verbs/send_context.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace kamino::transport {
namespace {

constexpr size_t kInlineBytes = 192;
// Memory for so many unfinished messages of the largest size, of all links.
constexpr size_t kUnfinished = 16;
// Limits of links that have an answer and have not said hello, and of setups
// begun in a second, each of which takes the thread a good part of a
// millisecond.
constexpr int kMostSetUps = 64;
constexpr int kMostSetUpsPerSecond = 256;

}  // namespace

absl::StatusOr<SendHub*> SendContext::Hub() {
  ASSIGN_OR_RETURN(const OpenedPort port, Port());
  if (!hubs_.empty() && !newest_lost_ && !hubs_.back()->broken() &&
      hubs_.back()->device() == port.device) {
    return hubs_.back().get();
  }
  ASSIGN_OR_RETURN(
      auto hub,
      SendHub::Create(loop.get(), port, kInlineBytes, options.max_accepted,
                      kUnfinished * options.max_message));
  newest_lost_ = false;
  hubs_.push_back(std::move(hub));
  // Keeps the hub that will get a wire, even if the transport has begun to stop
  // meanwhile: AwaitWires drops it.
  DropIdleHubsBut(hubs_.back().get());
  return hubs_.back().get();
}

void SendContext::RetireWire(SendHub* hub, std::unique_ptr<SendWire> wire,
                             bool at_once) {
  {
    absl::MutexLock lock(&mutex_);
    ++leaving_;
  }
  if (stopping) hub->NoMore();
  hub->RetireWire(std::move(wire), at_once, [this] {
    // An idle, unusable hub does not survive this.
    loop->Post([this] { DropIdleHubs(); });
    absl::MutexLock lock(&mutex_);
    --leaving_;
  });
}

absl::Status SendContext::CheckSetUp() {
  const absl::Time now = MonotonicNow();
  if (now - second_ >= absl::Seconds(1)) {
    second_ = now;
    this_second_ = 0;
  }
  if (set_ups_ >= kMostSetUps || this_second_ >= kMostSetUpsPerSecond) {
    return absl::UnavailableError("too many links are being set up");
  }
  ++this_second_;
  return absl::OkStatus();
}

void SendContext::OnPairDrained(const PairId& id) {
  for (const auto& hub : hubs_) {
    if (hub->device().get() == id.first) hub->OnDrained(id.second);
  }
}

void SendContext::OnDeviceGone(const std::shared_ptr<VerbsDevice>& device) {
  if (!hubs_.empty() && hubs_.back()->device() == device) newest_lost_ = true;
  // It may be the last that has the device open.
  loop->Post([this] { DropIdleHubs(); });
}

void SendContext::DropIdleHubs() {
  const bool none = hubs_.empty() || newest_lost_ || stopping;
  DropIdleHubsBut(none ? nullptr : hubs_.back().get());
}

void SendContext::DropIdleHubsBut(const SendHub* in_use) {
  hubs_.erase(std::remove_if(hubs_.begin(), hubs_.end(),
                             [&](const auto& hub) {
                               return hub.get() != in_use && hub->idle();
                             }),
              hubs_.end());
}

void SendContext::AwaitWires() {
  // After the links were closed, which returns their wires.
  loop->RunSync([] {});
  {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &SendContext::NoneLeaving));
  }
  loop->RunSync([this] { DropIdleHubs(); });
}

}  // namespace kamino::transport
