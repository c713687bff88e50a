#include "transport/socket/lookup_pool.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"

namespace kamino::transport {
namespace {

absl::Status CannotLookUp(const std::string& host, absl::string_view why) {
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot resolve \"", host, "\": ", why));
}

}  // namespace

absl::StatusOr<Resolver::Addresses> LookUpBySystem(const std::string& host) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat(
        "cannot resolve \"", host, "\": ",
        error == EAI_SYSTEM ? ::strerror(errno) : ::gai_strerror(error)));
  }
  Resolver::Addresses addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    SocketAddress entry = {};
    std::memcpy(&entry.storage, one->ai_addr, one->ai_addrlen);
    entry.length = one->ai_addrlen;
    addresses.push_back(entry);
  }
  ::freeaddrinfo(found);
  return addresses;
}

struct LookupPool::State {
  explicit State(Blocking look_up) : look_up(std::move(look_up)) {}

  struct Waiting {
    absl::Time deadline;
    Answer answer;
  };

  const Blocking look_up;

  absl::Mutex mutex;
  bool stopped ABSL_GUARDED_BY(mutex) = false;
  int threads ABSL_GUARDED_BY(mutex) = 0;
  // Names in lookup or in `queue`.
  std::map<std::string, std::vector<Waiting>> names ABSL_GUARDED_BY(mutex);
  std::deque<std::string> queue ABSL_GUARDED_BY(mutex);
  std::map<std::string, Addresses> kept ABSL_GUARDED_BY(mutex);
  std::deque<std::string> kept_order ABSL_GUARDED_BY(mutex);  // oldest first

  static void DropLate(absl::Time now, std::vector<Waiting>* waiting) {
    std::erase_if(*waiting,
                  [now](const Waiting& each) { return each.deadline <= now; });
  }

  // "": it waits. Otherwise why it cannot.
  std::string Add(const std::string& host, Waiting waiting, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const auto found = names.find(host);
    if (found == names.end()) {
      if (names.size() >= kMostNames) {
        return absl::StrCat(kMostNames, " other names are being looked up");
      }
      names[host].push_back(std::move(waiting));
      queue.push_back(host);
      return "";
    }
    DropLate(now, &found->second);
    if (found->second.size() >= kMostWaiting) {
      return absl::StrCat(kMostWaiting, " links wait for its lookup already");
    }
    found->second.push_back(std::move(waiting));
    return "";
  }

  // The next queued name that a request still waits for; "": there is none.
  std::string Next(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    while (!queue.empty()) {
      std::string host = std::move(queue.front());
      queue.pop_front();
      std::vector<Waiting>& waiting = names[host];
      DropLate(now, &waiting);
      if (!waiting.empty()) return host;
      names.erase(host);
    }
    return "";
  }

  void Keep(const std::string& host, const Addresses& addresses)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (kept.count(host) == 0) kept_order.push_back(host);
    kept[host] = addresses;
    if (kept_order.size() <= kMostKept) return;
    kept.erase(kept_order.front());
    kept_order.pop_front();
  }
};

LookupPool::LookupPool(Blocking look_up, StartThread start_thread)
    : start_thread_(std::move(start_thread)),
      state_(std::make_shared<State>(std::move(look_up))) {}

LookupPool::~LookupPool() {
  absl::MutexLock lock(&state_->mutex);
  state_->stopped = true;
  state_->queue.clear();
  state_->names.clear();
}

void LookupPool::Work(const std::shared_ptr<State>& state) {
  for (;;) {
    std::string host;
    {
      absl::MutexLock lock(&state->mutex);
      host = state->Next(MonotonicNow());
      if (host.empty()) {
        --state->threads;
        return;
      }
    }
    const absl::StatusOr<Addresses> found = state->look_up(host);
    std::vector<State::Waiting> waiting;
    {
      absl::MutexLock lock(&state->mutex);
      if (state->stopped) return;
      waiting = std::move(state->names[host]);
      state->names.erase(host);
      if (found.ok()) state->Keep(host, *found);
    }
    State::DropLate(MonotonicNow(), &waiting);
    for (const State::Waiting& each : waiting) each.answer(found);
  }
}

bool StartResolverThread(std::function<void()> work) {
  auto argument = std::make_unique<std::function<void()>>(std::move(work));
  // Signals belong to the process's own threads; the new one inherits the mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT}) {
    sigdelset(&all, fault);
  }
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int error = pthread_create(
      &thread, nullptr,
      [](void* given) -> void* {
        const std::unique_ptr<std::function<void()>> run(
            static_cast<std::function<void()>*>(given));
        // Until then it has the name of the thread that made it.
        pthread_setname_np(pthread_self(), "resolver");
        (*run)();
        return nullptr;
      },
      argument.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return false;
  static_cast<void>(argument.release());  // the thread's
  pthread_detach(thread);
  return true;
}

void LookupPool::GiveUpThread() {
  std::map<std::string, std::vector<State::Waiting>> unserved;
  {
    absl::MutexLock lock(&state_->mutex);
    // Another thread takes what is queued, if there is one.
    if (--state_->threads > 0) return;
    state_->queue.clear();
    unserved.swap(state_->names);
  }
  const absl::Time now = MonotonicNow();
  for (auto& [host, waiting] : unserved) {
    State::DropLate(now, &waiting);
    for (const State::Waiting& each : waiting) {
      each.answer(
          CannotLookUp(host, "the system has no thread left; raise its limit"));
    }
  }
}

void LookupPool::LookUp(const std::string& host, absl::Time deadline,
                        Answer answer) {
  std::string refusal;
  bool starts = false;
  {
    absl::MutexLock lock(&state_->mutex);
    refusal = state_->Add(host, {deadline, answer}, MonotonicNow());
    starts = !state_->queue.empty() && state_->threads < kMostThreads;
    if (starts) ++state_->threads;
  }
  if (starts && !start_thread_([state = state_] { Work(state); })) {
    GiveUpThread();
  }
  if (!refusal.empty()) answer(CannotLookUp(host, refusal));
}

Resolver::Addresses LookupPool::LastGood(const std::string& host) const {
  absl::MutexLock lock(&state_->mutex);
  const auto found = state_->kept.find(host);
  return found == state_->kept.end() ? Addresses() : found->second;
}

}  // namespace kamino::transport
