#include "transport/verbs/farewell.h"

#include <sys/epoll.h>

#include <array>
#include <utility>

#include "absl/time/time.h"

namespace kamino::transport {
namespace {

// A live peer takes microseconds.
constexpr absl::Duration kPatience = absl::Seconds(1);

}  // namespace

Farewell::Farewell(VerbsContext* context, std::unique_ptr<VerbsWire> wire)
    : context_(context), wire_(std::move(wire)) {}

void Farewell::Start() {
  const std::shared_ptr<Farewell> keep = shared_from_this();
  auto watch =
      context_->loop->Watch(wire_->pair().event_fd(), EPOLLIN,
                            [this](uint32_t) { wire_->pair().TakeEvents(); });
  if (!watch.ok()) {
    stopped_ = true;
    context_->Done(keep);
    return;
  }
  watch_ = *watch;
  timer_ = context_->loop->StartTimer(kPatience, [this] {
    timer_ = 0;
    const std::shared_ptr<Farewell> self = shared_from_this();
    Stop();
    context_->Done(self);
  });
  context_->loop->AddPoller(this);
  Poll();
}

void Farewell::Stop() {
  if (std::exchange(stopped_, true)) return;
  context_->loop->RemovePoller(this);
  context_->loop->Unwatch(watch_);
  if (timer_ != 0) context_->loop->CancelTimer(timer_);
}

bool Farewell::Poll() {
  if (stopped_) return false;
  const std::shared_ptr<Farewell> keep = shared_from_this();
  if (Progress()) return false;
  Stop();
  context_->Done(keep);
  return true;
}

bool Farewell::Progress() {
  std::array<Completion, 32> completions;
  auto count = wire_->pair().Poll(absl::MakeSpan(completions));
  if (!count.ok()) return false;
  for (size_t i = 0; i < *count; ++i) {
    if (completions[i].error != nullptr) return false;
    if (!completions[i].received) wire_->OnComplete(completions[i].id);
  }
  if (!posted_ && wire_->CanNotify()) {
    posted_ = true;
    return wire_->SendNotice(Notice::kBye, 0, /*signaled=*/true).ok();
  }
  return !(posted_ && wire_->all_complete());
}

bool Farewell::Arm() {
  // Earlier completions cause no event: looks for them once more.
  return stopped_ || !wire_->pair().Arm().ok() || !Poll();
}

}  // namespace kamino::transport
