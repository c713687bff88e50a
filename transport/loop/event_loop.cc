#include "transport/loop/event_loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "glog/logging.h"

namespace kamino::transport {
namespace {

// The id that stands for the loop's own eventfd in epoll's data.
constexpr uint64_t kWakeId = 0;

// While spinning, the loop checks clock, timers and sockets once in this many
// rounds: a system call costs as much as many looks at shared memory, and with
// an unreliable clock source reading it is a system call.
constexpr int kRoundsPerWait = 32;

constexpr int kEventsPerWait = 64;

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A fault belongs to the faulting thread: if it is blocked there, no handler
// runs and the process dies.
sigset_t AllButFaults() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault :
       {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
    sigdelset(&signals, fault);
  }
  return signals;
}

void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

absl::StatusOr<std::shared_ptr<EventLoop>> EventLoop::Start(absl::Duration spin,
                                                            const char* name) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return absl::ErrnoToStatus(errno, "epoll_create1");
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return absl::ErrnoToStatus(errno, "eventfd");
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = kWakeId;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0) {
    return absl::ErrnoToStatus(errno, "epoll_ctl");
  }
  std::shared_ptr<EventLoop> loop(
      new EventLoop(spin, std::move(epoll), std::move(wake)));
  // Signals belong to the process's own threads; the new one inherits this
  // mask, and OnLoopThread needs thread_ set before anything is posted.
  const sigset_t blocked = AllButFaults();
  sigset_t old;
  pthread_sigmask(SIG_SETMASK, &blocked, &old);
  loop->thread_ = std::thread([raw = loop.get()] { raw->Run(); });
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  pthread_setname_np(loop->thread_.native_handle(), name);
  return loop;
}

EventLoop::EventLoop(absl::Duration spin, UniqueFd epoll, UniqueFd wake)
    : epoll_(std::move(epoll)), wake_(std::move(wake)), policy_(spin) {}

EventLoop::~EventLoop() { CHECK(!thread_.joinable()) << "not stopped"; }

bool EventLoop::Post(std::function<void()> task) {
  {
    absl::MutexLock lock(&mu_);
    if (stopped_) return false;
    posted_.push_back(std::move(task));
    attention_.store(true, std::memory_order_release);
  }
  // The loop looks for what was posted before it sleeps.
  if (!OnLoopThread()) Wake();
  return true;
}

void EventLoop::Wake() {
  const uint64_t one = 1;
  // Fails only when the counter is full, which wakes the loop too.
  (void)!::write(wake_.get(), &one, sizeof(one));
}

bool EventLoop::RunSync(const std::function<void()>& task) {
  if (OnLoopThread()) {
    task();
    return true;
  }
  absl::Notification done;
  if (!Post([&] {
        task();
        done.Notify();
      })) {
    return false;
  }
  done.WaitForNotification();
  return true;
}

void EventLoop::Stop() {
  CHECK(!OnLoopThread()) << "a transport was destroyed by its own callback";
  if (!thread_.joinable()) return;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    attention_.store(true, std::memory_order_release);
  }
  Wake();
  thread_.join();
  watched_.clear();
  timers_.clear();
  timer_due_.clear();
}

absl::StatusOr<EventLoop::Id> EventLoop::Watch(
    int fd, uint32_t events, std::function<void(uint32_t)> callback) {
  CHECK(OnLoopThread());
  const Id id = next_id_++;
  epoll_event event = {};
  event.events = events | EPOLLET;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return absl::ErrnoToStatus(errno, "epoll_ctl");
  }
  watched_[id] = {
      fd, std::make_shared<std::function<void(uint32_t)>>(std::move(callback))};
  return id;
}

void EventLoop::Unwatch(Id id) {
  CHECK(OnLoopThread());
  auto it = watched_.find(id);
  CHECK(it != watched_.end());
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, it->second.fd, nullptr);
  watched_.erase(it);
}

EventLoop::Id EventLoop::StartTimer(absl::Duration after,
                                    std::function<void()> callback) {
  CHECK(OnLoopThread());
  const Id id = next_id_++;
  const int64_t due = Now() + absl::ToInt64Nanoseconds(after);
  timers_[{due, id}] = std::move(callback);
  timer_due_[id] = due;
  return id;
}

void EventLoop::CancelTimer(Id id) {
  CHECK(OnLoopThread());
  auto it = timer_due_.find(id);
  if (it == timer_due_.end()) return;
  timers_.erase({it->second, id});
  timer_due_.erase(it);
}

void EventLoop::AddPoller(Poller* poller, bool spins) {
  CHECK(OnLoopThread());
  pollers_.push_back({poller, spins});
  spinning_ += spins;
}

