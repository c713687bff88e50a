#include "transport/verbs/send_hub.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::transport {
namespace {

// A live peer takes microseconds.
constexpr absl::Duration kByePatience = absl::Seconds(1);
// A device that reports drained pairs does so sooner; soft-RoCE, which does
// not, needs the time of its thread's next look.
constexpr absl::Duration kDrainTime = absl::Milliseconds(100);
constexpr size_t kSlabBuffers = kLinkReceives + kLinkSends;

}  // namespace

SendHub::SendHub(EventLoop* loop, const OpenedPort& port,
                 std::shared_ptr<VerbsGroup> group, size_t max_unfinished)
    : loop_(loop),
      port_(port),
      max_unfinished_(max_unfinished),
      group_(std::move(group)) {}

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

absl::Status SendHub::AddSlab() {
  ASSIGN_OR_RETURN(auto memory,
                   PinnedMemory::Allocate(kSlabBuffers * kSendBuffer));
  ASSIGN_OR_RETURN(const uint32_t key, group_->Register(memory.bytes()));
  const uint64_t first = slabs_.size() * kLinkReceives;
  slabs_.push_back({std::move(memory), key});
  std::array<GroupReceive, kLinkReceives> receives;
  for (size_t i = 0; i < receives.size(); ++i) {
    receives[i] = ReceiveOf(first + i);
  }
  // On failure some may be posted: keeps the memory, but not for sends.
  RETURN_IF_ERROR(group_->PostReceives(receives));
  free_.push_back(slabs_.size() - 1);
  return absl::OkStatus();
}

GroupReceive SendHub::ReceiveOf(uint64_t id) {
  Slab& slab = slabs_[id / kLinkReceives];
  return {id,
          slab.memory.bytes().subspan(id % kLinkReceives * kSendBuffer,
                                      kSendBuffer),
          slab.key};
}

absl::StatusOr<std::unique_ptr<SendWire>> SendHub::MakeWire() {
  if (free_.empty()) {
    if (no_more_ || slabs_.size() >= static_cast<size_t>(group_->max_pairs())) {
      return absl::ResourceExhaustedError("too many links without rings");
    }
    RETURN_IF_ERROR(AddSlab());
  }
  ASSIGN_OR_RETURN(auto pair, group_->CreatePair());
  const size_t slab = free_.back();
  free_.pop_back();
  ++wires_;
  const SendWire::Buffers sends = {
      slabs_[slab].memory.bytes().subspan(kLinkReceives * kSendBuffer),
      slabs_[slab].key};
  return std::make_unique<SendWire>(port_.choice, std::move(pair), sends,
                                    [this, slab] {
                                      free_.push_back(slab);
                                      --wires_;
                                    });
}

void SendHub::Attach(const SendWire& wire, SendUser* user) {
  users_[wire.number()] = user;
}

// --- End of a wire.

void SendHub::TakeBack(std::unique_ptr<SendWire> wire, bool at_once,
                       std::function<void()> done) {
  const uint32_t number = wire->number();
  users_.erase(number);
  Leaving& leaving = leaving_[number];
  leaving.wire = std::move(wire);
  leaving.done = std::move(done);
  if (at_once) return Drain(number);
  leaving.timer = loop_->StartTimer(kByePatience, [this, number] {
    leaving_.at(number).timer = 0;
    Drain(number);
  });
  Proceed(number, nullptr);
}

// Continues with a wire that is saying bye; `completion` belongs to it, or is
// null.
void SendHub::Proceed(uint32_t number, const GroupCompletion* completion) {
  Leaving& leaving = leaving_.at(number);
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

void SendHub::Drain(uint32_t number) {
  Leaving& leaving = leaving_.at(number);
  leaving.draining = true;
  if (leaving.timer != 0) loop_->CancelTimer(leaving.timer);
  leaving.wire->Stop();
  leaving.timer = loop_->StartTimer(
      no_more_ ? absl::ZeroDuration() : kDrainTime, [this, number] {
        leaving_.at(number).timer = 0;
        Destroy(number);
      });
}

void SendHub::OnDrained(uint32_t number) {
  const auto found = leaving_.find(number);
  if (found == leaving_.end() || !found->second.draining) return;
  if (found->second.timer != 0) loop_->CancelTimer(found->second.timer);
  found->second.timer = 0;
  Destroy(number);
}

void SendHub::Destroy(uint32_t number) {
  // Its completions must not count for another pair with that number. The queue
  // holds no more than this takes.
  const size_t most = slabs_.size() * kSlabBuffers / completions_.size() + 1;
  for (size_t i = 0; i < most && Poll(); ++i) {
  }
  const auto found = leaving_.find(number);
  const std::function<void()> done = std::move(found->second.done);
  leaving_.erase(found);
  if (done) done();
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
  if (completion.received) used_.push_back(ReceiveOf(completion.id));
  if (leaving_.count(completion.pair) != 0) {
    return Proceed(completion.pair, &completion);
  }
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

// --- Unfinished messages.

uint64_t SendHub::BeginUnfinished(SendUser* user) {
  unfinished_[next_unfinished_] = {user, 0};
  return next_unfinished_++;
}

void SendHub::GrowUnfinished(uint64_t number, size_t bytes) {
  unfinished_.at(number).bytes += bytes;
  unfinished_bytes_ += bytes;
  while (unfinished_bytes_ > max_unfinished_) {
    const auto oldest = unfinished_.begin();
    SendUser* const user = oldest->second.user;
    const std::shared_ptr<void> keep = user->Keep();
    EndUnfinished(oldest->first);
    user->OnTooMuchUnfinished();
  }
}

void SendHub::EndUnfinished(uint64_t number) {
  const auto found = unfinished_.find(number);
  if (found == unfinished_.end()) return;
  unfinished_bytes_ -= found->second.bytes;
  unfinished_.erase(found);
}

}  // namespace kamino::transport
