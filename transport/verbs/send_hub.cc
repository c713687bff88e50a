#include "transport/verbs/send_hub.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::transport {

SendHub::SendHub(EventLoop* loop, const OpenedPort& port,
                 std::shared_ptr<VerbsGroup> group, size_t max_unfinished)
    : loop_(loop),
      port_(port),
      buffers_(group.get()),
      group_(std::move(group)),
      leaving_(loop, [this] { PollAll(); }),
      unfinished_(max_unfinished) {}

absl::StatusOr<std::unique_ptr<SendHub>> SendHub::Create(
    EventLoop* loop, const OpenedPort& port, size_t max_inline, int max_links,
    size_t max_unfinished) {
  GroupSize size;
  size.max_pairs = max_links;
  size.receives = kLinkReceives;
  size.sends = kLinkSends;
  size.max_inline = max_inline;
  ASSIGN_OR_RETURN(auto group,
                   port.device->CreateGroup(port.choice.port.number, size));
  auto hub = absl::WrapUnique(
      new SendHub(loop, port, std::move(group), max_unfinished));
  ASSIGN_OR_RETURN(hub->watch_, loop->Watch(hub->group_->event_fd(), EPOLLIN,
                                            [raw = hub.get()](uint32_t) {
                                              raw->group_->TakeEvents();
                                            }));
  loop->AddPoller(hub.get());
  return hub;
}

SendHub::~SendHub() {
  CHECK(idle());
  if (watch_ == 0) return;
  loop_->RemovePoller(this);
  loop_->Unwatch(watch_);
}

// --- Wires.

absl::StatusOr<std::unique_ptr<SendWire>> SendHub::MakeWire() {
  if (!buffers_.has_free()) {
    if (no_more_ ||
        buffers_.slabs() >= static_cast<size_t>(group_->max_pairs())) {
      return absl::ResourceExhaustedError("too many links without rings");
    }
    RETURN_IF_ERROR(buffers_.AddSlab());
  }
  ASSIGN_OR_RETURN(auto pair, group_->CreatePair());
  const size_t slab = buffers_.Take();
  return std::make_unique<SendWire>(port_.choice, std::move(pair),
                                    buffers_.SendsOf(slab),
                                    [this, slab] { buffers_.GiveBack(slab); });
}

void SendHub::Attach(const SendWire& wire, SendUser* user) {
  users_[wire.number()] = user;
}

void SendHub::RetireWire(std::unique_ptr<SendWire> wire, bool at_once,
                         std::function<void()> done) {
  users_.erase(wire->number());
  leaving_.Add(std::move(wire), at_once, std::move(done));
}

// --- Completions.

absl::StatusOr<size_t> SendHub::TakeCompletions() {
  if (completion_count_ != 0) return std::exchange(completion_count_, 0);
  return group_->Poll(absl::MakeSpan(completions_));
}

bool SendHub::Poll() {
  const absl::StatusOr<size_t> count = TakeCompletions();
  if (!count.ok()) {
    FailAll("the completion queue fails");
    return false;
  }
  if (*count == 0) return false;
  for (size_t i = 0; i < *count; ++i) Dispatch(completions_[i]);
  EndBatch();
  return true;
}

void SendHub::PollAll() {
  // The queue holds no more than this takes.
  const size_t most =
      buffers_.slabs() * SendBuffers::kSlabBuffers / completions_.size() + 1;
  for (size_t i = 0; i < most && Poll(); ++i) {
  }
}

SendUser* SendHub::Touch(uint32_t pair) {
  const auto found = users_.find(pair);
  if (found == users_.end()) return nullptr;
  SendUser* const user = found->second;
  for (const Touched& one : touched_) {
    if (one.first == user) return user;
  }
  touched_.emplace_back(user, user->Keep());
  return user;
}

void SendHub::Dispatch(const GroupCompletion& completion) {
  if (completion.received) used_.push_back(buffers_.ReceiveOf(completion.id));
  if (leaving_.Has(completion.pair)) return leaving_.OnCompletion(completion);
  SendUser* const user = Touch(completion.pair);
  if (user == nullptr) return;
  if (completion.error != nullptr) {
    user->OnPairFailed(completion.error);
  } else if (completion.received) {
    user->OnReceived(used_.back().into.first(
        std::min(completion.bytes, used_.back().into.size())));
  } else {
    user->OnSent(completion.id);
  }
}

void SendHub::EndBatch() {
  // Before any message that lets a peer send more.
  const absl::Status posted = group_->PostReceives(used_);
  used_.clear();
  std::vector<Touched> touched;
  touched.swap(touched_);
  if (!posted.ok()) {
    LOG(ERROR) << posted;
    return FailAll("no receive can be posted");  // this batch is lost
  }
  for (const Touched& one : touched) one.first->OnBatchEnd();
}

void SendHub::FailAll(const char* why) {
  broken_ = true;
  std::vector<Touched> all;
  for (const auto& [number, user] : users_) {
    all.emplace_back(user, user->Keep());
  }
  for (const Touched& one : all) one.first->OnPairFailed(why);
}

bool SendHub::Arm() {
  if (completion_count_ != 0) return false;
  // Earlier completions cause no event.
  const bool armed = group_->Arm().ok();
  const auto count = group_->Poll(absl::MakeSpan(completions_));
  if (!armed || !count.ok()) {
    // Its links end, and no more completions come.
    if (!broken_) FailAll("the device does not report completions");
    return true;
  }
  completion_count_ = *count;
  return completion_count_ == 0;
}

}  // namespace kamino::transport
