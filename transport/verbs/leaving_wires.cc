#include "transport/verbs/leaving_wires.h"

#include <utility>

#include "transport/verbs/send_format.h"

namespace kamino::transport {
namespace {

// A live peer takes microseconds.
constexpr absl::Duration kByePatience = absl::Seconds(1);
// A device that reports drained pairs does so sooner; soft-RoCE, which does
// not, needs the time of its thread's next look.
constexpr absl::Duration kDrainTime = absl::Milliseconds(100);

}  // namespace

LeavingWires::LeavingWires(EventLoop* loop, std::function<void()> empty_queue)
    : loop_(loop),
      empty_queue_(std::move(empty_queue)),
      drain_time_(kDrainTime) {}

void LeavingWires::Add(std::unique_ptr<SendWire> wire, bool at_once,
                       std::function<void()> done) {
  const uint32_t number = wire->number();
  Leaving& leaving = wires_[number];
  leaving.wire = std::move(wire);
  leaving.done = std::move(done);
  if (at_once) return Drain(number);
  leaving.timer = loop_->StartTimer(kByePatience, [this, number] {
    wires_.at(number).timer = 0;
    Drain(number);
  });
  Proceed(number, nullptr);
}

// Continues with a wire that is saying bye; `completion` belongs to it, or is
// null.
void LeavingWires::Proceed(uint32_t number, const GroupCompletion* completion) {
  Leaving& leaving = wires_.at(number);
  if (leaving.draining) return;
  if (completion != nullptr) {
    if (completion->error != nullptr) return Drain(number);
    if (!completion->received) leaving.wire->OnComplete(completion->id);
  }
  if (!leaving.said_bye && leaving.wire->CanNotify()) {
    leaving.said_bye = true;
    const SendHead bye = {SendKind::kBye, {}, 0, 0};
    if (!leaving.wire->Send(bye, {}, /*signaled=*/true).ok()) {
      return Drain(number);
    }
  }
  if (leaving.said_bye && leaving.wire->all_complete()) Drain(number);
}

void LeavingWires::Drain(uint32_t number) {
  Leaving& leaving = wires_.at(number);
  leaving.draining = true;
  if (leaving.timer != 0) loop_->CancelTimer(leaving.timer);
  leaving.wire->Stop();
  leaving.timer = loop_->StartTimer(drain_time_, [this, number] {
    wires_.at(number).timer = 0;
    Destroy(number);
  });
}

void LeavingWires::OnDrained(uint32_t number) {
  const auto found = wires_.find(number);
  if (found == wires_.end() || !found->second.draining) return;
  if (found->second.timer != 0) loop_->CancelTimer(found->second.timer);
  found->second.timer = 0;
  Destroy(number);
}

void LeavingWires::Destroy(uint32_t number) {
  // Its completions must not count for another pair with that number.
  empty_queue_();
  const auto found = wires_.find(number);
  const std::function<void()> done = std::move(found->second.done);
  wires_.erase(found);
  if (done) done();
}

}  // namespace kamino::transport