void EventLoop::RemovePoller(Poller* poller) {
  CHECK(OnLoopThread());
  // Compacted by PollAll: an iteration may be under way further up the stack.
  for (Polled& polled : pollers_) {
    if (polled.poller != poller) continue;
    polled.poller = nullptr;
    spinning_ -= polled.spins;
  }
}

void EventLoop::Run() {
  int64_t last_work = 0;
  int rounds = 0;
  bool worked = false;
  bool awake = false;  // polling again and again
  while (true) {
    if (attention_.load(std::memory_order_acquire) && !RunPosted()) return;
    const Work found = PollAll();
    worked |= found != Work::kNone;
    policy_.OnPolled(found != Work::kNone, awake);
    if (awake && found != Work::kMuch && ++rounds < kRoundsPerWait) {
      Relax();
      continue;
    }
    rounds = 0;
    const int64_t now = Now();
    RunTimers(now);
    if (worked) last_work = now;
    // If there is no spinning, the next wait finds work too.
    awake = spinning_ > 0 && policy_.MaySpin(worked, now - last_work);
    worked = false;
    if (awake) {
      if (Wait(0, /*armed=*/false)) last_work = Now();
      continue;
    }
    // RunPosted may have left work for which no wake-up comes.
    const bool asleep = ArmAll() && !attention_.load(std::memory_order_acquire);
    if (Wait(asleep ? MillisUntilTimer() : 0, /*armed=*/true)) {
      last_work = Now();
    }
  }
}

// False when the loop is to end.
bool EventLoop::RunPosted() {
  std::vector<std::function<void()>> tasks;
  {
    absl::MutexLock lock(&mu_);
    attention_.store(false, std::memory_order_relaxed);
    tasks.swap(posted_);
    if (tasks.empty() && stopping_) {
      stopped_ = true;
      return false;
    }
    // Tasks may post more; the loop comes back here before it ends.
    if (stopping_) attention_.store(true, std::memory_order_relaxed);
  }
  for (std::function<void()>& task : tasks) {
    task();
    // Its captures may hold a link's last reference; that is released now, not
    // at the end of the batch.
    task = nullptr;
  }
  return true;
}

void EventLoop::RunTimers(int64_t now) {
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    auto node = timers_.extract(timers_.begin());
    timer_due_.erase(node.key().second);
    node.mapped()();
  }
}

EventLoop::Work EventLoop::PollAll() {
  Work found = Work::kNone;
  // By index: a callback may add pollers.
  for (size_t i = 0; i < pollers_.size(); ++i) {
    const Polled polled = pollers_[i];
    if (polled.poller == nullptr || !polled.poller->Poll()) continue;
    found = std::max(found, polled.spins ? Work::kSome : Work::kMuch);
  }
  std::erase_if(pollers_, [](const Polled& p) { return p.poller == nullptr; });
  return found;
}

bool EventLoop::ArmAll() {
  bool idle = true;
  // By index, and some may be gone: a timer or a poller may remove pollers.
  for (size_t i = 0; i < pollers_.size(); ++i) {
    if (pollers_[i].poller != nullptr) idle &= pollers_[i].poller->Arm();
  }
  return idle;
}

void EventLoop::DisarmAll() {
  for (const Polled& polled : pollers_) {
    if (polled.poller != nullptr) polled.poller->Disarm();
  }
}

bool EventLoop::Wait(int timeout_ms, bool armed) {
  epoll_event events[kEventsPerWait];
  const int count =
      ::epoll_wait(epoll_.get(), events, kEventsPerWait, timeout_ms);
  const int error = errno;
  // Before the callbacks: pollers run next, and need no wake-up for data from
  // those.
  if (armed) DisarmAll();
  if (count < 0) {
    CHECK_EQ(error, EINTR);
    return false;
  }
  bool any = false;
  for (int i = 0; i < count; ++i) {
    if (events[i].data.u64 == kWakeId) {
      uint64_t ignored;
      (void)!::read(wake_.get(), &ignored, sizeof(ignored));
      continue;
    }
    auto it = watched_.find(events[i].data.u64);
    if (it == watched_.end()) continue;  // unwatched by an earlier callback
    any = true;
    // Held for the call: the callback may unwatch itself.
    const auto callback = it->second.callback;
    (*callback)(events[i].events);
  }
  return any;
}

int EventLoop::MillisUntilTimer() const {
  if (timers_.empty()) return -1;
  const int64_t nanos = timers_.begin()->first.first - Now();
  if (nanos <= 0) return 0;
  // Rounded up, or the last millisecond would be spent spinning.
  return static_cast<int>(std::min<int64_t>(nanos / 1'000'000 + 1,
                                            std::numeric_limits<int>::max()));
}

}  // namespace kamino::transport
